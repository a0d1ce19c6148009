"""The failure object: what a client sees of an error, and what the ledger keeps of it."""

from collections.abc import Mapping

from workspace_server.domain.errors import Internal, WorkspaceServerError, error_classes
from workspace_server.domain.json_value import JsonObject, JsonValue

_BY_CODE = {cls.code: cls for cls in error_classes()}


def failure_object(error: WorkspaceServerError) -> JsonObject:
    """Return `{"error": {...}}` with the fields that apply; never the private cause."""
    fields: dict[str, JsonValue] = {
        "code": error.code,
        "message": error.message,
        "recovery": error.recovery,
        "retryable": error.retryable,
        "retry_after_ms": error.retry_after_ms,
        "operation_id": error.operation_id,
        "approval_id": error.approval_id,
        "process_id": error.process_id,
        "details": error.details or None,
    }
    return {"error": {name: value for name, value in fields.items() if value is not None}}


def stored_failure(outcome: JsonObject) -> WorkspaceServerError:
    """Return the error that a stored failure object stands for, so that it can be raised again."""
    stored = outcome["error"]
    assert isinstance(stored, Mapping)
    error = _BY_CODE.get(_text(stored, "code") or "", Internal)(_text(stored, "message") or "")
    details = stored.get("details")
    error.recovery = _text(stored, "recovery")
    error.retryable = stored.get("retryable") is True
    error.details = dict(details) if isinstance(details, Mapping) else {}
    error.operation_id = _text(stored, "operation_id")
    error.approval_id = _text(stored, "approval_id")
    error.process_id = _text(stored, "process_id")
    return error


def _text(stored: Mapping[str, JsonValue], name: str) -> str | None:
    value = stored.get(name)
    return value if isinstance(value, str) else None
