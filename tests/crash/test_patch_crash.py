"""A server that dies at any step of a patch leaves a tree of before or of after, and a true row."""

import shutil
from itertools import count
from pathlib import Path

import pytest

from tests.crash.patch_scenario import KEY, SCENARIOS, lay_out
from tests.support.crash import run_until_step
from tests.support.patching import SUCCESS, Bench
from tests.support.trees import Tree
from workspace_server.domain.operation import Operation, OperationStatus
from workspace_server.ledger import audit

_MODULE = "tests.crash.patch_scenario"


async def _laid_out(place: Path, name: str) -> Tree:
    async with Bench.opened(place) as bench:
        lay_out(bench, SCENARIOS[name])
        return bench.tree()


async def _tree_of_after(place: Path, name: str) -> Tree:
    await _laid_out(place, name)
    async with Bench.opened(place) as bench:
        await bench.change(SCENARIOS[name].wanted)
        return bench.tree()


async def _settled(place: Path) -> tuple[Tree, Operation | None]:
    """Do what the next server does; return the tree and the row, which must be sound."""
    async with Bench.opened(place) as bench:
        await bench.settle()
        assert await bench.settle() == ()
        assert (await audit.verify(bench.ledger.connection)).intact
        row = await bench.ledger.operations.latest_with_key(str(bench.folder), "local", KEY)
        return bench.tree(), row


def _says(row: Operation | None) -> tuple[OperationStatus, bool] | None:
    return None if row is None else (row.status, row.binds_key)


@pytest.mark.slow
@pytest.mark.guarantee("field-43")
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.guarantee("patch-all-or-nothing")
@pytest.mark.guarantee("ledger-tells-the-truth")
async def test_death_at_any_step_leaves_all_or_nothing_and_a_true_row(
    tmp_path: Path, name: str
) -> None:
    after = await _tree_of_after(tmp_path / "after", name)
    seen = set()
    for step in count(1):
        place = tmp_path / str(step)
        before = await _laid_out(place, name)
        died = await run_until_step(_MODULE, ["apply", str(place), name], step)
        tree, row = await _settled(place)
        said = _says(row)
        seen.add(said)
        match said:
            case (OperationStatus.APPLIED, True):
                assert tree == after
                assert row is not None
                assert row.outcome == SUCCESS
            case (
                None
                | (OperationStatus.REJECTED, False)
                | (OperationStatus.FAILED_ROLLED_BACK, True)
            ):
                assert tree == before
            case _:
                pytest.fail(f"died before step {step}: {said}")
        if not died:
            break
    assert seen == {
        None,
        (OperationStatus.REJECTED, False),
        (OperationStatus.FAILED_ROLLED_BACK, True),
        (OperationStatus.APPLIED, True),
    }


async def _left_amid(place: Path, name: str) -> Path:
    """Return a copy of a `place` whose server died with the patch neither begun nor done."""
    for step in count(1):
        shutil.rmtree(place, ignore_errors=True)
        await _laid_out(place, name)
        assert await run_until_step(_MODULE, ["apply", str(place), name], step)
        copy = shutil.copytree(place, place.with_name(f"amid-{step}"))
        _, row = await _settled(place)
        if _says(row) == (OperationStatus.FAILED_ROLLED_BACK, True):
            return copy
    raise AssertionError("the count is endless")


@pytest.mark.slow
@pytest.mark.guarantee("field-43")
async def test_death_at_any_step_of_the_recovery_is_recovered_from(tmp_path: Path) -> None:
    name, place = "update and add", tmp_path / "place"
    before = await _laid_out(tmp_path / "before", name)
    amid = await _left_amid(place, name)
    for step in count(1):
        shutil.rmtree(place)
        shutil.copytree(amid, place)
        died = await run_until_step(_MODULE, ["settle", str(place), name], step)
        tree, row = await _settled(place)
        assert tree == before
        assert row is not None
        assert row.status in (OperationStatus.REJECTED, OperationStatus.FAILED_ROLLED_BACK)
        if not died:
            break
