"""The connection to the ledger: reads that never wait for a write, and one write transaction."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import aiosqlite
import anyio
import anyio.to_thread

from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.ledger.columns import SqlValue
from workspace_server.ledger.queries import QUERIES
from workspace_server.ledger.schema import address_of, prepare, refuse_unreadable

BUSY_TIMEOUT_SECONDS = 5.0  # how long a lock that somebody outside holds is waited for

_WRITER_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit that was answered survives a power cut
    "PRAGMA foreign_keys = ON",
    "PRAGMA journal_size_limit = 67108864",  # what the log shrinks to after a checkpoint
)

# What the world does to a database; any other failure is a defect of ours and stays one.
_REASONS = {
    sqlite3.SQLITE_FULL: ("disk_full", "the disk is full"),
    sqlite3.SQLITE_BUSY: ("locked", "another program holds it locked"),
    sqlite3.SQLITE_LOCKED: ("locked", "another program holds it locked"),
    sqlite3.SQLITE_READONLY: ("read_only", "its file cannot be written"),
    sqlite3.SQLITE_PERM: ("read_only", "its file cannot be written"),
    sqlite3.SQLITE_CANTOPEN: ("input_output", "its file cannot be opened"),
    sqlite3.SQLITE_IOERR: ("input_output", "the disk failed"),
    sqlite3.SQLITE_NOMEM: ("memory", "there is no memory left"),
    sqlite3.SQLITE_CORRUPT: ("damaged", "its file is damaged"),
    sqlite3.SQLITE_NOTADB: ("damaged", "its file is damaged"),
}

Row: TypeAlias = sqlite3.Row


class Transaction:
    """Statements that share one fate; a Connection hands it out."""

    def __init__(self, writer: aiosqlite.Connection) -> None:
        self._writer = writer

    async def run(self, query: str, **parameters: SqlValue) -> list[Row]:
        """Run the statement of that name and return all its rows."""
        return list(await self._writer.execute_fetchall(QUERIES[query], parameters))


class Connection:
    """Reads see only what is committed; all writing goes through `transaction`."""

    def __init__(
        self,
        reader: aiosqlite.Connection,
        writer: aiosqlite.Connection | None = None,
        *,
        is_in_place: Callable[[], bool] = lambda: True,
    ) -> None:
        self._is_in_place = is_in_place
        self._reader: aiosqlite.Connection | None = reader
        self._writer = writer
        self._write_lock = anyio.Lock()

    async def read(self, query: str, **parameters: SqlValue) -> list[Row]:
        """Run the reading statement of that name and return all its rows."""
        if self._reader is None:
            raise _unavailable("closed", "it is closed")
        with sqlite_failures():
            # All rows at once: a cursor left open would keep the write-ahead log from shrinking.
            return list(await self._reader.execute_fetchall(QUERIES[query], parameters))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Commit what the block does as a whole, or nothing of it.

        A caller who is cancelled inside the block leaves nothing behind; once the block has
        ended, the commit is carried out in any case.
        """
        # aiosqlite runs single statements in turn: without the lock, another task's statement
        # would land in our transaction and share its fate.
        async with self._write_lock:
            writer = self._open_writer()
            # Commits to a file that was removed would be lost, and nobody would be told.
            if not await anyio.to_thread.run_sync(self._is_in_place):
                raise _unavailable("removed", "its file was removed or replaced")
            with sqlite_failures():
                try:
                    await writer.execute_fetchall(QUERIES["begin"])
                    yield Transaction(writer)
                    with anyio.CancelScope(shield=True):
                        await writer.commit()
                except BaseException:
                    # Even a cancelled BEGIN is still carried out by the thread of aiosqlite.
                    with anyio.CancelScope(shield=True):
                        await writer.rollback()
                    raise

    async def close(self) -> None:
        """Wait for the transaction under way, then close; the log is folded into the file."""
        with anyio.CancelScope(shield=True):
            async with self._write_lock:
                # The writer goes last: only a connection that may write can fold the log in.
                connections = (self._reader, self._writer)
                self._reader = self._writer = None
                await _close_all(connections)

    def _open_writer(self) -> aiosqlite.Connection:
        if self._reader is None:
            raise _unavailable("closed", "it is closed")
        if self._writer is None:
            raise _unavailable("read_only", "it was opened for reading only")
        return self._writer


async def open_connection(
    file: Path, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS
) -> Connection:
    """Open the ledger `file` for its one owner, making or migrating it first.

    Raises a LedgerNotOpened whose message is for the operator, or LedgerUnavailable.
    """
    with sqlite_failures():
        await anyio.to_thread.run_sync(prepare, file, busy_timeout_seconds)
        writer = await _connect(address_of(file, "rw"), busy_timeout_seconds, _WRITER_PRAGMAS)
        try:
            reader = await _connect(address_of(file, "ro"), busy_timeout_seconds)
        except BaseException:
            await _close_all((writer,))
            raise
    return Connection(reader, writer, is_in_place=partial(_is_in_place, file, _place_of(file)))


async def open_read_only(file: Path) -> Connection:
    """Open the ledger `file` beside the server that owns it, or without any server.

    Raises a LedgerNotOpened whose message is for the operator, or LedgerUnavailable.
    """
    with sqlite_failures():
        await anyio.to_thread.run_sync(refuse_unreadable, file, BUSY_TIMEOUT_SECONDS)
        return Connection(await _connect(address_of(file, "ro"), BUSY_TIMEOUT_SECONDS))


def _place_of(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_dev, status.st_ino


def _is_in_place(file: Path, place: tuple[int, int]) -> bool:
    try:
        return _place_of(file) == place
    except OSError:
        return False


async def _connect(
    address: str, busy_timeout_seconds: float, pragmas: Iterable[str] = ()
) -> aiosqlite.Connection:
    connection = await aiosqlite.connect(
        address, uri=True, isolation_level=None, timeout=busy_timeout_seconds
    )
    connection.row_factory = sqlite3.Row
    try:
        for pragma in pragmas:
            await connection.execute_fetchall(pragma)
    except BaseException:
        await _close_all((connection,))
        raise
    return connection


async def _close_all(connections: Iterable[aiosqlite.Connection | None]) -> None:
    with anyio.CancelScope(shield=True):
        for connection in connections:
            if connection is not None:
                await connection.close()


@contextmanager
def sqlite_failures() -> Iterator[None]:
    """Turn what the world does to a database into LedgerUnavailable."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if (code & 0xFF) not in _REASONS:
            raise
        raise _unavailable(*_REASONS[code & 0xFF]) from error


def _unavailable(reason: str, words: str) -> LedgerUnavailable:
    return LedgerUnavailable(f"The ledger cannot be used: {words}.", details={"reason": reason})
