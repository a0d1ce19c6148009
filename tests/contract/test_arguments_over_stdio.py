import pytest
from mcp import MCPError

from tests.contract.conftest import Connect
from tests.support.client import Place


@pytest.mark.guarantee("arguments-closed")
async def test_an_undeclared_argument_is_refused_naming_the_likely_one(connect: Connect) -> None:
    async with connect() as agent:
        error = await agent.fails("read", path="a.txt", start_lin=1)
    assert error["code"] == "INVALID_ARGUMENTS"
    assert error["details"]["field"] == "start_lin"
    assert "start_line" in error["recovery"]


@pytest.mark.guarantee("arguments-closed")
async def test_a_missing_and_a_mistyped_argument_are_refused(connect: Connect) -> None:
    async with connect() as agent:
        missing = await agent.fails("read")
        mistyped = await agent.fails("read", path="a.txt", start_line=1.5)
    assert (missing["code"], missing["details"]["field"]) == ("INVALID_ARGUMENTS", "path")
    assert (mistyped["code"], mistyped["details"]["field"]) == ("INVALID_ARGUMENTS", "start_line")


async def test_json_in_a_string_is_taken_where_no_string_is_declared(connect: Connect) -> None:
    async with connect() as agent:
        window = await agent.call("read", path="a.txt", start_line="2", line_numbers="false")
        view = await agent.call("exec_command", command='["echo", "[1]"]')
    assert window["start_line"] == 2
    assert view["output"] == "[1]\n"


async def test_a_declared_string_is_never_parsed(connect: Connect, place: Place) -> None:
    (place.root / "[1]").write_text("bracketed\n")
    async with connect() as agent:
        window = await agent.call("read", path="[1]")
    assert window["content"] == "bracketed\n"


async def test_an_unknown_tool_is_a_protocol_error(connect: Connect) -> None:
    async with connect() as agent:
        with pytest.raises(MCPError, match="Unknown tool"):
            await agent.reply("no_such_tool")
        assert await agent.call("workspace_info")


async def test_an_oversized_argument_names_both_sizes(connect: Connect) -> None:
    async with connect() as agent:
        error = await agent.fails("read", path="x" * 300_000)
    assert error["code"] == "INPUT_TOO_LARGE"
    assert error["details"]["size_bytes"] == 300_000


async def test_an_unknown_workspace_is_not_found(connect: Connect) -> None:
    async with connect() as agent:
        error = await agent.fails("read", path="a.txt", workspace_id="other")
    assert error["code"] == "WORKSPACE_NOT_FOUND"


@pytest.mark.guarantee("files-read-only-profile")
async def test_a_read_only_workspace_refuses_changes_and_commands(connect: Connect) -> None:
    async with connect("--read-only") as agent:
        patch = await agent.fails(
            "apply_patch",
            patch="*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch\n",
        )
        command = await agent.fails("exec_command", command=["true"])
        listed = await agent.call("operation_list")
    assert {patch["code"], command["code"]} == {"UNAUTHORIZED"}
    assert listed["operations"] == []
