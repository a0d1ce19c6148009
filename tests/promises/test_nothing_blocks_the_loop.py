"""Every tool, on a gateway in this process, while any blocking call on the loop fails."""

from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from tests.support.client import update
from tests.support.gateways import gateway_at


@pytest.mark.guarantee("field-35")
async def test_no_tool_blocks_the_event_loop(tmp_path: Path) -> None:
    called = {"process_resize"}  # its terminal is the supervisor's business
    async with gateway_at(tmp_path) as server:

        async def use(tool: str, **arguments: Any) -> Any:
            called.add(tool)
            with blockbuster_ctx("workspace_server"):
                return await server.call(tool, **arguments)

        await use("workspace_info")
        await use("find", glob="*.txt")
        await use("read", path="a.txt")
        await use("apply_patch", patch=update("a.txt", "two", "zwei"), check_only=True)
        edit = {"patch": update("a.txt", "two", "zwei"), "operation_key": "k"}
        patch = await use("apply_patch", **edit)
        await use("apply_patch", **edit)
        await use("operation_status", operation_id=patch["operation_id"], detail=True)
        await use("operation_list")
        view = await use("exec_command", shell="read x; echo $x", stdin="", wait_ms=0)
        await use("process_status", process_id=view["process_id"])
        await use("process_list")
        await use("write_stdin", process_id=view["process_id"], data="hello\n")
        await use("read_process", process_id=view["process_id"], wait_ms=2000)
        view = await use("exec_command", command=["sleep", "60"], wait_ms=0)
        await use("terminate_process", process_id=view["process_id"])
    assert called == {tool.name for tool in server.gateway.tools}
