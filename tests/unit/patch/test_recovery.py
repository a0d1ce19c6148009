import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.support.patching import SUCCESS, Bench, image
from workspace_server.domain.errors import FileNotFound
from workspace_server.domain.failure import stored_failure
from workspace_server.domain.operation import Operation, OperationStatus
from workspace_server.domain.version import full_version, shown_version
from workspace_server.ledger.journal import IN_ROW_BYTES
from workspace_server.patch.disk_change import DiskChange, steps_of
from workspace_server.patch.model import FileImage
from workspace_server.patch.recovery import Settled, settle_patches
from workspace_server.patch.undo import Verdict
from workspace_server.workspace.root import Root

BIG = b"big\n" * IN_ROW_BYTES
WANTED: Mapping[str, FileImage | None] = {
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
        yield opened


async def _interrupted(
    bench: Bench, wanted: Mapping[str, FileImage | None], *, placed: int, key: str = "k"
) -> Operation:
    """Leave a patch as a server does that dies with so many files in place, the rest staged."""
    operation, sight = await bench.begin(key), bench.look(wanted)
    steps = steps_of(operation.operation_id, sight.plan, sight.identities)
    with Root.open(bench.folder) as root:
        change = DiskChange(root, steps)
        await bench.ledger.journal.write(
            operation.operation_id, change.entries, change.folders, planned_outcome=SUCCESS
        )
        change._make_folders()
        change._stage()
        for step in steps[:placed]:
            change._put_in_place(step)
    return operation


async def _settled(bench: Bench) -> Settled:
    (settled,) = await bench.settle()
    assert await bench.settle() == ()
    return settled


def _verdicts(settled: Settled) -> dict[str, Verdict]:
    return {each.entry.path: each.verdict for each in settled.verdicts}


@pytest.mark.guarantee("field-43")
async def test_a_patch_that_never_wrote_its_journal_is_rejected_and_frees_its_key(
    bench: Bench,
) -> None:
    before, operation = bench.tree(), await bench.begin("k")
    assert (await _settled(bench)).status is OperationStatus.REJECTED
    row = await bench.row(operation.operation_id)
    assert (row.status, row.binds_key) == (OperationStatus.REJECTED, False)
    assert bench.tree() == before
    await bench.begin("k")


async def test_a_patch_with_all_files_as_before_is_rejected_and_frees_its_key(
    bench: Bench,
) -> None:
    before = bench.tree()
    operation = await _interrupted(bench, WANTED, placed=0)
    assert bench.tree() != before
    assert (await _settled(bench)).status is OperationStatus.REJECTED
    assert not (await bench.row(operation.operation_id)).binds_key
    assert bench.tree() == before


async def test_a_patch_with_all_files_as_planned_is_applied_with_its_planned_outcome(
    bench: Bench,
) -> None:
    operation = await _interrupted(bench, WANTED, placed=4)
    planned = bench.tree()
    assert (await _settled(bench)).status is OperationStatus.APPLIED
    row = await bench.row(operation.operation_id)
    assert (row.outcome, row.binds_key) == (SUCCESS, True)
    assert bench.tree() == planned


@pytest.mark.parametrize("placed", [1, 2, 3])
async def test_a_mixture_is_put_back(bench: Bench, placed: int) -> None:
    before = bench.tree()
    operation = await _interrupted(bench, WANTED, placed=placed)
    settled = await _settled(bench)
    assert settled.status is OperationStatus.FAILED_ROLLED_BACK
    assert list(_verdicts(settled).values()).count(Verdict.RESTORED) == placed
    assert bench.tree() == before
    assert (await bench.row(operation.operation_id)).binds_key


async def test_a_third_content_is_left_alone_and_the_others_are_put_back(bench: Bench) -> None:
    before = bench.tree()
    operation = await _interrupted(bench, WANTED, placed=3)
    bench.write("a.txt", b"somebody's\n")
    settled = await _settled(bench)
    assert settled.status is OperationStatus.FAILED_PARTIAL
    assert _verdicts(settled) == {
        "a.txt": Verdict.CHANGED_BY_OTHERS,
        "big.txt": Verdict.RESTORED,
        "new/er/b.txt": Verdict.RESTORED,
        "gone.txt": Verdict.AS_BEFORE,
    }
    assert bench.tree() == {**before, "a.txt": (0o644, b"somebody's\n")}
    row = await bench.row(operation.operation_id)
    assert row.outcome is not None
    assert stored_failure(row.outcome).details["status"] == "failed_partial"


async def test_the_stored_failure_names_reason_paths_and_versions(bench: Bench) -> None:
    operation = await _interrupted(bench, {"a.txt": image(b"new\n"), "b": image(b"")}, placed=1)
    await bench.settle()
    row = await bench.row(operation.operation_id)
    assert row.outcome is not None
    failure = stored_failure(row.outcome)
    assert failure.operation_id == operation.operation_id
    assert failure.details["reason"] == "interrupted"
    assert failure.details["paths"] == [
        {
            "path": "a.txt",
            "verdict": "restored",
            "before": shown_version(full_version(b"old a\n")),
            "after": shown_version(full_version(b"new\n")),
            "now": shown_version(full_version(b"old a\n")),
        },
        {
            "path": "b",
            "verdict": "as_before",
            "before": "absent",
            "after": shown_version(full_version(b"")),
            "now": "absent",
        },
    ]


async def test_a_root_that_is_gone_leaves_the_outcome_unknown(bench: Bench) -> None:
    operation = await _interrupted(bench, WANTED, placed=1)

    def gone(_: str) -> Root:
        raise FileNotFound("The workspace folder itself is gone.")

    (settled,) = await settle_patches(bench.ledger, gone)
    assert settled.status is OperationStatus.UNKNOWN
    assert set(_verdicts(settled).values()) == {Verdict.UNREADABLE}
    assert (await bench.row(operation.operation_id)).status is OperationStatus.UNKNOWN


async def test_a_path_that_became_a_link_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    await _interrupted(bench, WANTED, placed=2)
    os.unlink(bench.folder / "a.txt")
    os.symlink(tmp_path / "elsewhere", bench.folder / "a.txt")
    settled = await _settled(bench)
    assert settled.status is OperationStatus.FAILED_PARTIAL
    assert _verdicts(settled)["a.txt"] is Verdict.UNREADABLE
    assert _verdicts(settled)["big.txt"] is Verdict.RESTORED
    assert os.readlink(bench.folder / "a.txt") == str(tmp_path / "elsewhere")


async def test_a_before_image_that_is_lost_is_told_and_the_others_are_put_back(
    bench: Bench, tmp_path: Path
) -> None:
    await _interrupted(bench, WANTED, placed=2)
    (blob,) = os.listdir(tmp_path / "state" / "blobs")
    os.unlink(tmp_path / "state" / "blobs" / blob)
    settled = await _settled(bench)
    assert settled.status is OperationStatus.FAILED_PARTIAL
    assert _verdicts(settled)["big.txt"] is Verdict.AS_PLANNED
    assert _verdicts(settled)["a.txt"] is Verdict.RESTORED


async def test_a_mode_that_alone_was_to_change_is_told_apart(bench: Bench) -> None:
    before = bench.tree()
    wanted = {"a.txt": image(b"old a\n", 0o644), "big.txt": image(b"small\n")}
    await _interrupted(bench, wanted, placed=1)
    settled = await _settled(bench)
    assert _verdicts(settled)["a.txt"] is Verdict.RESTORED
    assert bench.tree() == before


async def test_a_folder_that_others_use_by_now_is_left(bench: Bench) -> None:
    before = bench.tree()
    await _interrupted(bench, WANTED, placed=0)
    bench.write("new/theirs.txt", b"theirs\n")
    await bench.settle()
    assert set(bench.tree()) == set(before) | {"new", "new/theirs.txt"}


async def test_each_unfinished_patch_is_settled_by_itself(bench: Bench) -> None:
    first = await _interrupted(bench, {"a.txt": None}, placed=1, key="first")
    second = await _interrupted(bench, {"big.txt": None}, placed=0, key="second")
    settled = {each.operation_id: each.status for each in await bench.settle()}
    assert settled == {
        first.operation_id: OperationStatus.APPLIED,
        second.operation_id: OperationStatus.REJECTED,
    }


async def test_what_cannot_be_made_durable_is_not_called_applied(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(5, "Input/output error")

    await _interrupted(bench, WANTED, placed=4)
    monkeypatch.setattr(os, "fsync", failing)
    settled = await _settled(bench)
    assert settled.status is OperationStatus.UNKNOWN
    assert set(_verdicts(settled).values()) == {Verdict.AS_PLANNED}
