"""Settles the patches that an earlier server left in flight, before any call is served."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import anyio.to_thread

from workspace_server.domain.errors import (
    FileOperationFailed,
    Unavailable,
    WorkspaceServerError,
)
from workspace_server.domain.failure import failure_object
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.domain.version import ABSENT
from workspace_server.ledger.blobs import BlobDamaged
from workspace_server.ledger.journal import JournalEntry
from workspace_server.ledger.ledger import Ledger
from workspace_server.patch.undo import (
    Finding,
    PathVerdict,
    Verdict,
    clear_away,
    find,
    put_back,
    sync_all,
    verdict_of,
)
from workspace_server.patch.verdicts import MEND_BY_HAND, status_of, told
from workspace_server.workspace.root import Root

OpenRoot: TypeAlias = Callable[[str], Root]
"""From a canonical root to the opened one; raises a WorkspaceServerError if it is not there."""

T = TypeVar("T")

_RECOVERY = {
    OperationStatus.FAILED_ROLLED_BACK: "Everything is as before; make the patch again, "
    "with a new operation_key.",
    OperationStatus.FAILED_PARTIAL: MEND_BY_HAND,
    OperationStatus.UNKNOWN: "Read the files in details.paths to see where they stand.",
}


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What became of one patch."""

    operation_id: str
    status: OperationStatus
    verdicts: tuple[PathVerdict, ...]  # none if it had not come as far as the journal


async def settle_patches(ledger: Ledger, open_root: OpenRoot) -> tuple[Settled, ...]:
    """Bring every unfinished patch to its end; a second run finds nothing left to do."""
    unfinished = await ledger.operations.unfinished(OperationKind.PATCH)
    return tuple([await settle_patch(ledger, operation, open_root) for operation in unfinished])


async def settle_patch(ledger: Ledger, operation: Operation, open_root: OpenRoot) -> Settled:
    """Settle one pending patch that nobody works on; its root is the caller's alone meanwhile."""
    settling = _Settling(ledger, operation)
    planned_outcome = await ledger.journal.planned_outcome(operation.operation_id)
    if planned_outcome is None:  # nothing is written before the journal
        return await settling.as_untouched(())
    entries = await ledger.journal.entries(operation.operation_id)
    try:
        root = await anyio.to_thread.run_sync(open_root, operation.root)
    except WorkspaceServerError:
        return await settling.as_failed(tuple(_unreadable(entry) for entry in entries))
    try:
        return await settling.by_the_disk(root, entries, planned_outcome)
    finally:
        root.close()


class _Settling:
    """One patch on its way from pending to what the disk says of it."""

    def __init__(self, ledger: Ledger, operation: Operation) -> None:
        self._ledger = ledger
        self._operation_id = operation.operation_id

    async def by_the_disk(
        self, root: Root, entries: Sequence[JournalEntry], planned_outcome: JsonObject
    ) -> Settled:
        """Finish what is whole, and put the rest back."""
        found = await _in_thread(lambda: tuple(find(root, entry) for entry in entries))
        if all(each.is_after for each in found):
            return await self._as_applied(root, found, planned_outcome)
        before_images = await self._before_images(found)
        folders = await self._ledger.journal.folders(self._operation_id)
        verdicts = await _in_thread(lambda: put_back(root, entries, before_images))
        await _in_thread(lambda: clear_away(root, entries, folders))
        if all(each.verdict is Verdict.AS_BEFORE for each in verdicts):
            return await self.as_untouched(verdicts)
        return await self.as_failed(verdicts)

    async def as_untouched(self, verdicts: Sequence[PathVerdict]) -> Settled:
        """Nothing of it is there: its key is free for the same call again."""
        error = Unavailable(
            "The server was interrupted; nothing of the patch is on disk.",
            recovery="Make the call again; its operation_key is free.",
        )
        return await self._failed(OperationStatus.REJECTED, error, verdicts, free_key=True)

    async def as_failed(self, verdicts: Sequence[PathVerdict]) -> Settled:
        """It had begun, and cannot be told from a change any more, or is undone."""
        status = _failed_status(verdicts)
        error = FileOperationFailed(
            f"The server was interrupted amid the patch, which ended as {status}.",
            recovery=_RECOVERY[status],
        )
        return await self._failed(status, error, verdicts)

    async def _as_applied(
        self, root: Root, found: Sequence[Finding], planned_outcome: JsonObject
    ) -> Settled:
        entries = [each.entry for each in found]
        await _in_thread(lambda: clear_away(root, entries, ()))
        try:
            await _in_thread(lambda: sync_all(root, entries))
        except WorkspaceServerError:  # it is there, and may be gone after a power cut
            return await self.as_failed([verdict_of(each) for each in found])
        return await self._moved(OperationStatus.APPLIED, planned_outcome, ())

    async def _failed(
        self,
        status: OperationStatus,
        error: WorkspaceServerError,
        verdicts: Sequence[PathVerdict],
        *,
        free_key: bool = False,
    ) -> Settled:
        error.operation_id = self._operation_id
        error.details |= {"reason": "interrupted", **told(status, verdicts)}
        return await self._moved(status, failure_object(error), verdicts, free_key=free_key)

    async def _moved(
        self,
        status: OperationStatus,
        outcome: JsonObject,
        verdicts: Sequence[PathVerdict],
        *,
        free_key: bool = False,
    ) -> Settled:
        await self._ledger.operations.move(
            self._operation_id,
            OperationStatus.PENDING,
            status,
            outcome=outcome,
            free_key=free_key,
        )
        return Settled(operation_id=self._operation_id, status=status, verdicts=tuple(verdicts))

    async def _before_images(self, found: Sequence[Finding]) -> dict[str, bytes]:
        """Return what will be put back, as far as the ledger still has it whole."""
        images: dict[str, bytes] = {}
        for each in found:
            if each.is_after and each.entry.before_version != ABSENT:
                with suppress(BlobDamaged):
                    images[each.entry.path] = await self._ledger.journal.content(each.entry)
        return images


def _unreadable(entry: JournalEntry) -> PathVerdict:
    return PathVerdict(entry=entry, verdict=Verdict.UNREADABLE, now=None)


def _failed_status(verdicts: Sequence[PathVerdict]) -> OperationStatus:
    unsure = (Verdict.UNREADABLE, Verdict.AS_PLANNED)
    if all(each.verdict in unsure for each in verdicts):
        return OperationStatus.UNKNOWN
    return status_of(verdicts)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
