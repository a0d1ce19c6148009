"""How values are kept in columns: JSON as ASCII text, times as RFC 3339."""

import json
from datetime import datetime
from typing import TypeAlias, cast

from workspace_server.domain.json_value import JsonObject, JsonValue

SqlValue: TypeAlias = str | int | bytes | None


def json_text(value: JsonValue) -> str:
    """Return `value` as text that any column can hold, lone surrogates included."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def json_object(text: str) -> JsonObject:
    """Return the object that `json_text` wrote."""
    return cast(JsonObject, json.loads(text))


def moment(text: str) -> datetime:
    """Return the time that `rfc3339` wrote."""
    return datetime.fromisoformat(text)


def string_tuple(text: str) -> tuple[str, ...]:
    """Return the list of strings that `json_text` wrote."""
    return tuple(cast(list[str], json.loads(text)))
