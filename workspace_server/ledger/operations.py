"""Operations: rows and domain values, and every way that a row comes to be or moves."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from workspace_server.domain.clock import Clock, rfc3339
from workspace_server.domain.json_value import JsonObject, JsonValue
from workspace_server.domain.operation import (
    Operation,
    OperationKind,
    OperationStatus,
    is_final,
    may_move,
)
from workspace_server.ledger.columns import json_object, json_text, moment
from workspace_server.ledger.connection import Connection, Row, Transaction
from workspace_server.ledger.errors import KeyTaken, MovedMeanwhile
from workspace_server.ledger.events import EventKind, Events
from workspace_server.ledger.processes import NewProcess, insert_process

SERVER = "server"  # the actor of what no principal asked for just now


@dataclass(frozen=True, kw_only=True)
class NewOperation:
    """What a caller knows of an operation before it is recorded."""

    operation_id: str
    kind: OperationKind
    root: str
    principal: str
    fingerprint: str
    request: JsonObject
    operation_key: str | None = None
    work_id: str | None = None
    approval_id: str | None = None
    parent_id: str | None = None
    process_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class OperationFilter:
    """Which rows a listing wants; None lets everything through."""

    roots: frozenset[str] | None
    principal: str | None = None
    kind: OperationKind | None = None
    status: OperationStatus | None = None
    work_id: str | None = None
    since: datetime | None = None
    before: str | None = None  # the operation_id that the page before this one ended with
    limit: int = 20


class Operations:
    """The rows of operations. Each change is one transaction, and has its event in it."""

    def __init__(self, connection: Connection, events: Events, clock: Clock) -> None:
        self._connection = connection
        self._events = events
        self._clock = clock

    async def begin(self, new: NewOperation, process: NewProcess | None = None) -> Operation:
        """Record `new` as pending, and bind its key; raise KeyTaken if another row has it."""
        async with self._connection.transaction() as transaction:
            await _refuse_taken_key(transaction, new)
            operation = await self._insert(transaction, new, OperationStatus.PENDING)
            if process is not None:
                await insert_process(transaction, operation, process)
            await self._record_new(transaction, EventKind.OPERATION_BEGUN, operation)
        return operation

    async def record_rejected(self, new: NewOperation, outcome: JsonObject) -> Operation:
        """Record that `new` was refused before it began; its key stays free."""
        async with self._connection.transaction() as transaction:
            operation = await self._insert(transaction, new, OperationStatus.REJECTED, outcome)
            await self._record_new(transaction, EventKind.OPERATION_REJECTED, operation)
        return operation

    async def move(
        self,
        operation_id: str,
        from_status: OperationStatus,
        to_status: OperationStatus,
        *,
        outcome: JsonObject | None = None,
        free_key: bool = False,
        actor: str = SERVER,
    ) -> Operation:
        """Move a row and keep `outcome`, if given; `free_key` lets another row take its key.

        Raises MovedMeanwhile if it stands elsewhere, ValueError if its table has no such arrow.
        """
        async with self._connection.transaction() as transaction:
            await _refuse_missing_arrow(transaction, operation_id, from_status, to_status)
            rows = await transaction.run(
                "move_operation",
                operation_id=operation_id,
                from_status=from_status,
                to_status=to_status,
                outcome=None if outcome is None else json_text(outcome),
                free_key=free_key,
                at=rfc3339(self._clock.now()),
            )
            if not rows:
                raise MovedMeanwhile(f"{operation_id} is no longer {from_status}")
            moved = _operation(rows[0])
            await self._record_move(transaction, from_status, moved, actor)
        return moved

    async def by_id(self, operation_id: str) -> Operation | None:
        """Return that row, if there is one."""
        return _first(await self._connection.read("operation_by_id", operation_id=operation_id))

    async def ending_in(self, ending: str, *, limit: int = 10) -> tuple[Operation, ...]:
        """Return the rows whose id, or process id, ends so; more than one is no answer."""
        rows = await self._connection.read("operations_ending_in", ending=ending, limit=limit)
        return _operations(rows)

    async def bound_to_key(self, root: str, principal: str, key: str) -> Operation | None:
        """Return the row that owns the key now."""
        rows = await self._connection.read(
            "operation_bound_to_key", root=root, principal=principal, operation_key=key
        )
        return _first(rows)

    async def latest_with_key(self, root: str, principal: str, key: str) -> Operation | None:
        """Return the row that owns the key, or else the last one that was called by it."""
        rows = await self._connection.read(
            "latest_operation_with_key", root=root, principal=principal, operation_key=key
        )
        return _first(rows)

    async def unfinished(self, kind: OperationKind) -> tuple[Operation, ...]:
        """Return the rows that may still move, oldest first."""
        statuses = [status for status in OperationStatus if not is_final(kind, status)]
        rows = await self._connection.read("operations_in", kind=kind, statuses=json_text(statuses))
        return _operations(rows)

    async def page(self, wanted: OperationFilter) -> tuple[Operation, ...]:
        """Return up to `limit` rows, newest first."""
        rows = await self._connection.read(
            "operation_page",
            roots=None if wanted.roots is None else json_text(sorted(wanted.roots)),
            principal=wanted.principal,
            kind=wanted.kind,
            status=wanted.status,
            work_id=wanted.work_id,
            since=None if wanted.since is None else rfc3339(wanted.since),
            before=wanted.before,
            limit=wanted.limit,
        )
        return _operations(rows)

    async def _insert(
        self,
        transaction: Transaction,
        new: NewOperation,
        status: OperationStatus,
        outcome: JsonObject | None = None,
    ) -> Operation:
        bound = status is OperationStatus.PENDING and new.operation_key is not None
        rows = await transaction.run(
            "insert_operation",
            operation_id=new.operation_id,
            kind=new.kind,
            status=status,
            root=new.root,
            principal=new.principal,
            operation_key=new.operation_key,
            binds_key=bound,
            fingerprint=new.fingerprint,
            request=json_text(new.request),
            work_id=new.work_id,
            approval_id=new.approval_id,
            parent_id=new.parent_id,
            process_id=new.process_id,
            outcome=None if outcome is None else json_text(outcome),
            at=rfc3339(self._clock.now()),
        )
        return _operation(rows[0])

    async def _record_new(
        self, transaction: Transaction, kind: EventKind, operation: Operation
    ) -> None:
        data: dict[str, JsonValue] = {
            "kind": operation.kind,
            "root": operation.root,
            "fingerprint": operation.fingerprint,
            "operation_key": operation.operation_key,
            "process_id": operation.process_id,
            "outcome_hash": _hash_of(operation.outcome),
        }
        await self._events.record(
            transaction, kind, operation.principal, _given(data), operation.operation_id
        )

    async def _record_move(
        self, transaction: Transaction, start: OperationStatus, moved: Operation, actor: str
    ) -> None:
        data: dict[str, JsonValue] = {
            "from": start,
            "to": moved.status,
            "binds_key": moved.binds_key,
            "outcome_hash": _hash_of(moved.outcome),
        }
        await self._events.record(
            transaction, EventKind.OPERATION_MOVED, actor, _given(data), moved.operation_id
        )


async def _refuse_taken_key(transaction: Transaction, new: NewOperation) -> None:
    if new.operation_key is None:
        return
    rows = await transaction.run(
        "operation_bound_to_key",
        root=new.root,
        principal=new.principal,
        operation_key=new.operation_key,
    )
    if rows:
        raise KeyTaken(_operation(rows[0]))


async def _refuse_missing_arrow(
    transaction: Transaction, operation_id: str, start: OperationStatus, end: OperationStatus
) -> None:
    rows = await transaction.run("operation_by_id", operation_id=operation_id)
    if not rows:
        raise ValueError(f"there is no operation {operation_id}")
    if not may_move(OperationKind(rows[0]["kind"]), start, end):
        raise ValueError(f"a {rows[0]['kind']} never moves from {start} to {end}")


def _given(data: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in data.items() if value is not None}


def _hash_of(outcome: JsonObject | None) -> str | None:
    """Tie an outcome to the chain without repeating it there."""
    if outcome is None:
        return None
    return hashlib.sha256(json_text(outcome).encode()).hexdigest()


def _first(rows: Iterable[Row]) -> Operation | None:
    return next((_operation(row) for row in rows), None)


def _operations(rows: Iterable[Row]) -> tuple[Operation, ...]:
    return tuple(_operation(row) for row in rows)


def _operation(row: Row) -> Operation:
    return Operation(
        operation_id=row["operation_id"],
        kind=OperationKind(row["kind"]),
        status=OperationStatus(row["status"]),
        root=row["root"],
        principal=row["principal"],
        operation_key=row["operation_key"],
        binds_key=bool(row["binds_key"]),
        fingerprint=row["fingerprint"],
        request=json_object(row["request"]),
        work_id=row["work_id"],
        approval_id=row["approval_id"],
        parent_id=row["parent_id"],
        process_id=row["process_id"],
        outcome=None if row["outcome"] is None else json_object(row["outcome"]),
        created_at=moment(row["created_at"]),
        updated_at=moment(row["updated_at"]),
    )
