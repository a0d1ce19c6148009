"""The published schemas, made from the models: plain, closed, and without what only repeats."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode

from workspace_server.domain.errors import error_classes
from workspace_server.tools.tool import AnyTool

Schema: TypeAlias = dict[str, Any]  # JSON Schema is whatever pydantic says it is

_ANY_FAILURE: Schema = {
    "properties": {"error": {"type": "object", "required": ["code", "message", "retryable"]}},
    "required": ["error"],
}
_WORDS = ("description", "default", "additionalProperties")


def input_schema(tool: AnyTool) -> Schema:
    """Return the closed schema of the arguments."""
    arguments: type[BaseModel] = tool.arguments
    return _schema_of(arguments, "validation")


def output_schema(tool: AnyTool) -> Schema:
    """Return `anyOf` the result and the failure: clients check both against it.

    Every client carries all of them in its context, so they say types and no more.
    """
    success = _terse(_schema_of(tool.result, "serialization"))
    assert isinstance(success, dict)
    definitions = success.pop("$defs", {})
    schema: Schema = {"type": "object", "anyOf": [success, _ANY_FAILURE]}
    return {**schema, "$defs": definitions} if definitions else schema


def failure_schema() -> Schema:
    """Return the whole schema of the failure object, with every code."""
    text: Schema = {"type": "string"}
    return {
        "type": "object",
        "required": ["error"],
        "additionalProperties": False,
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "retryable"],
                "additionalProperties": False,
                "properties": {
                    "code": {"enum": [cls.code for cls in error_classes()]},
                    "message": text,
                    "recovery": text,
                    "retryable": {"type": "boolean"},
                    "retry_after_ms": {"type": "integer"},
                    "operation_id": text,
                    "approval_id": text,
                    "process_id": text,
                    "details": {"type": "object"},
                },
            }
        },
    }


@cache
def _schema_of(model: type[BaseModel], mode: JsonSchemaMode) -> Schema:
    plain = _plain(model.model_json_schema(mode=mode))
    assert isinstance(plain, dict)
    plain.pop("description", None)  # the docstring is for readers of the code
    return plain


def _plain(node: object) -> object:
    """Drop generated titles, and `null` as an option: what is absent is left out."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {
        name: _plain_properties(value) if name in ("properties", "$defs") else _plain(value)
        for name, value in node.items()
        if not (name == "title" and isinstance(value, str))
        and not (name == "default" and value is None)
    }
    return _without_null(kept)


def _plain_properties(properties: object) -> object:
    assert isinstance(properties, Mapping)  # its keys are names, not keywords
    return {name: _plain(value) for name, value in properties.items()}


def _terse(node: object) -> object:
    """Drop what explains a result; a list of properties keeps its names whatever they are."""
    if isinstance(node, list):
        return [_terse(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    return {
        name: {key: _terse(each) for key, each in value.items()}
        if name in ("properties", "$defs")
        else _terse(value)
        for name, value in node.items()
        if not (name in _WORDS and not isinstance(value, Mapping))
    }


def _without_null(node: Schema) -> Schema:
    options = [option for option in node.get("anyOf", []) if option != {"type": "null"}]
    if len(options) != 1:
        return {**node, "anyOf": options} if options else node
    rest = {name: value for name, value in node.items() if name != "anyOf"}
    return {**options[0], **rest}
