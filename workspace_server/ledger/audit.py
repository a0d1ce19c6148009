"""Checks the chain of events: is anything altered, removed or put in between?"""

from collections.abc import Mapping
from dataclasses import dataclass

from workspace_server.ledger.connection import Connection, Row
from workspace_server.ledger.events import GENESIS, chain_hash

_PAGE = 500  # rows a read; a read that took the whole chain would hold the log open meanwhile
_BEFORE_ALL = -(2**63)  # a forged row may have any number


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """The state of the chain. Rows cut off its end show only in a comparison of count and head."""

    count: int
    head: str  # the hash of the last event
    first_altered: int | None  # position of the first row that is not what was recorded

    @property
    def intact(self) -> bool:
        """Whether each row is the one that its neighbours call for."""
        return self.first_altered is None


async def verify(connection: Connection) -> AuditReport:
    """Walk the whole chain, in short reads."""
    count, head, first_altered, seq = 0, GENESIS, None, _BEFORE_ALL
    while rows := await connection.read("events_after", seq=seq, limit=_PAGE):
        for row in rows:
            count += 1
            if first_altered is None and not _follows(row, count, head):
                first_altered = count
            seq, head = row["seq"], row["hash"]
    return AuditReport(count=count, head=head, first_altered=first_altered)


def _follows(row: Row, seq: int, previous_hash: str) -> bool:
    columns: Mapping[str, str | int | None] = dict(row)
    expected = {"seq": seq, "previous_hash": previous_hash, "hash": chain_hash(columns)}
    return all(columns[name] == value for name, value in expected.items())
