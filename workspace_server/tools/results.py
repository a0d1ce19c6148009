"""From results and errors to what a client gets: one structure, and the same as text."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import Internal, ResultTooLarge, WorkspaceServerError
from workspace_server.domain.failure import failure_object
from workspace_server.domain.json_value import JsonObject, JsonValue
from workspace_server.tools.tool import AnyTool, Result

MAX_RESULT_BYTES = 1024 * 1024
MAX_FAILURE_BYTES = 8 * 1024
MAX_SENTENCES = 600  # characters of a message or recovery that is part of too long a failure

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a transport sends: the same in a structure and in text."""

    structure: JsonObject
    text: Sequence[str]
    is_error: bool = False


def success(tool: AnyTool, result: Result) -> Reply:
    """Return the reply of a result; raise ResultTooLarge beyond 1 MiB."""
    structure = result.model_dump(mode="json", exclude_none=True)
    text = tuple(tool.text(result)) if tool.text else (compact_json(structure),)
    size = max(_size_bytes(structure), sum(len(block.encode()) for block in text))
    if size > MAX_RESULT_BYTES:
        operation_id = structure.get("operation_id")
        raise ResultTooLarge(
            f"The result has {size} bytes; at most {MAX_RESULT_BYTES} fit one reply.",
            details={"size_bytes": size, "limit_bytes": MAX_RESULT_BYTES},
            operation_id=operation_id if isinstance(operation_id, str) else None,
        )
    return Reply(structure=structure, text=text)


def failure(error: WorkspaceServerError) -> Reply:
    """Return the reply of a failure, within 8 KiB: details give way before anything else."""
    structure = failure_object(error)
    if _size_bytes(structure) > MAX_FAILURE_BYTES:
        structure = _shortened(structure)
    return Reply(structure=structure, text=(compact_json(structure),), is_error=True)


def internal(tool_name: str, cause: Exception) -> WorkspaceServerError:
    """Log a defect whole, and return what a client may know of it."""
    _log.error("%s failed by a defect", tool_name, exc_info=cause)
    return Internal(f"{tool_name} failed by a defect of the server; its log has the cause.")


def compact_json(value: JsonValue) -> str:
    """Return `value` as JSON without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _shortened(structure: JsonObject) -> JsonObject:
    """Cut long texts, and leave details out, the longest first, until the failure fits."""
    error = structure["error"]
    assert isinstance(error, Mapping)
    kept = {name: _cut(value) for name, value in error.items()}
    details = error.get("details")
    remaining = dict(details) if isinstance(details, Mapping) else {}
    while remaining:
        short: JsonObject = {"error": {**kept, "details": {**remaining, "shortened": True}}}
        if _size_bytes(short) <= MAX_FAILURE_BYTES:
            return short
        del remaining[max(remaining, key=lambda name: _size_bytes(remaining[name]))]
    return {"error": {**kept, "details": {"shortened": True}}}


def _cut(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or len(value) <= MAX_SENTENCES:
        return value
    return f"{value[:MAX_SENTENCES]}…"


def _size_bytes(value: JsonValue) -> int:
    return len(compact_json(value).encode("utf-8", "surrogatepass"))
