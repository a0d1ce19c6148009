"""A patch from its recorded row to a finished one: the tree is as before or as planned."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.to_thread

from workspace_server.domain.errors import Internal, LedgerUnavailable, WorkspaceServerError
from workspace_server.domain.failure import failure_object
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationStatus
from workspace_server.ledger.ledger import Ledger
from workspace_server.patch.disk_change import DiskChange, steps_of
from workspace_server.patch.model import Plan
from workspace_server.patch.verdicts import MEND_BY_HAND, status_of, told
from workspace_server.workspace.atomic_write import FileIdentity
from workspace_server.workspace.root import Root

T = TypeVar("T")

_RETRY_SECONDS = (0.1, 1.0)  # pauses before the row of a finished change is tried again


class PatchTransaction:
    """Journal, write, verify, and finish the row; whatever fails after the journal is undone."""

    def __init__(
        self,
        ledger: Ledger,
        limiter: anyio.CapacityLimiter,
        *,
        retry_seconds: Sequence[float] = _RETRY_SECONDS,
    ) -> None:
        self._ledger = ledger
        self._limiter = limiter
        self._retry_seconds = retry_seconds

    async def run(
        self,
        *,
        operation: Operation,
        root: Root,
        plan: Plan,
        identities: Mapping[str, FileIdentity],
        success: JsonObject,
    ) -> Operation:
        """Return the applied row, whose outcome is `success`, or raise why there is none.

        The row is pending, the lease is held, `plan` and `identities` are of one look at the disk
        under it, and the caller shields this from cancellation. The error raised is the recorded
        one, with operation_id and details.status; LedgerUnavailable with status pending means
        that only the end could not be recorded, and is settled at the next start.
        """
        change = await self._prepared(operation, root, plan, identities, success)
        try:
            await self._in_thread(change.carry_out)
        except WorkspaceServerError as error:
            await self._undo(operation, change, error)
            raise
        except Exception as defect:
            failure = Internal("The patch failed by a defect of the server.")
            await self._undo(operation, change, failure)
            raise failure from defect
        return await self._finish(operation, OperationStatus.APPLIED, success)

    async def _prepared(
        self,
        operation: Operation,
        root: Root,
        plan: Plan,
        identities: Mapping[str, FileIdentity],
        success: JsonObject,
    ) -> DiskChange:
        """Return the change once its journal is durable; on failure nothing was begun."""
        try:
            steps = steps_of(operation.operation_id, plan, identities)
            change = await self._in_thread(lambda: DiskChange(root, steps))
            await self._ledger.journal.write(
                operation.operation_id, change.entries, change.folders, planned_outcome=success
            )
        except WorkspaceServerError as error:
            await self._reject(operation, error)
            raise
        return change

    async def _reject(self, operation: Operation, error: WorkspaceServerError) -> None:
        status = OperationStatus.REJECTED
        error.operation_id = operation.operation_id
        error.details["status"] = status
        # What can succeed later without any change must not be answered from the ledger then.
        await self._finish(operation, status, failure_object(error), free_key=error.retryable)

    async def _undo(
        self, operation: Operation, change: DiskChange, error: WorkspaceServerError
    ) -> None:
        verdicts = await self._in_thread(change.undo)
        status = status_of(verdicts)
        error.operation_id = operation.operation_id
        error.details |= told(status, verdicts)
        if status is OperationStatus.FAILED_PARTIAL:
            error.recovery = MEND_BY_HAND
        await self._finish(operation, status, failure_object(error))

    async def _finish(
        self,
        operation: Operation,
        status: OperationStatus,
        outcome: JsonObject,
        *,
        free_key: bool = False,
    ) -> Operation:
        """Move the row; the disk is done with, so a ledger in trouble gets some time."""

        async def move() -> Operation:
            return await self._ledger.operations.move(
                operation.operation_id,
                OperationStatus.PENDING,
                status,
                outcome=outcome,
                free_key=free_key,
            )

        for pause_seconds in self._retry_seconds:
            with suppress(LedgerUnavailable):
                return await move()
            await anyio.sleep(pause_seconds)
        try:
            return await move()
        except LedgerUnavailable as error:
            raise _not_recorded(operation, error) from error

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _not_recorded(operation: Operation, cause: LedgerUnavailable) -> LedgerUnavailable:
    return LedgerUnavailable(
        "The patch has ended, and how could not be recorded.",
        recovery="Do not repeat it; look it up with operation_status when the ledger is back.",
        operation_id=operation.operation_id,
        details={**cause.details, "status": operation.status},
        retryable=False,
    )
