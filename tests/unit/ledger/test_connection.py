import asyncio
import random
import sqlite3
import sys
import threading
from contextlib import suppress
from pathlib import Path

import aiosqlite
import anyio
import pytest

from tests.support.clock import FakeClock
from tests.support.ledger_rows import begun_patch, new_patch
from tests.support.trees import names_in
from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.domain.operation import OperationKind, OperationStatus
from workspace_server.ledger import audit, connection
from workspace_server.ledger.ledger import FILE_NAME, Ledger


def _file(tmp_path: Path) -> Path:
    return tmp_path / "state" / FILE_NAME


def _size(file: Path) -> int:
    return file.stat().st_size


async def test_what_a_block_did_is_undone_when_it_raises(ledger: Ledger) -> None:
    with pytest.raises(RuntimeError, match="stop"):
        async with ledger.connection.transaction() as transaction:
            await ledger.events.record(transaction, "noted", "local", {})
            raise RuntimeError("stop")
    assert await ledger.events.after(0, limit=10) == ()


async def test_a_read_does_not_see_an_open_transaction(ledger: Ledger) -> None:
    async with ledger.connection.transaction() as transaction:
        await ledger.events.record(transaction, "noted", "local", {})
        assert await ledger.events.after(0, limit=10) == ()
    assert len(await ledger.events.after(0, limit=10)) == 1


async def test_a_block_that_has_ended_is_committed_although_its_caller_is_cancelled(
    ledger: Ledger,
) -> None:
    with anyio.CancelScope() as scope:
        async with ledger.connection.transaction() as transaction:
            await ledger.events.record(transaction, "noted", "local", {})
            scope.cancel()
    assert len(await ledger.events.after(0, limit=10)) == 1


async def _begin_until_cancelled(ledger: Ledger, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        while True:
            await begun_patch(ledger)


async def test_callers_cancelled_at_any_moment_leave_whole_rows_and_a_usable_ledger(
    ledger: Ledger,
) -> None:
    moments = random.Random(7)
    for _ in range(200):
        await _begin_until_cancelled(ledger, moments.uniform(0, 0.004))
    last = await begun_patch(ledger)
    rows = await ledger.operations.unfinished(OperationKind.PATCH)
    report = await audit.verify(ledger.connection)
    assert last in rows
    assert report.intact
    assert report.count == len(rows)


async def test_tasks_cancelled_by_asyncio_itself_leave_whole_rows_too(ledger: Ledger) -> None:
    async def begin_for_ever() -> None:
        while True:
            await begun_patch(ledger)

    moments = random.Random(11)
    for _ in range(100):
        task = asyncio.create_task(begin_for_ever())
        await anyio.sleep(moments.uniform(0, 0.003))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    rows = await ledger.operations.unfinished(OperationKind.PATCH)
    report = await audit.verify(ledger.connection)
    assert report.intact
    assert report.count == len(rows)


async def test_many_callers_at_once_all_get_their_row(ledger: Ledger) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(begun_patch, ledger)
    assert len(await ledger.operations.unfinished(OperationKind.PATCH)) == 50
    assert (await audit.verify(ledger.connection)).intact


@pytest.mark.guarantee("ledger-read-from-outside")
async def test_an_outsider_reads_while_a_transaction_is_open(
    ledger: Ledger, tmp_path: Path
) -> None:
    operation = await begun_patch(ledger)
    async with ledger.connection.transaction() as transaction:
        await ledger.events.record(transaction, "noted", "local", {})
        outside = await Ledger.open_read_only(tmp_path / "state", FakeClock())
        found = await outside.operations.by_id(operation.operation_id)
        await outside.close()
    assert found == operation


@pytest.mark.guarantee("ledger-read-from-outside")
async def test_an_outsider_cannot_write(ledger: Ledger, tmp_path: Path) -> None:
    outside = await Ledger.open_read_only(tmp_path / "state", FakeClock())
    with pytest.raises(LedgerUnavailable) as caught:
        await begun_patch(outside)
    await outside.close()
    assert caught.value.details == {"reason": "read_only"}


_KILLED = """
import asyncio, os, pathlib, sys
from tests.support.clock import FakeClock
from tests.support.ledger_rows import begun_patch
from workspace_server.ledger.ledger import Ledger

async def begin_and_die() -> None:
    ledger = await Ledger.open(pathlib.Path(sys.argv[1]), FakeClock())
    print((await begun_patch(ledger)).operation_id, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(begin_and_die())
"""


async def test_an_outsider_reads_what_a_killed_server_committed(tmp_path: Path) -> None:
    killed = await anyio.run_process([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    outside = await Ledger.open_read_only(tmp_path, FakeClock())
    found = await outside.operations.by_id(killed.stdout.decode().strip())
    await outside.close()
    assert found is not None
    assert found.status is OperationStatus.PENDING


@pytest.mark.guarantee("field-67")
async def test_a_lock_that_an_outsider_keeps_is_named_and_passes(
    ledger: Ledger, tmp_path: Path
) -> None:
    outsider = sqlite3.connect(_file(tmp_path), isolation_level=None)
    outsider.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable) as caught:
        await begun_patch(ledger)
    outsider.close()
    assert caught.value.details == {"reason": "locked"}
    await begun_patch(ledger)


@pytest.mark.guarantee("field-70")
@pytest.mark.guarantee("ledger-before-the-deed")
async def test_a_full_disk_refuses_the_row_and_later_takes_it_without_a_restart(
    ledger: Ledger,
) -> None:
    writer = ledger.connection._open_writer()
    await writer.execute_fetchall("PRAGMA max_page_count = 1")  # as small as it is: full
    big = "x" * 1_000_000
    with pytest.raises(LedgerUnavailable) as caught:
        await ledger.operations.record_rejected(new_patch(), {"text": big})
    await writer.execute_fetchall("PRAGMA max_page_count = 1000000")
    assert caught.value.details == {"reason": "disk_full"}
    assert (await ledger.operations.record_rejected(new_patch(), {"text": big})).outcome is not None


@pytest.mark.guarantee("field-69")
async def test_the_write_ahead_log_does_not_grow_with_the_ledger(
    ledger: Ledger, tmp_path: Path
) -> None:
    for _ in range(30):
        await ledger.operations.record_rejected(new_patch(), {"text": "x" * 500_000})
    assert _size(_file(tmp_path)) > 10_000_000
    assert _size(Path(f"{_file(tmp_path)}-wal")) < 8_000_000


async def test_a_closed_ledger_refuses(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path, FakeClock())
    await ledger.close()
    with pytest.raises(LedgerUnavailable):
        await begun_patch(ledger)
    with pytest.raises(LedgerUnavailable):
        await ledger.operations.unfinished(OperationKind.PATCH)


async def test_closing_in_order_folds_the_log_into_the_file(tmp_path: Path) -> None:
    ledger = await Ledger.open(tmp_path, FakeClock())
    await begun_patch(ledger)
    await ledger.close()
    await ledger.close()
    assert names_in(tmp_path) == {FILE_NAME, "blobs"}


async def test_a_defect_of_ours_is_not_taken_for_a_fault_of_the_disk(ledger: Ledger) -> None:
    patch = new_patch()
    await ledger.operations.begin(patch)
    with pytest.raises(sqlite3.IntegrityError):
        await ledger.operations.begin(patch)


def _ledger_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if "connection_worker" in each.name}


async def _fails_to_open_and_leaves_no_thread(state_folder: Path) -> None:
    before = _ledger_threads()
    with pytest.raises(sqlite3.OperationalError):
        await Ledger.open(state_folder, FakeClock())
    for thread in _ledger_threads() - before:
        thread.join(timeout=5)
    assert _ledger_threads() == before


async def test_a_writer_that_cannot_be_set_up_is_closed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_WRITER_PRAGMAS", ("PRAGMA nonsense (",))
    await _fails_to_open_and_leaves_no_thread(tmp_path)


async def test_a_writer_without_a_reader_is_closed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = connection._connect

    async def only_writers(address: str, *rest: object) -> aiosqlite.Connection:
        if address.endswith("mode=ro"):
            raise sqlite3.OperationalError("unable to open")
        return await connect(address, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(connection, "_connect", only_writers)
    await _fails_to_open_and_leaves_no_thread(tmp_path)
