from dataclasses import replace
from datetime import timedelta

import anyio
import pytest

from tests.support.clock import FakeClock
from tests.support.ledger_rows import ROOT, begun_patch, new_command, new_patch
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.domain.process import ProcessState
from workspace_server.ledger.errors import KeyTaken, MovedMeanwhile
from workspace_server.ledger.ledger import Ledger
from workspace_server.ledger.operations import OperationFilter

PENDING, APPLIED, REJECTED = (
    OperationStatus.PENDING,
    OperationStatus.APPLIED,
    OperationStatus.REJECTED,
)


async def test_a_begun_operation_is_read_back_whole(ledger: Ledger, clock: FakeClock) -> None:
    new = replace(new_patch("k"), work_id="work-1", approval_id="appr-1", parent_id="op-1")
    begun = await ledger.operations.begin(new)
    assert await ledger.operations.by_id(new.operation_id) == begun
    assert begun == Operation(
        operation_id=new.operation_id,
        kind=OperationKind.PATCH,
        status=PENDING,
        root=ROOT,
        principal="local",
        operation_key="k",
        binds_key=True,
        fingerprint=new.fingerprint,
        request=new.request,
        work_id="work-1",
        approval_id="appr-1",
        parent_id="op-1",
        process_id=None,
        outcome=None,
        created_at=clock.now(),
        updated_at=clock.now(),
    )


async def test_a_command_and_its_process_begin_together(ledger: Ledger) -> None:
    new, process = new_command()
    operation = await ledger.operations.begin(new, process)
    row = await ledger.processes.by_operation(operation.operation_id)
    assert row is not None
    assert (row.process_id, row.state) == (process.process_id, ProcessState.PENDING)
    assert (row.argv, row.root, row.end) == (("make", "test"), ROOT, None)


@pytest.mark.guarantee("field-46")
async def test_a_bound_key_is_taken_and_says_by_whom(ledger: Ledger) -> None:
    first = await begun_patch(ledger, "k")
    with pytest.raises(KeyTaken) as caught:
        await begun_patch(ledger, "k")
    assert caught.value.operation == first
    assert await ledger.operations.unfinished(OperationKind.PATCH) == (first,)


@pytest.mark.guarantee("field-46")
async def test_of_twins_that_begin_at_once_one_gets_the_key(ledger: Ledger) -> None:
    outcomes: list[str] = []

    async def begin() -> None:
        try:
            outcomes.append((await begun_patch(ledger, "k")).operation_id)
        except KeyTaken as taken:
            outcomes.append(taken.operation.operation_id)

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(begin)
    assert len(outcomes) == 10
    assert len(set(outcomes)) == 1


@pytest.mark.guarantee("field-46")
async def test_keys_of_other_roots_and_principals_are_other_keys(ledger: Ledger) -> None:
    await ledger.operations.begin(new_patch("k"))
    await ledger.operations.begin(new_patch("k", root="/elsewhere"))
    await ledger.operations.begin(new_patch("k", principal="other"))
    assert len(await ledger.operations.unfinished(OperationKind.PATCH)) == 3


async def test_a_row_keeps_its_key_after_it_is_finished(ledger: Ledger) -> None:
    operation = await begun_patch(ledger, "k")
    done = await ledger.operations.move(operation.operation_id, PENDING, APPLIED, outcome={"a": 1})
    assert await ledger.operations.bound_to_key(ROOT, "local", "k") == done
    assert done.outcome == {"a": 1}


async def test_a_freed_key_still_finds_its_last_row_until_another_takes_it(ledger: Ledger) -> None:
    first = await begun_patch(ledger, "k")
    freed = await ledger.operations.move(first.operation_id, PENDING, REJECTED, free_key=True)
    assert await ledger.operations.bound_to_key(ROOT, "local", "k") is None
    assert await ledger.operations.latest_with_key(ROOT, "local", "k") == freed
    second = await begun_patch(ledger, "k")
    assert await ledger.operations.latest_with_key(ROOT, "local", "k") == second


async def test_a_rejected_row_shows_its_key_and_binds_none(ledger: Ledger) -> None:
    rejected = await ledger.operations.record_rejected(new_patch("k"), {"error": {"code": "X"}})
    assert (rejected.status, rejected.operation_key, rejected.binds_key) == (REJECTED, "k", False)
    assert rejected.outcome == {"error": {"code": "X"}}
    assert (await begun_patch(ledger, "k")).binds_key


async def test_a_move_keeps_the_time_and_an_outcome_that_was_there(
    ledger: Ledger, clock: FakeClock
) -> None:
    new, process = new_command()
    begun = await ledger.operations.begin(new, process)
    clock.advance(5)
    await ledger.operations.move(
        new.operation_id, PENDING, OperationStatus.UNKNOWN, outcome={"seen": True}
    )
    moved = await ledger.operations.move(
        new.operation_id, OperationStatus.UNKNOWN, OperationStatus.FINISHED
    )
    assert moved.outcome == {"seen": True}
    assert (moved.created_at, moved.updated_at) == (begun.created_at, clock.now())


async def test_of_two_moves_at_once_one_wins(ledger: Ledger) -> None:
    operation = await begun_patch(ledger)
    await ledger.operations.move(operation.operation_id, PENDING, APPLIED)
    with pytest.raises(MovedMeanwhile):
        await ledger.operations.move(operation.operation_id, PENDING, REJECTED, outcome={"a": 1})
    row = await ledger.operations.by_id(operation.operation_id)
    assert row is not None
    assert (row.status, row.outcome) == (APPLIED, None)
    assert len(await ledger.events.of(operation.operation_id)) == 2


async def test_a_move_without_an_arrow_is_a_defect(ledger: Ledger) -> None:
    operation = await begun_patch(ledger)
    with pytest.raises(ValueError, match="never moves"):
        await ledger.operations.move(operation.operation_id, PENDING, OperationStatus.DISPATCHED)
    with pytest.raises(ValueError, match="no operation"):
        await ledger.operations.move("op-unknown", PENDING, APPLIED)


async def test_unfinished_are_those_that_can_still_move(ledger: Ledger) -> None:
    done, waiting = await begun_patch(ledger), await begun_patch(ledger)
    await ledger.operations.move(done.operation_id, PENDING, APPLIED)
    new, process = new_command()
    command = await ledger.operations.begin(new, process)
    assert await ledger.operations.unfinished(OperationKind.PATCH) == (waiting,)
    assert await ledger.operations.unfinished(OperationKind.COMMAND) == (command,)


async def test_pages_follow_each_other_newest_first(ledger: Ledger) -> None:
    ids = sorted([(await begun_patch(ledger)).operation_id for _ in range(5)], reverse=True)
    wanted = OperationFilter(roots=frozenset({ROOT}), limit=2)
    seen: list[str] = []
    while page := await ledger.operations.page(wanted):
        seen += [operation.operation_id for operation in page]
        wanted = replace(wanted, before=seen[-1])
    assert seen == ids


@pytest.mark.parametrize(
    "change",
    [
        {"roots": frozenset({"/elsewhere"})},
        {"roots": frozenset()},
        {"principal": "other"},
        {"kind": OperationKind.COMMAND},
        {"status": APPLIED},
        {"work_id": "work-2"},
        {"since": FakeClock().now() + timedelta(milliseconds=1)},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_filter_lets_only_fitting_rows_through(
    ledger: Ledger, change: dict[str, object]
) -> None:
    operation = await ledger.operations.begin(replace(new_patch(), work_id="work-1"))
    fitting = OperationFilter(
        roots=frozenset({ROOT, "/elsewhere"}),
        principal="local",
        kind=OperationKind.PATCH,
        status=PENDING,
        work_id="work-1",
        since=FakeClock().now(),
    )
    assert await ledger.operations.page(fitting) == (operation,)
    assert await ledger.operations.page(OperationFilter(roots=None)) == (operation,)
    assert await ledger.operations.page(replace(fitting, **change)) == ()  # type: ignore[arg-type]


async def test_the_end_of_an_id_finds_it(ledger: Ledger) -> None:
    one = await ledger.operations.begin(replace(new_patch(), operation_id="op-1-a%c"))
    other = await ledger.operations.begin(replace(new_patch(), operation_id="op-2-abc"))
    assert await ledger.operations.ending_in("%c") == (one,)
    assert await ledger.operations.ending_in("c") == (other, one)
    assert await ledger.operations.ending_in("c", limit=1) == (other,)
    assert await ledger.operations.ending_in("") == ()


async def test_each_change_has_its_event(ledger: Ledger) -> None:
    operation = await begun_patch(ledger, "k")
    await ledger.operations.move(
        operation.operation_id, PENDING, REJECTED, outcome={"a": 1}, free_key=True
    )
    begun, moved = await ledger.events.of(operation.operation_id)
    assert (begun.kind, begun.actor, begun.data["operation_key"]) == (
        "operation_begun",
        "local",
        "k",
    )
    assert (moved.kind, moved.actor) == ("operation_moved", "server")
    assert (moved.data["from"], moved.data["to"]) == ("pending", "rejected")
    assert moved.data["binds_key"] is False


async def test_any_text_that_json_can_hold_is_kept(ledger: Ledger) -> None:
    odd: JsonObject = {
        "patch": "\ud800 \x00 é \U0001f40d",
        "nested": [1, 2.5, None, True, {"a": []}],
    }
    operation = await ledger.operations.begin(replace(new_patch(), request=odd))
    assert operation.request == odd
