import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from workspace_server.ledger import audit
from workspace_server.ledger.events import GENESIS
from workspace_server.ledger.ledger import FILE_NAME, Ledger


async def _noted(ledger: Ledger, count: int = 5) -> None:
    for number in range(count):
        await ledger.events.append("noted", "local", {"number": number}, f"op-{number % 2}")


def _tamper(tmp_path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(tmp_path / "state" / FILE_NAME)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_updated")
        connection.execute("DROP TRIGGER events_are_never_deleted")
        for statement in statements:
            connection.execute(statement)


async def test_an_empty_chain_is_intact(ledger: Ledger) -> None:
    report = await audit.verify(ledger.connection)
    assert report == audit.AuditReport(count=0, head=GENESIS, first_altered=None)


async def test_an_untouched_chain_is_intact_over_several_pages(ledger: Ledger) -> None:
    await _noted(ledger, 3)
    last = (await ledger.events.after(2, limit=1))[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "_PAGE", 2)
        report = await audit.verify(ledger.connection)
    assert report == audit.AuditReport(count=3, head=last.hash, first_altered=None)


@pytest.mark.parametrize(
    ("statement", "first_altered"),
    [
        ("UPDATE events SET actor = 'me' WHERE seq = 3", 3),
        ("UPDATE events SET data = '{' WHERE seq = 2", 2),
        ("UPDATE events SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 1", 1),
        ("UPDATE events SET hash = 'x' WHERE seq = 5", 5),
        ("UPDATE events SET operation_id = NULL WHERE seq = 4", 4),
        ("DELETE FROM events WHERE seq = 2", 2),
        ("DELETE FROM events WHERE seq = 1", 1),
        ("INSERT INTO events SELECT -1, at, kind, '', actor, data, '', '' FROM events LIMIT 1", 1),
        ("UPDATE events SET seq = 9 WHERE seq = 5", 5),
    ],
)
@pytest.mark.guarantee("ledger-notices-tampering")
async def test_the_first_altered_row_is_named(
    ledger: Ledger, tmp_path: Path, statement: str, first_altered: int
) -> None:
    await _noted(ledger)
    _tamper(tmp_path, statement)
    assert (await audit.verify(ledger.connection)).first_altered == first_altered


async def test_rows_cut_off_the_end_show_in_count_and_head(ledger: Ledger, tmp_path: Path) -> None:
    await _noted(ledger)
    whole = await audit.verify(ledger.connection)
    _tamper(tmp_path, "DELETE FROM events WHERE seq = 5")
    cut = await audit.verify(ledger.connection)
    assert cut.intact
    assert (cut.count, cut.head) != (whole.count, whole.head)
