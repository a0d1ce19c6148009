"""The process view: the one shape in which every process tool answers."""

import signal
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from workspace_server.domain.process import ProcessState
from workspace_server.process.output import OutputChunk
from workspace_server.process.snapshot import Snapshot
from workspace_server.tools.tool import MutationResult

WaitEnd = Literal["exit", "output", "idle", "deadline"]


class ProcessView(MutationResult):
    """A process as far as it is known. A non-zero exit code is not a failure of the call."""

    process_id: str
    dispatch_status: Literal["confirmed", "unknown"] = Field(
        description="unknown: the reply of the start was lost; look it up by operation_id."
    )
    state: Literal["running", "exited"] | None = None
    termination: (
        Literal["exited", "signaled", "timeout", "terminated", "setup_failed", "lost"] | None
    ) = None
    exit_code: int | None = None
    signal: str | None = None
    reason: str | None = None
    elapsed_ms: int | None = None
    idle_ms: int | None = Field(default=None, description="Since its last output.")
    wait_ended_by: WaitEnd | None = None
    output: str | None = None
    output_from: int | None = Field(default=None, description="Where output begins, in bytes.")
    output_lost: int | None = Field(default=None, description="Bytes this cursor missed.")
    cursor: int | None = Field(default=None, description="read_process goes on here.")
    output_total: int | None = Field(default=None, description="Bytes printed so far.")
    stdin: Literal["open", "closed"] | None = None
    stdin_accepted: int | None = Field(default=None, description="Bytes of input taken so far.")
    descendants: int | None = Field(default=None, description="Processes it started that live.")
    descendants_ended: int | None = None
    cleanup_failed: bool | None = Field(default=None, description="Some of it may still run.")
    hint: str | None = None


def process_view(
    snapshot: Snapshot,
    *,
    output: OutputChunk | None = None,
    wait_ended_by: WaitEnd | None = None,
) -> ProcessView:
    """Return the view of a process that is known to its supervisor or to the ledger."""
    end = snapshot.end
    running = snapshot.state is ProcessState.RUNNING
    return ProcessView(
        operation_id=snapshot.operation_id,
        process_id=snapshot.process_id,
        dispatch_status="unknown" if snapshot.state is ProcessState.PENDING else "confirmed",
        state=state_word(snapshot.state),
        termination=end.termination.value if end else None,
        exit_code=end.exit_code if end else None,
        signal=signal_name(end.signal) if end else None,
        reason=end.reason if end else None,
        elapsed_ms=snapshot.elapsed_ms,
        idle_ms=snapshot.idle_ms if running else None,
        wait_ended_by=wait_ended_by,
        output=output.text if output else None,
        output_from=output.start if output else None,
        output_lost=output.lost or None if output else None,
        cursor=output.cursor if output else None,
        output_total=output.total if output else snapshot.output_total,
        stdin=("open" if snapshot.stdin_open else "closed") if running else None,
        stdin_accepted=snapshot.stdin_accepted or None,
        descendants=snapshot.descendants or None,
        descendants_ended=snapshot.descendants_ended or None,
        cleanup_failed=snapshot.cleanup_failed or None,
        hint=_hint(snapshot),
    )


def unknown_dispatch(operation_id: str, process_id: str) -> ProcessView:
    """Return the view of a process of which the start was asked for and no reply came."""
    return ProcessView(
        operation_id=operation_id,
        process_id=process_id,
        dispatch_status="unknown",
        hint=(
            "The reply of the start was lost. Do not start it again: "
            f'operation_status(operation_id="{operation_id}") tells whether it runs.'
        ),
    )


def signal_name(number: int | None) -> str | None:
    """Return SIGKILL for 9; the number itself where it has no name."""
    if number is None:
        return None
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def view_text(view: ProcessView) -> Sequence[str]:
    """The output as it is, then one line about the process."""
    facts = f"[{_headline(view)}]"
    return (view.output, facts) if view.output else (facts,)


def state_word(state: ProcessState) -> Literal["running", "exited"] | None:
    """Return the word that clients see; None while nothing is confirmed to run."""
    match state:
        case ProcessState.RUNNING:
            return "running"
        case ProcessState.EXITED:
            return "exited"
        case ProcessState.PENDING | ProcessState.NOT_STARTED:
            return None


def _hint(snapshot: Snapshot) -> str | None:
    named = f'process_id="{snapshot.process_id}"'
    if snapshot.state is ProcessState.RUNNING and snapshot.stdin_open:
        return f"Its input is open: write_stdin({named}, data=...)."
    if snapshot.state is ProcessState.RUNNING:
        return f"process_status({named}, wait_ms=50000) waits for it."
    if snapshot.descendants:
        return f"What it started in the background lives on; terminate_process({named}) ends that."
    return None


def _headline(view: ProcessView) -> str:
    facts = [view.process_id, *_state_facts(view), *_output_facts(view), *_other_facts(view)]
    return "; ".join(facts) + (f". {view.hint}" if view.hint else "")


def _state_facts(view: ProcessView) -> Iterator[str]:
    if view.dispatch_status == "unknown":
        yield "dispatch unknown"
    elif view.state is not None:
        yield view.state
    if view.termination not in (None, "exited"):
        yield f"{view.termination}" + (f" ({view.reason})" if view.reason else "")
    if view.exit_code is not None:
        yield f"exit code {view.exit_code}"
    if view.signal is not None:
        yield view.signal
    if view.elapsed_ms is not None:
        yield f"{view.elapsed_ms / 1000:.1f} s"
    if view.wait_ended_by == "deadline":
        yield "the wait is over"


def _output_facts(view: ProcessView) -> Iterator[str]:
    if view.output_lost:
        yield f"{view.output_lost} bytes of output were dropped"
    if view.cursor is not None:
        yield f"output {view.output_from}-{view.cursor} of {view.output_total} bytes"
    elif view.output_total is not None:
        yield f"{view.output_total} bytes of output"
    if view.idle_ms is not None:
        yield f"silent for {view.idle_ms / 1000:.1f} s"


def _other_facts(view: ProcessView) -> Iterator[str]:
    if view.stdin_accepted:
        yield f"{view.stdin_accepted} bytes of input taken"
    if view.descendants:
        yield f"{view.descendants} descendants live"
    if view.descendants_ended:
        yield f"{view.descendants_ended} descendants ended with it"
    if view.operation_id is not None:
        yield ("replayed " if view.replayed else "") + view.operation_id
