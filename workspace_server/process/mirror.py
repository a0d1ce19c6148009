"""The ledger's mirror of the supervisor's word: written in the background, change by change."""

import logging
from contextlib import suppress

import anyio

from workspace_server.domain.errors import LedgerUnavailable, ProcessSpawnFailed
from workspace_server.domain.failure import failure_object
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationStatus, may_move
from workspace_server.domain.process import ProcessEnd, ProcessState
from workspace_server.ledger.errors import MovedMeanwhile
from workspace_server.ledger.ledger import Ledger
from workspace_server.process.supervisor_messages import SupervisorProcess

RETRY_SECONDS = 1.0

_log = logging.getLogger(__name__)

# What the state of its process makes of an operation.
STATUS = {
    ProcessState.PENDING: OperationStatus.PENDING,
    ProcessState.RUNNING: OperationStatus.DISPATCHED,
    ProcessState.EXITED: OperationStatus.FINISHED,
    ProcessState.NOT_STARTED: OperationStatus.NOT_STARTED,
}


class Mirror:
    """Brings rows up to what is known of their processes. Only changes of state are written."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._states: dict[str, ProcessState] = {}  # what the rows of running ones say
        self._behind: dict[str, SupervisorProcess] = {}
        self._news = anyio.Event()
        self._writing = anyio.Lock()

    def note(self, view: SupervisorProcess) -> None:
        """Take a view that may have to be written."""
        if self._states.get(view.process_id) is not view.state:
            self._behind[view.process_id] = view
            self._news.set()

    async def run(self) -> None:
        """Write what was noted, for ever; what the ledger refuses is tried again."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            try:
                await self.flush()
            except LedgerUnavailable as error:
                _log.warning("the mirror of the processes is behind: %s", error.message)
                await anyio.sleep(RETRY_SECONDS)
                self._news.set()

    async def flush(self) -> None:
        """Write all that was noted; raise LedgerUnavailable, and keep the rest for later."""
        async with self._writing:
            while self._behind:
                process_id, view = next(iter(self._behind.items()))
                await self._write(view)
                if self._behind[process_id] is view:  # no newer one came meanwhile
                    del self._behind[process_id]

    async def _write(self, view: SupervisorProcess) -> None:
        operation = await self._ledger.operations.by_id(view.operation_id)
        if operation is None:  # of a ledger that is no more
            return
        await self._ledger.processes.mirror(view.process_id, view.state, view.end)
        status = STATUS[view.state]
        if may_move(operation.kind, operation.status, status):
            with suppress(MovedMeanwhile):  # to where the next change finds it
                await self._ledger.operations.move(
                    operation.operation_id,
                    operation.status,
                    status,
                    outcome=_outcome(operation, view),
                )
        if view.state is ProcessState.RUNNING:
            self._states[view.process_id] = view.state
        else:
            self._states.pop(view.process_id, None)


def never_tried(operation_id: str, process_id: str, reason: str) -> ProcessSpawnFailed:
    """Return the failure of a command that was not even tried; its key is free."""
    return ProcessSpawnFailed(
        f"The command was not started: {reason}.",
        recovery="Nothing was done. Call again.",
        operation_id=operation_id,
        process_id=process_id,
    )


def spawn_failed(operation_id: str, process_id: str, reason: str) -> ProcessSpawnFailed:
    """Return the failure of a command that was tried, and of which it is sure that nothing runs."""
    return ProcessSpawnFailed(
        f"The command could not be started: {reason}.",
        recovery="Nothing runs. Mend the program, its path or cwd, and call again, with a new "
        "operation_key if you gave one.",
        operation_id=operation_id,
        process_id=process_id,
    )


def _outcome(operation: Operation, view: SupervisorProcess) -> JsonObject | None:
    match view.state:
        case ProcessState.EXITED:
            return _end_outcome(view.end)
        case ProcessState.NOT_STARTED:
            failure = spawn_failed(operation.operation_id, view.process_id, view.start_failure)
            return failure_object(failure)
        case ProcessState.PENDING | ProcessState.RUNNING:
            return None


def _end_outcome(end: ProcessEnd | None) -> JsonObject | None:
    if end is None:
        return None
    facts = {
        "termination": end.termination.value,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "reason": end.reason,
    }
    return {name: value for name, value in facts.items() if value is not None}
