import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.ledger_rows import begun_patch, new_patch
from tests.support.trees import mode_of, names_in
from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.domain.operation import OperationKind
from workspace_server.ledger import schema
from workspace_server.ledger.errors import (
    LedgerAbsent,
    LedgerDamaged,
    LedgerTooNew,
    StateFolderUnusable,
)
from workspace_server.ledger.ledger import FILE_NAME, Ledger


async def _filled(state_folder: Path, rows: int = 40) -> Path:
    ledger = await Ledger.open(state_folder, FakeClock())
    for _ in range(rows):
        await ledger.operations.record_rejected(new_patch(), {"text": "x" * 2000})
    await ledger.close()
    return state_folder / FILE_NAME


async def _refused(state_folder: Path) -> None:
    with pytest.raises(LedgerDamaged, match=FILE_NAME):
        await Ledger.open(state_folder, FakeClock())


async def test_the_state_folder_is_private_even_if_it_was_not(tmp_path: Path) -> None:
    state_folder = tmp_path / "state"
    os.mkdir(state_folder, 0o755)
    ledger = await Ledger.open(state_folder, FakeClock())
    await ledger.close()
    assert mode_of(state_folder) == 0o700


async def test_a_ledger_keeps_its_rows_from_one_opening_to_the_next(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path, FakeClock())
    operation = await begun_patch(ledger)
    await ledger.close()
    again = await Ledger.open(tmp_path, FakeClock())
    rows = await again.operations.unfinished(OperationKind.PATCH)
    await again.close()
    assert rows == (operation,)


@pytest.mark.guarantee("ledger-is-never-remade")
async def test_a_newer_schema_is_refused_naming_both_versions(tmp_path: Path) -> None:
    file = await _filled(tmp_path, rows=1)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerTooNew, match=f"99.*{schema.SCHEMA_VERSION}"):
        await Ledger.open(tmp_path, FakeClock())
    with pytest.raises(LedgerTooNew):
        await Ledger.open_read_only(tmp_path, FakeClock())


async def test_an_older_schema_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await _filled(tmp_path, rows=1)
    addition = tmp_path / "0002_more.sql"
    addition.write_text("CREATE TABLE more (id INTEGER)")
    monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, addition))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    schema.prepare(file, 0.1)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM more").fetchone() == (0,)


async def test_a_migration_that_fails_leaves_the_old_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = await _filled(tmp_path, rows=1)
    faulty = tmp_path / "0002_faulty.sql"
    faulty.write_text("CREATE TABLE more (id INTEGER); CREATE TABLE events (id INTEGER)")
    monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, faulty))
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 2)
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        schema.prepare(file, 0.1)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            connection.execute("SELECT * FROM more")


@pytest.mark.guarantee("field-71")
@pytest.mark.parametrize("page", [0, 1, 5, 20])
@pytest.mark.guarantee("ledger-is-never-remade")
async def test_a_damaged_ledger_is_reported_and_kept(tmp_path: Path, page: int) -> None:
    file = await _filled(tmp_path)
    damaged = bytearray(file.read_bytes())
    damaged[page * 4096 : page * 4096 + 512] = b"\xa5" * 512
    file.write_bytes(damaged)
    await _refused(tmp_path)
    assert file.read_bytes() == damaged


@pytest.mark.guarantee("field-71")
@pytest.mark.parametrize("content", [b"", b"not a ledger at all" * 400])
async def test_a_file_that_is_no_ledger_is_reported_and_kept(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    await _refused(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == content


@pytest.mark.guarantee("field-71")
async def test_a_ledger_cut_short_is_reported_and_kept(tmp_path: Path) -> None:
    file = await _filled(tmp_path)
    half = file.read_bytes()[: file.stat().st_size // 2 + 100]
    file.write_bytes(half)
    await _refused(tmp_path)
    assert file.read_bytes() == half


async def test_a_foreign_database_is_not_taken_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute("CREATE TABLE theirs (id INTEGER)")
    await _refused(tmp_path)


async def test_a_log_without_its_ledger_is_not_buried_under_a_new_one(tmp_path: Path) -> None:
    log = tmp_path / f"{FILE_NAME}-wal"
    log.write_bytes(b"rows that were committed")
    await _refused(tmp_path)
    assert log.read_bytes() == b"rows that were committed"
    assert not (tmp_path / FILE_NAME).exists()


async def test_a_half_made_new_ledger_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "ledger.draft").write_bytes(b"half")
    (tmp_path / "ledger.draft-wal").write_bytes(b"half")
    await _filled(tmp_path)
    assert names_in(tmp_path) == {FILE_NAME, "blobs"}


async def test_reading_where_no_ledger_was_made_says_so(tmp_path: Path) -> None:
    with pytest.raises(LedgerAbsent):
        await Ledger.open_read_only(tmp_path, FakeClock())
    assert names_in(tmp_path) == set()


async def _damaged_in_the_middle(state_folder: Path) -> bytes:
    file = await _filled(state_folder)
    damaged = bytearray(file.read_bytes())
    damaged[10 * 4096 :] = b"\xa5" * (len(damaged) - 10 * 4096)
    file.write_bytes(damaged)
    return bytes(damaged)


@pytest.mark.guarantee("field-71")
async def test_a_big_ledger_closed_in_order_opens_at_once_and_its_damage_refuses_mutations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _damaged_in_the_middle(tmp_path)
    monkeypatch.setattr(schema, "_ALWAYS_CHECKED_BYTES", 0)
    ledger = await Ledger.open(tmp_path, FakeClock())
    with pytest.raises(LedgerUnavailable) as caught:
        for _ in range(40):
            await begun_patch(ledger)
    await ledger.close()
    assert caught.value.details == {"reason": "damaged"}


@pytest.mark.guarantee("field-71")
async def test_a_big_ledger_cut_off_is_looked_at_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = await _damaged_in_the_middle(tmp_path)
    (tmp_path / f"{FILE_NAME}-wal").write_bytes(b"a log that was not folded in" * 10)
    monkeypatch.setattr(schema, "_ALWAYS_CHECKED_BYTES", 0)
    await _refused(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == damaged


@pytest.mark.guarantee("field-67")
async def test_a_ledger_that_another_program_keeps_for_itself_is_named_as_locked(
    tmp_path: Path,
) -> None:
    file = await _filled(tmp_path, rows=1)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("CREATE TABLE theirs (id INTEGER)")
        with pytest.raises(LedgerUnavailable) as caught:
            await Ledger.open(tmp_path, FakeClock(), busy_timeout_seconds=0.05)
    assert caught.value.details == {"reason": "locked"}


async def test_a_state_folder_may_have_any_name(tmp_path: Path) -> None:
    await _filled(tmp_path / "50% off? #1 \u00e9", rows=1)
    await _filled(tmp_path / "50% off? #1 \u00e9", rows=1)
    assert names_in(tmp_path) == {"50% off? #1 \u00e9"}


async def test_a_state_folder_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"a file")
    with pytest.raises(StateFolderUnusable, match="taken"):
        await Ledger.open(tmp_path / "taken", FakeClock())
