import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import anyio
import pytest

from tests.support.ledger_rows import new_patch
from tests.support.patching import SUCCESS, Bench, Sight, image
from workspace_server.domain.errors import (
    FileOperationFailed,
    Internal,
    InvalidPatch,
    LedgerUnavailable,
    VersionConflict,
    WorkspaceServerError,
)
from workspace_server.domain.failure import failure_object
from workspace_server.domain.operation import Operation, OperationStatus
from workspace_server.ledger.journal import IN_ROW_BYTES
from workspace_server.patch import disk_change, undo
from workspace_server.patch.verdicts import MEND_BY_HAND
from workspace_server.workspace import atomic_write

BIG = b"big\n" * IN_ROW_BYTES
WANTED = {
    "a.txt": image(b"new a\n", 0o755),
    "big.txt": image(b"small now\n"),
    "gone.txt": None,
    "new/er/b.txt": image(b"added\n", 0o600),
}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A workspace of three files."""
    async with Bench.opened(tmp_path) as opened:
        opened.write("a.txt", b"old a\n", 0o755)
        opened.write("big.txt", BIG)
        opened.write("gone.txt", b"going\n")
        opened.write("untouched.txt", b"stays\n")
        yield opened


async def _row_of(bench: Bench, error: WorkspaceServerError) -> Operation:
    """Return the row that a failure speaks of, and check that a replay would answer the same."""
    assert error.operation_id is not None
    row = await bench.row(error.operation_id)
    assert error.details["status"] == row.status
    if row.outcome is not None:
        assert row.outcome == failure_object(error)
    return row


async def test_a_plan_is_carried_out_whole(bench: Bench) -> None:
    row = await bench.change(WANTED)
    assert (row.status, row.outcome) == (OperationStatus.APPLIED, SUCCESS)
    assert bench.tree() == {
        "a.txt": (0o755, b"new a\n"),
        "big.txt": (0o644, b"small now\n"),
        "new": (0o755, None),
        "new/er": (0o755, None),
        "new/er/b.txt": (0o600, b"added\n"),
        "untouched.txt": (0o644, b"stays\n"),
    }


async def test_the_journal_says_what_was_there_and_what_is(bench: Bench) -> None:
    row = await bench.change(WANTED)
    entries = await bench.ledger.journal.entries(row.operation_id)
    assert [entry.path for entry in entries] == ["a.txt", "big.txt", "new/er/b.txt", "gone.txt"]
    assert await bench.ledger.journal.content(entries[1]) == BIG
    assert await bench.ledger.journal.folders(row.operation_id) == ("new", "new/er")


async def test_a_mode_alone_can_change(bench: Bench) -> None:
    await bench.change({"a.txt": image(b"old a\n", 0o644)})
    assert bench.tree()["a.txt"] == (0o644, b"old a\n")


async def test_a_stale_look_writes_nothing(bench: Bench) -> None:
    sight = bench.look(WANTED)
    bench.write("gone.txt", b"somebody's\n")
    before = bench.tree()
    with pytest.raises(VersionConflict) as caught:
        await bench.run(sight)
    row = await _row_of(bench, caught.value)
    assert row.status is OperationStatus.FAILED_ROLLED_BACK
    assert bench.tree() == before


@pytest.mark.guarantee("patch-loses-no-foreign-edit")
async def test_a_file_that_appears_meanwhile_is_not_overwritten(bench: Bench) -> None:
    sight = bench.look(WANTED)
    bench.write("new/er/b.txt", b"somebody's\n")
    before = bench.tree()
    with pytest.raises(VersionConflict):
        await bench.run(sight)
    assert bench.tree() == before


async def test_a_read_only_file_is_refused_before_anything_begins(bench: Bench) -> None:
    bench.write("a.txt", b"old a\n", 0o444)
    before = bench.tree()
    with pytest.raises(FileOperationFailed) as caught:
        await bench.change(WANTED)
    row = await _row_of(bench, caught.value)
    assert row.status is OperationStatus.REJECTED
    assert await bench.ledger.journal.entries(row.operation_id) == ()
    assert bench.tree() == before


@pytest.mark.guarantee("field-75")
async def test_of_two_changes_made_from_one_look_one_gets_a_conflict(bench: Bench) -> None:
    first = bench.look({"a.txt": image(b"first\n")})
    second = bench.look({"a.txt": image(b"second\n")})
    outcomes: list[OperationStatus] = []

    async def run(sight: Sight) -> None:
        operation = await bench.begin()
        with suppress(VersionConflict):
            await bench.run(sight, operation)
        outcomes.append((await bench.row(operation.operation_id)).status)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, first)
        tasks.start_soon(run, second)
    assert sorted(outcomes) == [OperationStatus.APPLIED, OperationStatus.FAILED_ROLLED_BACK]
    assert bench.tree()["a.txt"][1] in (b"first\n", b"second\n")


def _failing_at(number: int, fault: int, calls: Callable[..., object]) -> Callable[..., object]:
    counter = count(1)

    def failing(*arguments: object, **named: object) -> object:
        if next(counter) == number:
            raise OSError(fault, os.strerror(fault))
        return calls(*arguments, **named)

    return failing


_STEPS = {
    "write": (os, "write"),
    "fsync": (os, "fsync"),
    "fchmod": (os, "fchmod"),
    "mkdir": (os, "mkdir"),
    "rename": (atomic_write, "renameat2"),
}


@pytest.mark.guarantee("field-70")
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO], ids=["ENOSPC", "EIO"])
@pytest.mark.parametrize("step", _STEPS)
@pytest.mark.guarantee("patch-all-or-nothing")
async def test_a_fault_at_any_step_changes_nothing_and_passes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, step: str, fault: int
) -> None:
    before = bench.tree()
    module, name = _STEPS[step]
    for number in count(1):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, _failing_at(number, fault, getattr(module, name)))
            try:
                await bench.change(WANTED)
            except (FileOperationFailed, LedgerUnavailable) as error:
                failed = error
            else:
                break
        assert failed.details["status"] in ("rejected", "failed_rolled_back")
        await _row_of(bench, failed)
        assert bench.tree() == before
    assert number > 1
    assert bench.tree()["a.txt"] == (0o755, b"new a\n")


@pytest.mark.guarantee("field-70")
@pytest.mark.parametrize("name", ["write", "fsync"])
async def test_a_disk_that_stays_full_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = bench.tree()
    with monkeypatch.context() as patch:
        patch.setattr(os, name, full)
        with pytest.raises((FileOperationFailed, LedgerUnavailable)) as caught:
            await bench.change(WANTED)
    await _row_of(bench, caught.value)
    assert bench.tree() == before


@pytest.mark.guarantee("patch-all-or-nothing")
async def test_what_cannot_be_put_back_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> bool:
        monkeypatch.setattr(undo, "publish", _refuse)
        return False

    monkeypatch.setattr(disk_change.DiskChange, "_is_in_place", lost)
    with pytest.raises(InvalidPatch) as caught:
        await bench.change(WANTED)
    row = await _row_of(bench, caught.value)
    assert row.status is OperationStatus.FAILED_PARTIAL
    assert caught.value.recovery == MEND_BY_HAND
    assert bench.tree()["a.txt"] == (0o755, b"new a\n")
    assert not [path for path in bench.tree() if path.endswith(".tmp")]


@pytest.mark.guarantee("patch-success-is-on-disk")
async def test_a_disk_that_does_not_hold_the_result_is_put_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.tree()
    monkeypatch.setattr(disk_change.DiskChange, "_is_in_place", lambda *_: False)
    with pytest.raises(InvalidPatch) as caught:
        await bench.change(WANTED)
    assert (await _row_of(bench, caught.value)).status is OperationStatus.FAILED_ROLLED_BACK
    assert bench.tree() == before


@pytest.mark.guarantee("patch-loses-no-foreign-edit")
async def test_an_edit_made_after_ours_is_left_alone_and_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited_meanwhile(*_: object) -> bool:
        bench.write("a.txt", b"somebody's\n")
        return False

    before = bench.tree()
    monkeypatch.setattr(disk_change.DiskChange, "_is_in_place", edited_meanwhile)
    with pytest.raises(InvalidPatch) as caught:
        await bench.change(WANTED)
    row = await _row_of(bench, caught.value)
    assert row.status is OperationStatus.FAILED_PARTIAL
    assert bench.tree() == {**before, "a.txt": (0o644, b"somebody's\n")}
    told = caught.value.details["paths"]
    assert isinstance(told, list)
    assert (told[0]["path"], told[0]["verdict"]) == ("a.txt", "changed_by_others")
    assert {each["verdict"] for each in told[1:]} == {"restored"}


async def test_a_defect_is_undone_too_and_told_without_its_text(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(*_: object) -> bool:
        raise KeyError("/secret/place")

    before = bench.tree()
    monkeypatch.setattr(disk_change.DiskChange, "_is_in_place", defective)
    with pytest.raises(Internal) as caught:
        await bench.change(WANTED)
    assert "secret" not in str(failure_object(caught.value))
    assert (await _row_of(bench, caught.value)).status is OperationStatus.FAILED_ROLLED_BACK
    assert bench.tree() == before


async def test_many_paths_are_told_within_the_bounds_of_a_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_change.DiskChange, "_put_in_place", _refuse)
    with pytest.raises(FileOperationFailed) as caught:
        await bench.change({f"folder/file-{number}": image(b"") for number in range(100)})
    assert caught.value.details["paths_omitted"] == 80
    assert len(str(failure_object(caught.value))) < 8 * 1024


def _refuse(*_: object) -> None:
    raise FileOperationFailed("The disk refuses.")


async def test_a_ledger_that_is_away_when_the_change_is_done_can_settle_it_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = await bench.begin("k")
    with monkeypatch.context() as patch:
        patch.setattr(type(bench.ledger.operations), "move", _away)
        with pytest.raises(LedgerUnavailable) as caught:
            await bench.change(WANTED, operation)
    assert caught.value.operation_id == operation.operation_id
    assert caught.value.details == {"status": "pending", "reason": "locked"}
    (settled,) = await bench.settle()
    assert settled.status is OperationStatus.APPLIED
    assert (await bench.row(operation.operation_id)).outcome == SUCCESS


async def _away(*_: object, **__: object) -> Operation:
    raise LedgerUnavailable("The ledger is locked.", details={"reason": "locked"})


async def test_a_ledger_that_is_away_for_a_moment_is_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    move, attempts = type(bench.ledger.operations).move, count(1)

    async def once_away(*arguments: object, **named: object) -> Operation:
        if next(attempts) == 1:
            return await _away()
        return await move(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(type(bench.ledger.operations), "move", once_away)
    assert (await bench.change(WANTED)).status is OperationStatus.APPLIED


@pytest.mark.guarantee("field-70")
@pytest.mark.guarantee("ledger-before-the-deed")
async def test_a_journal_that_cannot_be_written_starts_nothing_and_frees_the_key(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, operation = bench.tree(), await bench.begin("k")
    with monkeypatch.context() as patch:
        patch.setattr(type(bench.ledger.journal), "write", _away)
        with pytest.raises(LedgerUnavailable) as caught:
            await bench.change(WANTED, operation)
    row = await _row_of(bench, caught.value)
    assert (row.status, row.binds_key) == (OperationStatus.REJECTED, False)
    assert bench.tree() == before
    await bench.ledger.operations.begin(replace(new_patch("k"), root=str(bench.folder)))


async def test_a_link_in_the_way_is_refused_before_anything_begins(bench: Bench) -> None:
    sight = bench.look(WANTED)
    os.symlink(bench.folder, bench.folder / "new")
    with pytest.raises(WorkspaceServerError) as caught:
        await bench.run(sight)
    assert caught.value.code == "SYMLINK_REJECTED"
    assert (await _row_of(bench, caught.value)).status is OperationStatus.REJECTED


async def test_an_undone_change_leaves_a_folder_that_others_use(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used_meanwhile(*_: object) -> bool:
        bench.write("new/theirs.txt", b"theirs\n")
        return False

    monkeypatch.setattr(disk_change.DiskChange, "_is_in_place", used_meanwhile)
    with pytest.raises(InvalidPatch):
        await bench.change(WANTED)
    assert {path for path in bench.tree() if path.startswith("new")} == {"new", "new/theirs.txt"}
