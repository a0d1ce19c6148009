"""An operation: one recorded change or command, and the statuses it moves through."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from workspace_server.domain.json_value import JsonObject


class OperationKind(StrEnum):
    """What an operation does."""

    PATCH = "patch"
    COMMAND = "command"


class OperationStatus(StrEnum):
    """What is known of an operation."""

    PENDING = "pending"  # recorded; the effect may have begun
    # patches
    APPLIED = "applied"  # the disk was verified against the plan
    REJECTED = "rejected"  # nothing was written
    FAILED_ROLLED_BACK = "failed_rolled_back"  # begun, and restored from the before-images
    FAILED_PARTIAL = "failed_partial"  # some files could not be restored; they are named
    # commands
    DISPATCHED = "dispatched"  # a process exists; says nothing of success
    FINISHED = "finished"  # the process has ended
    NOT_STARTED = "not_started"  # confirmed: nothing runs and nothing will
    # both
    UNKNOWN = "unknown"  # the outcome is not established (yet)


_S = OperationStatus

# The arrows, by kind. What has none is final.
TRANSITIONS: Mapping[OperationKind, Mapping[OperationStatus, frozenset[OperationStatus]]] = {
    OperationKind.PATCH: {
        _S.PENDING: frozenset(
            {_S.APPLIED, _S.REJECTED, _S.FAILED_ROLLED_BACK, _S.FAILED_PARTIAL, _S.UNKNOWN}
        ),
    },
    OperationKind.COMMAND: {
        _S.PENDING: frozenset({_S.DISPATCHED, _S.FINISHED, _S.NOT_STARTED, _S.UNKNOWN}),
        _S.UNKNOWN: frozenset({_S.DISPATCHED, _S.FINISHED, _S.NOT_STARTED}),
        _S.DISPATCHED: frozenset({_S.FINISHED}),
    },
}


def may_move(kind: OperationKind, start: OperationStatus, end: OperationStatus) -> bool:
    """Tell whether the table has the arrow."""
    return end in TRANSITIONS[kind].get(start, frozenset())


def is_final(kind: OperationKind, status: OperationStatus) -> bool:
    """Tell whether no arrow leaves `status`."""
    return not TRANSITIONS[kind].get(status)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One row of the ledger's operations."""

    operation_id: str
    kind: OperationKind
    status: OperationStatus
    root: str  # canonical path of the workspace
    principal: str
    operation_key: str | None  # as the client sent it
    binds_key: bool  # whether the key belongs to this row; a row that freed it still shows it
    fingerprint: str
    request: JsonObject  # the arguments, whole
    work_id: str | None
    approval_id: str | None
    parent_id: str | None
    process_id: str | None
    outcome: JsonObject | None  # the result or failure that a replay answers with
    created_at: datetime
    updated_at: datetime
