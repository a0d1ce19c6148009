"""The journal: what a patch is about to do to each file, and what was there before."""

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import anyio.to_thread

from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.domain.json_value import JsonObject
from workspace_server.ledger.blobs import Blobs
from workspace_server.ledger.columns import SqlValue, json_object, json_text
from workspace_server.ledger.connection import Connection, Row, Transaction
from workspace_server.ledger.events import EventKind, Events

IN_ROW_BYTES = 16 * 1024  # a before-image up to this size lives in its row


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    """What a patch does to one path. Versions have all 64 digits, or are `absent`."""

    ordinal: int
    path: str
    before_version: str
    before_mode: int | None
    after_version: str
    after_mode: int | None
    temporary: str  # file name beside the path; whatever is staged there, also for undoing
    before_content: bytes | None = field(repr=False)  # read back: None if absent or a blob


class Journal:
    """The rows of the journal, and the blobs behind them."""

    def __init__(self, connection: Connection, events: Events, blobs: Blobs) -> None:
        self._connection = connection
        self._events = events
        self._blobs = blobs

    async def write(
        self,
        operation_id: str,
        entries: Sequence[JournalEntry],
        folders: Sequence[str],
        *,
        planned_outcome: JsonObject,
    ) -> None:
        """Make everything durable that undoing or finishing the operation will need.

        `folders` are those the operation makes, outermost first; `planned_outcome` is what its
        row is to answer once the disk is as planned.
        """
        await self._keep_blobs(entries)
        async with self._connection.transaction() as transaction:
            await _insert(transaction, operation_id, entries, folders)
            await transaction.run(
                "plan_outcome",
                operation_id=operation_id,
                planned_outcome=json_text(planned_outcome),
            )
            await self._events.record(
                transaction,
                EventKind.JOURNAL_WRITTEN,
                "server",
                {"paths": [entry.path for entry in entries]},
                operation_id,
            )

    async def entries(self, operation_id: str) -> tuple[JournalEntry, ...]:
        """Return the entries in the order of the plan; none if the journal was never written."""
        rows = await self._connection.read("journal_entries", operation_id=operation_id)
        return tuple(_entry(row) for row in rows)

    async def folders(self, operation_id: str) -> tuple[str, ...]:
        """Return the folders that the operation makes, outermost first."""
        rows = await self._connection.read("journal_folders", operation_id=operation_id)
        return tuple(row["path"] for row in rows)

    async def planned_outcome(self, operation_id: str) -> JsonObject | None:
        """Return what the row is to answer once the disk is as planned."""
        rows = await self._connection.read("planned_outcome", operation_id=operation_id)
        text: str | None = rows[0]["planned_outcome"] if rows else None
        return None if text is None else json_object(text)

    async def content(self, entry: JournalEntry) -> bytes:
        """Return the before-image of `entry`; raise BlobDamaged if it cannot be had back."""
        if entry.before_content is not None:
            return entry.before_content
        return await anyio.to_thread.run_sync(self._blobs.content, entry.before_version)

    async def _keep_blobs(self, entries: Iterable[JournalEntry]) -> None:
        try:
            for entry in entries:
                if (content := entry.before_content) is not None and _is_big(content):
                    await anyio.to_thread.run_sync(self._blobs.keep, content)
        except OSError as error:
            raise _not_kept(error) from error


async def _insert(
    transaction: Transaction,
    operation_id: str,
    entries: Iterable[JournalEntry],
    folders: Iterable[str],
) -> None:
    for entry in entries:
        await transaction.run(
            "insert_journal_entry", operation_id=operation_id, **_entry_columns(entry)
        )
    for ordinal, path in enumerate(folders):
        await transaction.run(
            "insert_journal_folder", operation_id=operation_id, ordinal=ordinal, path=path
        )


def _is_big(content: bytes) -> bool:
    return len(content) > IN_ROW_BYTES


def _entry_columns(entry: JournalEntry) -> dict[str, SqlValue]:
    content = entry.before_content
    return {
        "ordinal": entry.ordinal,
        "path": entry.path,
        "before_version": entry.before_version,
        "before_mode": entry.before_mode,
        "before_content": None if content is None or _is_big(content) else content,
        "after_version": entry.after_version,
        "after_mode": entry.after_mode,
        "temporary": entry.temporary,
    }


def _entry(row: Row) -> JournalEntry:
    return JournalEntry(
        ordinal=row["ordinal"],
        path=row["path"],
        before_version=row["before_version"],
        before_mode=row["before_mode"],
        before_content=row["before_content"],
        after_version=row["after_version"],
        after_mode=row["after_mode"],
        temporary=row["temporary"],
    )


def _not_kept(error: OSError) -> LedgerUnavailable:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return LedgerUnavailable(
        "The ledger cannot keep what the files hold now: "
        + ("the disk is full." if full else "the disk failed."),
        details={"reason": "disk_full" if full else "input_output"},
    )
