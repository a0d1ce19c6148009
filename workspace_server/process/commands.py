"""Commands: from the recorded intent to a process, its end, and the lease it holds meanwhile."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from sandbox import Order
from workspace_server.domain.clock import Clock
from workspace_server.domain.errors import ProcessNotFound
from workspace_server.domain.failure import failure_object
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus, is_final
from workspace_server.domain.process import Process, ProcessState
from workspace_server.ledger.errors import MovedMeanwhile
from workspace_server.ledger.ledger import Ledger
from workspace_server.process.mirror import STATUS, Mirror, never_tried
from workspace_server.process.snapshot import Snapshot, from_ledger, from_supervisor
from workspace_server.process.supervisor_client import (
    DispatchRefused,
    DispatchUnknown,
    SupervisorClient,
)
from workspace_server.process.supervisor_messages import SupervisorProcess
from workspace_server.process.supervisor_wire import SupervisorLost
from workspace_server.workspace.lease import HolderKind, Leases

Condition: TypeAlias = Callable[[Snapshot], bool]

_log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2  # between questions to a supervisor that was lost
_OPEN = (ProcessState.PENDING, ProcessState.RUNNING)


class Commands:
    """Starts commands under the supervisor, and knows what became of them."""

    def __init__(
        self,
        ledger: Ledger,
        leases: Leases,
        supervisor: SupervisorClient,
        *,
        is_under_way: Callable[[str], bool],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._ledger = ledger
        self._leases = leases
        self._supervisor = supervisor
        self._is_under_way = is_under_way  # a dispatch that may come must not be fenced off
        self._mirror = Mirror(ledger)
        self._may_run: dict[str, str] = {}  # operation id -> root, of what holds a lease
        self._lost_replies: set[str] = set()

    async def open(self, tasks: TaskGroup) -> None:
        """Find out what became of unfinished commands; those that run hold their leases again."""
        self._supervisor.on_change(self._heard)
        await tasks.start(self._supervisor.run)
        tasks.start_soon(self._mirror.run)
        await self._supervisor.connect_if_running()
        for operation in await self._ledger.operations.unfinished(OperationKind.COMMAND):
            await self._take_up(operation)

    async def close(self, budget_seconds: float) -> None:
        """Write what is known of the processes, for at most `budget_seconds`; they run on."""
        with anyio.move_on_after(budget_seconds, shield=True):
            await self._mirror.flush()

    async def start(self, operation: Operation, order: Order) -> None:
        """Hand a recorded command to the supervisor.

        When the reply is lost the operation becomes `unknown`; `settle` finds out later. When it is
        confirmed that nothing runs, the row says so and why.
        """
        self._may_run[operation.operation_id] = operation.root
        try:
            view = await self._supervisor.dispatch(order)
        except DispatchUnknown:
            self._lost_replies.add(operation.operation_id)
            with suppress(MovedMeanwhile):  # a change that came instead has told already
                await self._ledger.operations.move(
                    operation.operation_id, operation.status, OperationStatus.UNKNOWN
                )
        except DispatchRefused as refused:
            await self._record_not_started(operation, order.process_id, refused.reason)
        else:
            if view.state is ProcessState.NOT_STARTED:
                await self._mirror.flush()

    def may_run(self, operation_id: str) -> bool:
        """Whether the operation's process may be running, so that it holds its lease."""
        return operation_id in self._may_run

    def take_lost_reply(self, operation_id: str) -> bool:
        """Tell, once, that the reply of this dispatch was lost: its caller must look it up."""
        if operation_id not in self._lost_replies:
            return False
        self._lost_replies.remove(operation_id)
        return True

    async def settle(self, operation: Operation) -> Operation:
        """Return the operation as it is known now, which its row may be behind of.

        A command that the supervisor never heard of is fenced: it will never start.
        """
        if is_final(operation.kind, operation.status) or operation.process_id is None:
            return operation
        if self._is_under_way(operation.operation_id):
            return operation
        view = self._supervisor.latest(operation.process_id)
        if view is None:
            return await self._look_up(operation, operation.process_id)
        return replace(operation, status=STATUS[view.state])

    async def snapshot(self, process_id: str) -> Snapshot:
        """Return what is known of a process now; raise ProcessNotFound."""
        view = self._supervisor.latest(process_id)
        if view is not None:
            return from_supervisor(view)
        return await self._asked(await self._row(process_id))

    async def wait_until(self, process_id: str, condition: Condition) -> Snapshot:
        """Return the first snapshot of which `condition` holds; callers bound the time."""
        snapshot = await self.snapshot(process_id)
        while not condition(snapshot):
            try:
                view = await self._supervisor.wait_changed(process_id, snapshot.seq)
            except SupervisorLost:
                await anyio.sleep(RETRY_SECONDS)
                snapshot = await self.snapshot(process_id)
            else:
                snapshot = from_supervisor(view)
        return snapshot

    async def wait_ended(self, operation_id: str) -> None:
        """Return when the operation's process has ended; at once if none may run."""
        process = await self._ledger.processes.by_operation(operation_id)
        if process is not None and process.state in _OPEN:
            await self.wait_until(process.process_id, lambda now: now.state not in _OPEN)

    async def _row(self, process_id: str) -> Process:
        process = await self._ledger.processes.by_id(process_id)
        if process is None:
            raise ProcessNotFound(f"No process {process_id!r} is known.")
        return process

    def _heard(self, view: SupervisorProcess) -> None:
        """Take note of a change: free the lease at once, leave the ledger to the mirror."""
        if view.state not in _OPEN:
            self._release(view.operation_id)
        self._mirror.note(view)

    def _release(self, operation_id: str) -> None:
        root = self._may_run.pop(operation_id, None)
        if root is not None:
            self._leases.release(root, operation_id)

    async def _take_up(self, operation: Operation) -> None:
        """Hold the lease of a command that an earlier server began, unless it has ended."""
        self._may_run[operation.operation_id] = operation.root
        found = await self.settle(operation)
        if is_final(found.kind, found.status):
            self._release(operation.operation_id)
        else:
            await self._leases.acquire(
                operation.root,
                kind=HolderKind.COMMAND,
                operation_id=operation.operation_id,
                process_id=operation.process_id,
                wait_seconds=0,
                held_seconds=(self._clock.now() - operation.created_at).total_seconds(),
            )
        _log.info("%s was begun by an earlier server: %s", found.operation_id, found.status)

    async def _look_up(self, operation: Operation, process_id: str) -> Operation:
        try:
            view = await self._supervisor.lookup(operation.operation_id, fence=True)
        except SupervisorLost:
            return operation
        if view is None:
            return await self._record_not_started(operation, process_id, "it was interrupted")
        self._heard(view)
        return replace(operation, status=STATUS[view.state])

    async def _asked(self, process: Process) -> Snapshot:
        """Return the supervisor's word on a process that the ledger has as open; else the row."""
        if process.state not in _OPEN:
            return from_ledger(process)
        operation = await self._ledger.operations.by_id(process.operation_id)
        assert operation is not None
        await self.settle(operation)
        view = self._supervisor.latest(process.process_id)
        return from_supervisor(view) if view else from_ledger(await self._row(process.process_id))

    async def _record_not_started(
        self, operation: Operation, process_id: str, reason: str
    ) -> Operation:
        """Record that nothing was tried and nothing will be; so the key is free again."""
        failure = never_tried(operation.operation_id, process_id, reason)
        self._release(operation.operation_id)
        await self._ledger.processes.mirror(process_id, ProcessState.NOT_STARTED)
        return await self._ledger.operations.move(
            operation.operation_id,
            operation.status,
            OperationStatus.NOT_STARTED,
            outcome=failure_object(failure),
            free_key=True,
        )
