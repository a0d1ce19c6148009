import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from workspace_server.ledger.events import GENESIS
from workspace_server.ledger.ledger import FILE_NAME, Ledger


async def _noted(ledger: Ledger, count: int = 5) -> None:
    for number in range(count):
        await ledger.events.append("noted", "local", {"number": number}, f"op-{number % 2}")


async def test_an_event_is_read_back_as_it_was_appended(ledger: Ledger, clock: FakeClock) -> None:
    appended = await ledger.events.append("unauthorised", "local", {"tool": "apply_patch"})
    assert await ledger.events.after(0, limit=10) == (appended,)
    assert (appended.seq, appended.at, appended.previous_hash) == (1, clock.now(), GENESIS)
    assert appended.operation_id is None


async def test_events_are_chained(ledger: Ledger) -> None:
    await _noted(ledger)
    events = await ledger.events.after(0, limit=10)
    assert [event.seq for event in events] == [1, 2, 3, 4, 5]
    assert [event.previous_hash for event in events] == [GENESIS, *(e.hash for e in events[:-1])]


async def test_events_are_found_by_operation_and_by_position(ledger: Ledger) -> None:
    await _noted(ledger)
    assert [event.seq for event in await ledger.events.of("op-1")] == [2, 4]
    assert [event.seq for event in await ledger.events.after(2, limit=2)] == [3, 4]


@pytest.mark.parametrize("statement", ["UPDATE events SET actor = 'x'", "DELETE FROM events"])
async def test_the_ledger_itself_refuses_to_change_an_event(
    ledger: Ledger, tmp_path: Path, statement: str
) -> None:
    await _noted(ledger)
    connection = sqlite3.connect(tmp_path / "state" / FILE_NAME)
    with closing(connection), pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
