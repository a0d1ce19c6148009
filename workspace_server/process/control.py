"""Acting on a running process: input, the size of its terminal, its end."""

from collections.abc import Iterator
from contextlib import contextmanager

from workspace_server.domain.errors import (
    Busy,
    InvalidArguments,
    ProcessNotFound,
    ProcessNotRunning,
    ProcessNotTty,
    StdinClosed,
    Unavailable,
    WorkspaceServerError,
)
from workspace_server.process.snapshot import Snapshot, from_supervisor
from workspace_server.process.supervisor_client import SupervisorClient
from workspace_server.process.supervisor_wire import SupervisorLost, SupervisorRefused


class Control:
    """What an agent may do to a process, each answered with what is known of it after."""

    def __init__(self, supervisor: SupervisorClient) -> None:
        self._supervisor = supervisor

    async def write(
        self, process: Snapshot, *, data: bytes, eof: bool, offset: int | None
    ) -> Snapshot:
        """Feed input; raise ProcessNotRunning, StdinClosed, Busy or InvalidArguments."""
        with _as_client_errors(process):
            return from_supervisor(
                await self._supervisor.write(process.process_id, data=data, eof=eof, offset=offset)
            )

    async def resize(self, process: Snapshot, *, rows: int, cols: int) -> Snapshot:
        """Set the size of its terminal; raise ProcessNotTty or ProcessNotRunning."""
        if not process.tty:
            raise _refusal("not_tty", process)
        with _as_client_errors(process):
            return from_supervisor(
                await self._supervisor.resize(process.process_id, rows=rows, cols=cols)
            )

    async def terminate(self, process: Snapshot, *, signal_number: int, grace_ms: int) -> Snapshot:
        """Begin the end of the process and of all that it started; wait for it to come."""
        with _as_client_errors(process):
            return from_supervisor(
                await self._supervisor.terminate(
                    process.process_id,
                    signal=signal_number,
                    grace_ms=grace_ms,
                    reason="requested",
                )
            )


@contextmanager
def _as_client_errors(process: Snapshot) -> Iterator[None]:
    try:
        yield
    except SupervisorRefused as refused:
        raise _refusal(refused.kind, process) from refused
    except SupervisorLost as lost:
        raise Unavailable(
            "The supervisor of the process does not answer.",
            recovery="Call process_status for what became of the process.",
            process_id=process.process_id,
            retryable=False,  # what was typed may have arrived
        ) from lost


def _refusal(kind: str, process: Snapshot) -> WorkspaceServerError:
    error = _error_of(kind, process)
    error.process_id = process.process_id
    error.operation_id = process.operation_id
    return error


def _error_of(kind: str, process: Snapshot) -> WorkspaceServerError:
    match kind:
        case "not_running":
            return ProcessNotRunning(f"The process has already exited{_how(process)}.")
        case "stdin_closed":
            return StdinClosed("The process takes no input: its stdin is closed.")
        case "not_tty":
            return ProcessNotTty("The process has pipes, no terminal.")
        case "input_full":
            return Busy("The process has not read its earlier input yet.", retry_after_ms=500)
        case "offset_gap":
            return InvalidArguments(
                "offset lies beyond the input accepted so far.",
                recovery="Use stdin_accepted of process_status as offset.",
                details={"field": "offset"},
            )
        case _:
            return ProcessNotFound("The supervisor does not know the process any more.")


def _how(process: Snapshot) -> str:
    end = process.end
    if end is None:
        return ""
    if end.exit_code is not None:
        return f" (code {end.exit_code})"
    return f" ({end.termination})"
