"""The tools that tell what became of operations: operation_status, operation_list."""

from datetime import datetime
from typing import Annotated, Any, Literal

import anyio
from pydantic import Field

from workspace_server.domain.clock import rfc3339
from workspace_server.domain.errors import InvalidArguments, InvalidCursor, OperationNotFound
from workspace_server.domain.ids import IdKind, is_id
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.domain.version import shown_version
from workspace_server.ledger.events import Event
from workspace_server.ledger.operations import OperationFilter
from workspace_server.patch.disk_state import DiskState, PathNow
from workspace_server.tools.process_view import signal_name
from workspace_server.tools.settling import settled
from workspace_server.tools.tool import MAX_WAIT_MS, Annotations, Arguments, Call, Result, Tool

MAX_CHANGES = 200

KindWord = Literal["patch", "command"]
StatusWord = Literal[
    "pending",
    "applied",
    "rejected",
    "failed_rolled_back",
    "failed_partial",
    "dispatched",
    "finished",
    "not_started",
    "unknown",
]


class OperationStatusArguments(Arguments):
    """Which operation: by exactly one of id and key."""

    operation_id: str | None = None
    operation_key: str | None = None
    wait_ms: Annotated[
        int, Field(ge=0, le=MAX_WAIT_MS, description="Wait this long for it to be over.")
    ] = 0
    detail: bool = Field(default=False, description="Also the request and the events.")


class Change(Result):
    """What a patch did, or was to do, to one path."""

    path: str
    before: str
    after: str
    now: str | None = Field(default=None, description="What the disk holds; absent: unreadable.")


class EventEntry(Result):
    """Something that happened to the operation."""

    seq: int
    at: str
    kind: str
    data: dict[str, Any]


class OperationEntry(Result):
    """An operation in a list."""

    operation_id: str
    kind: KindWord
    status: StatusWord
    operation_key: str | None = None
    process_id: str | None = None
    created_at: str
    updated_at: str


class OperationStatusResult(OperationEntry):
    """What is known of an operation."""

    process_state: Literal["pending", "running", "exited", "not_started"] | None = None
    exit_code: int | None = None
    signal: str | None = None
    files: list[str] | None = None
    changes: list[Change] | None = None
    changes_not_listed: int | None = None
    disk_matches: bool | None = Field(
        default=None, description="Whether the files are still as this operation left them."
    )
    outcome: dict[str, Any] | None = Field(
        default=None, description="The stored result, or the failure object."
    )
    request: dict[str, Any] | None = None
    events: list[EventEntry] | None = None


async def operation_status(call: Call, arguments: OperationStatusArguments) -> Result:
    """Look an operation up."""
    operation = await _find(call, arguments)
    if arguments.wait_ms:
        with anyio.move_on_after(arguments.wait_ms / 1000):
            await call.services.in_flight.wait_finished(operation.operation_id)
            await call.services.commands.wait_ended(operation.operation_id)
        operation = await _by_id(call, operation.operation_id)
    operation = await settled(call, operation)
    return await _status_result(call, operation, detail=arguments.detail)


async def _find(call: Call, arguments: OperationStatusArguments) -> Operation:
    if (arguments.operation_id is None) == (arguments.operation_key is None):
        raise OperationNotFound(
            "Give exactly one of operation_id and operation_key.",
            recovery="Give one of them; operation_list shows both.",
        )
    if arguments.operation_id is not None:
        return await _by_id(call, arguments.operation_id)
    return await _by_key(call, arguments)


async def _by_id(call: Call, operation_id: str) -> Operation:
    operation = await call.services.ledger.operations.by_id(operation_id)
    if operation is None or operation.root not in call.caller.view.roots:
        raise OperationNotFound(f"No operation {operation_id!r} is known.")
    return operation


async def _by_key(call: Call, arguments: OperationStatusArguments) -> Operation:
    assert arguments.operation_key is not None
    workspace = call.caller.view.find(arguments.workspace_id)
    operation = await call.services.ledger.operations.latest_with_key(
        workspace.root, call.caller.principal, arguments.operation_key
    )
    if operation is None:
        raise OperationNotFound(
            f"No operation with the key {arguments.operation_key!r} is known: it never began.",
            recovery="Make the call again with this key; nothing of it was done.",
        )
    return operation


async def _status_result(
    call: Call, operation: Operation, *, detail: bool
) -> OperationStatusResult:
    services = call.services
    entry = _entry(operation).model_dump()
    if operation.kind is OperationKind.COMMAND and operation.process_id is not None:
        entry |= await _process_facts(call, operation, operation.process_id)
    else:
        entry |= _patch_facts(await services.patches.disk_state(operation), operation)
    if detail:
        entry["request"] = dict(operation.request)
        entry["events"] = [
            _event(event) for event in await services.ledger.events.of(operation.operation_id)
        ]
    return OperationStatusResult(**entry)


async def _process_facts(call: Call, operation: Operation, process_id: str) -> dict[str, Any]:
    snapshot = await call.services.commands.snapshot(process_id)
    end = snapshot.end
    return {
        "process_state": snapshot.state.value,
        "exit_code": end.exit_code if end else None,
        "signal": signal_name(end.signal) if end else None,
        "outcome": dict(operation.outcome) if operation.outcome else None,
    }


def _patch_facts(state: DiskState, operation: Operation) -> dict[str, Any]:
    applied = operation.status is OperationStatus.APPLIED
    shown = state.paths[:MAX_CHANGES]
    return {
        "files": [change.path for change in shown] or None,
        "changes": [_change(change) for change in shown] or None,
        "changes_not_listed": max(len(state.paths) - MAX_CHANGES, 0) or None,
        "disk_matches": state.matches if applied else None,
        "outcome": dict(operation.outcome) if operation.outcome else None,
    }


def _change(change: PathNow) -> Change:
    return Change(
        path=change.path,
        before=shown_version(change.before),
        after=shown_version(change.after),
        now=shown_version(change.now) if change.now else None,
    )


def _event(event: Event) -> EventEntry:
    return EventEntry(seq=event.seq, at=rfc3339(event.at), kind=event.kind, data=dict(event.data))


class OperationListArguments(Arguments):
    """Which operations to list."""

    kind: KindWord | None = None
    status: StatusWord | None = None
    since: str | None = Field(default=None, description="RFC 3339, such as 2026-01-31T09:00:00Z.")
    mine: bool = Field(default=False, description="Only those of this caller.")
    cursor: str | None = Field(default=None, description="next_cursor of the page before.")
    limit: Annotated[int, Field(ge=1, le=200)] = 20


class OperationListResult(Result):
    """Operations, newest first."""

    operations: list[OperationEntry]
    next_cursor: str | None = None


async def operation_list(call: Call, arguments: OperationListArguments) -> OperationListResult:
    """List operations of the workspaces in view."""
    roots = {call.workspace.root} if call.workspace else call.caller.view.roots
    rows = await call.services.ledger.operations.page(
        OperationFilter(
            roots=frozenset(roots),
            principal=call.caller.principal if arguments.mine else None,
            kind=OperationKind(arguments.kind) if arguments.kind else None,
            status=OperationStatus(arguments.status) if arguments.status else None,
            since=_moment(arguments.since),
            before=checked_cursor(IdKind.OPERATION, arguments.cursor),
            limit=arguments.limit + 1,
        )
    )
    page = rows[: arguments.limit]
    return OperationListResult(
        operations=[_entry(operation) for operation in page],
        next_cursor=page[-1].operation_id if len(rows) > len(page) else None,
    )


def checked_cursor(kind: IdKind, cursor: str | None) -> str | None:
    """Return the id that a list's cursor is; raise InvalidCursor if it is none."""
    if cursor is not None and not is_id(kind, cursor):
        raise InvalidCursor("The cursor was not given out by this tool.")
    return cursor


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _bad_since(text) from error
    if moment.tzinfo is None:
        raise _bad_since(text)
    return moment


def _bad_since(text: str) -> InvalidArguments:
    return InvalidArguments(
        f"since: {text!r} is no time with a zone.",
        recovery="Give RFC 3339, such as 2026-01-31T09:00:00Z.",
        details={"field": "since"},
    )


def _entry(operation: Operation) -> OperationEntry:
    return OperationEntry(
        operation_id=operation.operation_id,
        kind=operation.kind.value,
        status=operation.status.value,
        operation_key=operation.operation_key,
        process_id=operation.process_id,
        created_at=rfc3339(operation.created_at),
        updated_at=rfc3339(operation.updated_at),
    )


OPERATION_STATUS = Tool(
    name="operation_status",
    title="Look an operation up",
    description=(
        "What became of a change or a command, by operation_id or by the operation_key you gave "
        "it: after a lost reply, a timeout or a restart this is the truth. Patches: versions "
        "before and after, and whether the disk still matches. Commands: the process and its end."
    ),
    arguments=OperationStatusArguments,
    result=OperationStatusResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=operation_status,
    names_workspace=False,
)

OPERATION_LIST = Tool(
    name="operation_list",
    title="List operations",
    description="Changes and commands on record, newest first, a page at a time.",
    arguments=OperationListArguments,
    result=OperationListResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=operation_list,
    names_workspace=False,
)
