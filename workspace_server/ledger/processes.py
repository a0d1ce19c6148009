"""Processes: what the supervisor said of each command, mirrored in a row."""

from collections.abc import Iterable
from dataclasses import dataclass

from workspace_server.domain.clock import rfc3339
from workspace_server.domain.json_value import JsonValue
from workspace_server.domain.operation import Operation
from workspace_server.domain.process import (
    TRANSITIONS,
    Process,
    ProcessEnd,
    ProcessState,
    Termination,
)
from workspace_server.ledger.columns import json_text, moment, string_tuple
from workspace_server.ledger.connection import Connection, Row, Transaction
from workspace_server.ledger.events import EventKind, Events

_ACTOR = "supervisor"  # its record is the truth that the rows mirror


@dataclass(frozen=True, kw_only=True)
class NewProcess:
    """What is known of a process before it is dispatched; the rest is its operation's."""

    process_id: str
    argv: tuple[str, ...]
    tty: bool


@dataclass(frozen=True, kw_only=True)
class ProcessFilter:
    """Which rows a listing wants; None lets everything through."""

    roots: frozenset[str] | None
    principal: str | None = None
    state: ProcessState | None = None
    before: str | None = None  # the process_id that the page before this one ended with
    limit: int = 20


async def insert_process(
    transaction: Transaction, operation: Operation, process: NewProcess
) -> None:
    """Record `process` as pending; the event of its operation speaks for it."""
    await transaction.run(
        "insert_process",
        process_id=process.process_id,
        operation_id=operation.operation_id,
        root=operation.root,
        state=ProcessState.PENDING,
        argv=json_text(process.argv),
        tty=process.tty,
        at=rfc3339(operation.created_at),
    )


class Processes:
    """The rows of processes."""

    def __init__(self, connection: Connection, events: Events) -> None:
        self._connection = connection
        self._events = events

    async def mirror(
        self, process_id: str, state: ProcessState, end: ProcessEnd | None = None
    ) -> None:
        """Take over what the supervisor says; hearing it twice, or late, changes nothing.

        Raises ValueError for an unknown process or if the row says what can no longer become so.
        """
        if not _has_news(await self._known(process_id), state):
            return  # polls come here often, and write nothing
        async with self._connection.transaction() as transaction:
            rows = await transaction.run("process_by_id", process_id=process_id)
            before = _process(rows[0])
            if _has_news(before, state):
                await self._move(transaction, before, state, end)

    async def by_id(self, process_id: str) -> Process | None:
        """Return that row, if there is one."""
        return _first(await self._connection.read("process_by_id", process_id=process_id))

    async def by_operation(self, operation_id: str) -> Process | None:
        """Return the process of that operation, if it has one."""
        rows = await self._connection.read("process_by_operation", operation_id=operation_id)
        return _first(rows)

    async def page(self, wanted: ProcessFilter) -> tuple[Process, ...]:
        """Return up to `limit` rows, newest first."""
        rows = await self._connection.read(
            "process_page",
            roots=None if wanted.roots is None else json_text(sorted(wanted.roots)),
            principal=wanted.principal,
            state=wanted.state,
            before=wanted.before,
            limit=wanted.limit,
        )
        return _processes(rows)

    async def _known(self, process_id: str) -> Process:
        process = await self.by_id(process_id)
        if process is None:
            raise ValueError(f"there is no process {process_id}")
        return process

    async def _move(
        self,
        transaction: Transaction,
        before: Process,
        state: ProcessState,
        end: ProcessEnd | None,
    ) -> None:
        await transaction.run(
            "move_process",
            process_id=before.process_id,
            from_state=before.state,
            to_state=state,
            **_end_columns(end),
        )
        data: dict[str, JsonValue] = {
            "process_id": before.process_id,
            "from": before.state,
            "to": state,
            **{name: value for name, value in _end_columns(end).items() if value is not None},
        }
        await self._events.record(
            transaction, EventKind.PROCESS_MOVED, _ACTOR, data, before.operation_id
        )


def _has_news(process: Process, state: ProcessState) -> bool:
    if state is process.state or process.state in _reachable(state):
        return False
    if state not in _reachable(process.state):
        raise ValueError(f"{process.process_id} is {process.state} and can never be {state}")
    return True


def _reachable(state: ProcessState) -> frozenset[ProcessState]:
    return TRANSITIONS.get(state, frozenset())


def _end_columns(end: ProcessEnd | None) -> dict[str, str | int | None]:
    if end is None:
        return dict.fromkeys(("termination", "exit_code", "signal", "reason", "ended_at"))
    return {
        "termination": end.termination,
        "exit_code": end.exit_code,
        "signal": end.signal,
        "reason": end.reason,
        "ended_at": rfc3339(end.ended_at),
    }


def _first(rows: Iterable[Row]) -> Process | None:
    return next((_process(row) for row in rows), None)


def _processes(rows: Iterable[Row]) -> tuple[Process, ...]:
    return tuple(_process(row) for row in rows)


def _process(row: Row) -> Process:
    return Process(
        process_id=row["process_id"],
        operation_id=row["operation_id"],
        root=row["root"],
        state=ProcessState(row["state"]),
        argv=string_tuple(row["argv"]),
        tty=bool(row["tty"]),
        created_at=moment(row["created_at"]),
        end=_end(row),
    )


def _end(row: Row) -> ProcessEnd | None:
    if row["termination"] is None:
        return None
    return ProcessEnd(
        termination=Termination(row["termination"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        reason=row["reason"],
        ended_at=moment(row["ended_at"]),
    )
