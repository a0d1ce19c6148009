from dataclasses import replace

import anyio
import pytest

from tests.support.clock import FakeClock
from tests.support.ledger_rows import ROOT, new_command
from workspace_server.domain.process import ProcessEnd, ProcessState, Termination
from workspace_server.ledger.ledger import Ledger
from workspace_server.ledger.processes import ProcessFilter

PENDING, RUNNING, EXITED, NOT_STARTED = ProcessState

END = ProcessEnd(
    termination=Termination.SIGNALED, signal=9, reason="memory", ended_at=FakeClock().now()
)


async def _recorded(ledger: Ledger) -> str:
    operation, process = new_command()
    await ledger.operations.begin(operation, process)
    return process.process_id


async def _state(ledger: Ledger, process_id: str) -> ProcessState | None:
    process = await ledger.processes.by_id(process_id)
    return None if process is None else process.state


async def test_a_process_is_mirrored_from_start_to_end(ledger: Ledger) -> None:
    process_id = await _recorded(ledger)
    await ledger.processes.mirror(process_id, RUNNING)
    assert await _state(ledger, process_id) is RUNNING
    await ledger.processes.mirror(process_id, EXITED, END)
    process = await ledger.processes.by_id(process_id)
    assert process is not None
    assert (process.state, process.end) == (EXITED, END)


async def test_hearing_it_twice_writes_nothing(ledger: Ledger) -> None:
    process_id = await _recorded(ledger)
    await ledger.processes.mirror(process_id, EXITED, END)
    events = await ledger.events.after(0, limit=10)
    await ledger.processes.mirror(process_id, EXITED, END)
    assert await ledger.events.after(0, limit=10) == events
    assert [event.kind for event in events] == ["operation_begun", "process_moved"]


async def test_two_that_hear_it_at_once_write_it_once(ledger: Ledger) -> None:
    process_id = await _recorded(ledger)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(ledger.processes.mirror, process_id, RUNNING)
    assert len(await ledger.events.after(0, limit=10)) == 2


async def test_late_news_does_not_undo_an_end(ledger: Ledger) -> None:
    process_id = await _recorded(ledger)
    await ledger.processes.mirror(process_id, EXITED, END)
    await ledger.processes.mirror(process_id, RUNNING)
    assert await _state(ledger, process_id) is EXITED


async def test_news_that_contradicts_the_row_is_a_defect(ledger: Ledger) -> None:
    process_id = await _recorded(ledger)
    await ledger.processes.mirror(process_id, NOT_STARTED)
    with pytest.raises(ValueError, match="can never be"):
        await ledger.processes.mirror(process_id, RUNNING)
    with pytest.raises(ValueError, match="no process"):
        await ledger.processes.mirror("proc-unknown", RUNNING)


async def test_pages_follow_each_other_newest_first(ledger: Ledger) -> None:
    ids = sorted([await _recorded(ledger) for _ in range(3)], reverse=True)
    wanted = ProcessFilter(roots=frozenset({ROOT}), limit=2)
    first = await ledger.processes.page(wanted)
    rest = await ledger.processes.page(replace(wanted, before=first[-1].process_id))
    assert [process.process_id for process in first + rest] == ids


async def test_a_filter_lets_only_fitting_rows_through(ledger: Ledger) -> None:
    process_id = await _recorded(ledger)
    fitting = ProcessFilter(roots=frozenset({ROOT}), principal="local", state=PENDING)
    assert [row.process_id for row in await ledger.processes.page(fitting)] == [process_id]
    assert len(await ledger.processes.page(ProcessFilter(roots=None))) == 1
    assert await ledger.processes.page(replace(fitting, roots=frozenset())) == ()
    assert await ledger.processes.page(replace(fitting, principal="other")) == ()
    assert await ledger.processes.page(replace(fitting, state=RUNNING)) == ()
