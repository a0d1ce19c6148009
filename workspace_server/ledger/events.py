"""Events: everything that happened, each row chained to the one before by its hash."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from workspace_server.domain.clock import Clock, rfc3339
from workspace_server.domain.json_value import JsonObject, JsonValue, canonical_json
from workspace_server.ledger.columns import json_object, json_text, moment
from workspace_server.ledger.connection import Connection, Row, Transaction

GENESIS = "0" * 64  # the hash before the first event

_HASHED = ("seq", "at", "kind", "operation_id", "actor", "data", "previous_hash")


class EventKind(StrEnum):
    """What the ledger itself records; others name what they append."""

    OPERATION_BEGUN = "operation_begun"
    OPERATION_REJECTED = "operation_rejected"  # before it was begun: it binds no key
    OPERATION_MOVED = "operation_moved"
    PROCESS_MOVED = "process_moved"
    JOURNAL_WRITTEN = "journal_written"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One row of the chain."""

    seq: int  # 1, 2, 3 … without a gap
    at: datetime
    kind: str
    operation_id: str | None
    actor: str  # a principal, or `server`
    data: JsonObject
    previous_hash: str
    hash: str


class Events:
    """The chain: append at its end, read anywhere."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    async def append(
        self,
        kind: str,
        actor: str,
        data: Mapping[str, JsonValue],
        operation_id: str | None = None,
    ) -> Event:
        """Record one event on its own."""
        async with self._connection.transaction() as transaction:
            return await self.record(transaction, kind, actor, data, operation_id)

    async def record(
        self,
        transaction: Transaction,
        kind: str,
        actor: str,
        data: Mapping[str, JsonValue],
        operation_id: str | None = None,
    ) -> Event:
        """Record an event as part of a transaction, so that it shares the fate of the change."""
        last = await transaction.run("last_event")
        columns: dict[str, str | int | None] = {
            "seq": last[0]["seq"] + 1 if last else 1,
            "at": rfc3339(self._clock.now()),
            "kind": kind,
            "operation_id": operation_id,
            "actor": actor,
            "data": json_text(data),
            "previous_hash": last[0]["hash"] if last else GENESIS,
        }
        rows = await transaction.run("insert_event", hash=chain_hash(columns), **columns)
        return _event(rows[0])

    async def of(self, operation_id: str) -> tuple[Event, ...]:
        """Return what happened to one operation, in order."""
        rows = await self._connection.read("events_of", operation_id=operation_id)
        return tuple(_event(row) for row in rows)

    async def after(self, seq: int, *, limit: int) -> tuple[Event, ...]:
        """Return the next events behind `seq`, in order."""
        rows = await self._connection.read("events_after", seq=seq, limit=limit)
        return tuple(_event(row) for row in rows)


def chain_hash(columns: Mapping[str, JsonValue]) -> str:
    """Return the hash that the other columns of an event, just as they are stored, call for."""
    hashed = {name: columns[name] for name in _HASHED}
    return hashlib.sha256(canonical_json(hashed).encode("utf-8", "surrogatepass")).hexdigest()


def _event(row: Row) -> Event:
    return Event(
        seq=row["seq"],
        at=moment(row["at"]),
        kind=row["kind"],
        operation_id=row["operation_id"],
        actor=row["actor"],
        data=json_object(row["data"]),
        previous_hash=row["previous_hash"],
        hash=row["hash"],
    )
