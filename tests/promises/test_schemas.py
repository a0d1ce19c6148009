from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from workspace_server.schema_files import schema_files
from workspace_server.tools.catalogue import CATALOGUE
from workspace_server.tools.schemas import input_schema, output_schema
from workspace_server.tools.tool import AnyTool

SCHEMAS = Path(__file__).parents[2] / "schemas"


def test_the_files_are_what_the_models_say() -> None:
    """`make schemas` writes them anew."""
    found = {
        str(file.relative_to(SCHEMAS)): file.read_text("utf-8") for file in SCHEMAS.rglob("*.json")
    }
    assert found == dict(schema_files())


@pytest.mark.parametrize("tool", CATALOGUE, ids=lambda tool: tool.name)
def test_a_tool_takes_nothing_undeclared_and_publishes_its_failures(tool: AnyTool) -> None:
    arguments, result = input_schema(tool), output_schema(tool)
    Draft202012Validator.check_schema(arguments)
    Draft202012Validator.check_schema(result)
    assert arguments["additionalProperties"] is False
    failure = {"error": {"code": "INTERNAL", "message": "m", "retryable": False}}
    Draft202012Validator(result).validate(failure)


@pytest.mark.parametrize("tool", CATALOGUE, ids=lambda tool: tool.name)
def test_a_description_is_short_and_there_is_a_title(tool: AnyTool) -> None:
    assert tool.title
    assert 0 < len(tool.description) < 2000
