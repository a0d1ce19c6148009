"""Makes the ledger's file ready: a new one whole or not at all, an old one checked and migrated."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from workspace_server.ledger.errors import LedgerAbsent, LedgerDamaged, LedgerTooNew

_MIGRATIONS = tuple(sorted(Path(__file__).with_name("migrations").glob("*.sql")))
SCHEMA_VERSION = len(_MIGRATIONS)

# Reading this much takes a few milliseconds; a start may always afford it.
_ALWAYS_CHECKED_BYTES = 8 * 1024 * 1024


def prepare(file: Path, busy_timeout_seconds: float) -> None:
    """Leave a sound ledger of the present schema at `file`.

    Raises LedgerDamaged and LedgerTooNew, having changed nothing; sqlite3.Error for the rest.
    """
    log = _log_of(file)
    if not file.exists():
        if log.exists():
            raise LedgerDamaged(file, "the file is gone, its write-ahead log is not")
        _create(file)
    # SQLite removes the log when it is closed in order.
    cut_off = log.exists() and log.stat().st_size > 0
    found = _sound_version(file, busy_timeout_seconds, whole=cut_off)
    if found < SCHEMA_VERSION:
        with closing(_connected(file, "rw", busy_timeout_seconds)) as connection:
            _migrate(connection)


def refuse_unreadable(file: Path, busy_timeout_seconds: float) -> None:
    """Raise LedgerAbsent, LedgerTooNew or LedgerDamaged if this program cannot read `file`."""
    if not file.exists():
        raise LedgerAbsent(file)
    _sound_version(file, busy_timeout_seconds, whole=False)


def _create(file: Path) -> None:
    """Make the ledger under another name first: a file of the real name is never half made."""
    draft = file.with_suffix(".draft")
    for leftover in file.parent.glob(f"{draft.name}*"):
        leftover.unlink()
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        _migrate(connection)
    draft.rename(file)
    sync_folder(file.parent)


def _migrate(connection: sqlite3.Connection) -> None:
    for version in range(_version_of(connection) + 1, SCHEMA_VERSION + 1):
        statements = _MIGRATIONS[version - 1].read_text(encoding="utf-8")
        # The version is part of the transaction: a migration is applied and recorded, or neither.
        connection.executescript(
            f"BEGIN IMMEDIATE; {statements}; PRAGMA user_version = {version}; COMMIT;"
        )


def _sound_version(file: Path, busy_timeout_seconds: float, *, whole: bool) -> int:
    """Return the schema's version, having looked at the `whole` file, or at a small one."""
    try:
        # Read-only: closing a connection that may write would fold the log into a damaged file.
        with closing(_connected(file, "ro", busy_timeout_seconds)) as connection:
            found = _version_of(connection)
            if found > SCHEMA_VERSION:
                raise LedgerTooNew(file, found=found, known=SCHEMA_VERSION)
            if found == 0:
                raise LedgerDamaged(file, "it holds no ledger")
            if whole or file.stat().st_size <= _ALWAYS_CHECKED_BYTES:
                _refuse_failed_check(file, connection)
            return found
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        raise LedgerDamaged(file, str(error)) from error


def _refuse_failed_check(file: Path, connection: sqlite3.Connection) -> None:
    finding: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if finding != "ok":
        raise LedgerDamaged(file, " ".join(finding.split()))


def _connected(file: Path, mode: str, busy_timeout_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        address_of(file, mode), uri=True, isolation_level=None, timeout=busy_timeout_seconds
    )


def address_of(file: Path, mode: str) -> str:
    """Return what SQLite opens `file` by, for `ro` or `rw`; neither makes a file."""
    return f"{file.absolute().as_uri()}?mode={mode}"


def _log_of(file: Path) -> Path:
    return Path(f"{file}-wal")


def _version_of(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
