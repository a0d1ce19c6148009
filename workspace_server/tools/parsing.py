"""From a client's JSON to a tool's arguments: closed, uncoerced, with one tolerance."""

import json
import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from workspace_server.domain.errors import InputTooLarge, InvalidArguments
from workspace_server.domain.json_value import JsonObject, JsonValue
from workspace_server.tools.tool import AnyTool, Arguments

MAX_INTEGER = 2**53 - 1  # beyond it a JSON number may lose digits on the way
MAX_ARGUMENT_BYTES = 256 * 1024
MAX_PATCH_BYTES = 8 * 1024 * 1024
LARGE_ARGUMENTS = ("patch",)

# What to give instead, by pydantic's name for what is wrong.
_KINDS = {
    "list_type": 'Give a list, such as ["ls", "-l"]. ',
    "dict_type": 'Give an object, such as {"NAME": "value"}. ',
    "int_type": "Give a whole number. ",
    "bool_type": "Give true or false. ",
    "string_type": "Give a string. ",
}


def parse_arguments(tool: AnyTool, raw: JsonObject) -> Arguments:
    """Return the tool's arguments.

    Where an array, object, number or boolean is declared, a string that holds exactly that JSON
    is taken as it; a declared string is never parsed. Raises InvalidArguments naming the field,
    or InputTooLarge naming both sizes.
    """
    unfolded = {name: _unfold(tool.arguments, name, value) for name, value in raw.items()}
    for name, value in unfolded.items():
        _refuse_large(name, value)
        _refuse_numbers(tool, name, value)
    try:
        arguments: Arguments = tool.arguments.model_validate(unfolded)
    except ValidationError as error:
        raise _invalid(tool, error.errors(include_url=False, include_context=False)) from error
    return arguments


def _unfold(arguments: type[Arguments], name: str, value: JsonValue) -> JsonValue:
    kinds = _declared_kinds(arguments).get(name, frozenset({"string"}))
    if not isinstance(value, str) or "string" in kinds:
        return value
    try:
        parsed: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if _kind_of(parsed) in kinds else value


@cache
def _declared_kinds(arguments: type[Arguments]) -> Mapping[str, frozenset[str]]:
    """Return the JSON types that each declared argument may have."""
    properties = arguments.model_json_schema()["properties"]
    return {
        name: frozenset(
            kind
            for option in schema.get("anyOf", [schema])
            for kind in [option.get("type")]
            if kind
        )
        for name, schema in properties.items()
    }


def _kind_of(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case None:
            return "null"
        case Mapping():
            return "object"
        case _:
            return "array"


def _refuse_large(name: str, value: JsonValue) -> None:
    limit = MAX_PATCH_BYTES if name in LARGE_ARGUMENTS else MAX_ARGUMENT_BYTES
    size = _size_bytes(value)
    if size > limit:
        raise InputTooLarge(
            f"{name} has {size} bytes; at most {limit} are taken.",
            recovery="Send less at a time.",
            details={"field": name, "size_bytes": size, "limit_bytes": limit},
        )


def _size_bytes(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Mapping):
        return sum(_size_bytes(key) + _size_bytes(item) for key, item in value.items())
    if isinstance(value, Sequence):
        return sum(map(_size_bytes, value))
    return 8


def _refuse_numbers(tool: AnyTool, name: str, value: JsonValue) -> None:
    wrong = isinstance(value, float) and not math.isfinite(value)
    if wrong or (isinstance(value, int) and abs(value) > MAX_INTEGER):
        raise InvalidArguments(
            f"{name} is not a number that JSON can carry without loss.",
            recovery=_accepted(tool),
            details={"field": name},
        )


def _invalid(tool: AnyTool, errors: Sequence[ErrorDetails]) -> InvalidArguments:
    first = errors[0]
    field = ".".join(str(part) for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            message = f"{tool.name} takes no argument {field!r}."
        case "missing":
            message = f"{tool.name} needs the argument {field!r}."
        case _:
            message = f"{field or 'arguments'}: {first['msg']}."
    hint = _likely(tool, field) if first["type"] == "extra_forbidden" else _KINDS.get(first["type"])
    return InvalidArguments(
        message,
        recovery=(hint or "") + _accepted(tool),
        details={
            "field": field,
            "problems": [
                {"field": ".".join(str(part) for part in error["loc"]), "problem": error["msg"]}
                for error in errors[:20]
            ],
        },
    )


def _likely(tool: AnyTool, field: str) -> str:
    near = get_close_matches(field, tool.arguments.model_fields, n=1)
    return f"Perhaps {near[0]!r} is meant. " if near else ""


def _accepted(tool: AnyTool) -> str:
    names = (
        name if info.is_required() else f"{name}?"
        for name, info in tool.arguments.model_fields.items()
    )
    return f"{tool.name} takes: {', '.join(names)}."
