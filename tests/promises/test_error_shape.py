import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from mcp_types import ListToolsResult

from workspace_server.domain.errors import (
    FileOperationFailed,
    Internal,
    VersionConflict,
    WorkspaceServerError,
    error_classes,
)
from workspace_server.domain.failure import failure_object, stored_failure
from workspace_server.domain.json_value import JsonValue
from workspace_server.tools.catalogue import CATALOGUE, CORE
from workspace_server.tools.results import MAX_FAILURE_BYTES, failure
from workspace_server.tools.schemas import failure_schema
from workspace_server.transports.mcp_server import INSTRUCTIONS, _published

PACKAGE = Path(__file__).parents[2] / "workspace_server"
TOOLS_LIST_BYTES = 24_000
LONG_TEXTS: dict[str, JsonValue] = {
    "one long text": "x" * 100_000,
    "many lines of text": ["a line of the file that is nothing special"] * 1000,
    "wide characters": "\N{GRINNING FACE}" * 50_000,
}


@pytest.mark.guarantee("failure-shape")
@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.code)
def test_a_failure_has_the_published_shape(cls: type[WorkspaceServerError]) -> None:
    full = cls(
        "what went wrong",
        recovery="what to do",
        details={"path": "a.txt"},
        operation_id="op-1",
        process_id="proc-1",
        approval_id="appr-1",
        retry_after_ms=500,
    )
    validator = Draft202012Validator(failure_schema())
    validator.validate(dict(failure_object(full)))
    validator.validate(dict(failure_object(cls("what went wrong"))))


@pytest.mark.guarantee("failure-shape")
def test_structure_and_text_of_a_failure_are_the_same_object() -> None:
    reply = failure(VersionConflict("changed", details={"conflicts": [{"path": "ä.txt"}]}))
    assert reply.is_error
    assert [json.loads(text) for text in reply.text] == [reply.structure]


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.code)
def test_a_failure_read_back_from_the_ledger_is_the_failure(
    cls: type[WorkspaceServerError],
) -> None:
    told = failure_object(cls("what", recovery="do this", details={"n": 1}, operation_id="op-1"))
    assert failure_object(stored_failure(told)) == told


@pytest.mark.guarantee("failure-says-what-to-do")
def test_every_failure_but_a_defect_is_made_with_a_recovery() -> None:
    bare = {cls.__name__ for cls in error_classes() if cls.default_recovery is None} - {"Internal"}
    without = [
        f"{file.relative_to(PACKAGE)}: {ast.unparse(call)}"
        for file in PACKAGE.rglob("*.py")
        for call in _calls(ast.parse(file.read_text("utf-8")), bare)
        if "recovery" not in {keyword.arg for keyword in call.keywords}
    ]
    assert without == []


@pytest.mark.guarantee("failure-says-what-to-do")
def test_a_defect_alone_says_nothing_of_what_to_do() -> None:
    assert "recovery" not in failure_object(Internal("it failed"))["error"]  # type: ignore[operator]


@pytest.mark.guarantee("failure-bounded")
@pytest.mark.parametrize("value", LONG_TEXTS.values(), ids=LONG_TEXTS.keys())
def test_details_give_way_to_the_bound(value: JsonValue) -> None:
    told = _sent(VersionConflict("changed", details={"path": "a.txt", "found": value}))
    assert told["details"] == {"path": "a.txt", "shortened": True}
    assert (told["code"], told["message"]) == ("VERSION_CONFLICT", "changed")


@pytest.mark.guarantee("failure-bounded")
def test_details_of_many_parts_give_way_to_the_bound() -> None:
    parts: dict[str, JsonValue] = {f"part {number}": "x" * 900 for number in range(100)}
    assert _sent(VersionConflict("changed", details=parts))["code"] == "VERSION_CONFLICT"


@pytest.mark.guarantee("failure-bounded")
def test_a_message_gives_way_to_the_bound() -> None:
    told = _sent(FileOperationFailed("y" * 100_000, operation_id="op-1"))
    assert told["operation_id"] == "op-1"
    assert str(told["message"]).startswith("yyy")


@pytest.mark.guarantee("failure-bounded")
def test_a_recovery_gives_way_to_the_bound() -> None:
    told = _sent(VersionConflict("changed", recovery="Do this. " + "z" * 100_000))
    assert str(told["recovery"]).startswith("Do this. ")


@pytest.mark.guarantee("texts-bounded")
def test_what_a_model_reads_first_is_short() -> None:
    assert 0 < len(INSTRUCTIONS) < 2000
    assert {
        tool.name: len(tool.description) for tool in CATALOGUE if len(tool.description) >= 2000
    } == {}


@pytest.mark.guarantee("texts-bounded")
def test_the_list_of_tools_is_short() -> None:
    listed = ListToolsResult(tools=[_published(tool) for tool in CORE])
    frame = listed.model_dump_json(by_alias=True, exclude_none=True)
    assert len(frame.encode()) <= TOOLS_LIST_BYTES


def _sent(error: WorkspaceServerError) -> dict[str, JsonValue]:
    """Return the failure as it is sent, which must keep its bound and its shape."""
    reply = failure(error)
    assert sum(len(text.encode()) for text in reply.text) <= MAX_FAILURE_BYTES
    Draft202012Validator(failure_schema()).validate(dict(reply.structure))
    told = reply.structure["error"]
    assert isinstance(told, dict)
    return told


def _calls(tree: ast.Module, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node
