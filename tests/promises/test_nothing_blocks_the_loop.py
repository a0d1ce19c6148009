"""Every tool, on a gateway in this process, while any blocking call on the loop fails."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from tests.support.client import update
from tests.support.supervisors import stop_supervisor
from workspace_server.app import open_gateway
from workspace_server.config import ServerConfig
from workspace_server.domain.clock import SystemClock
from workspace_server.gateway import Gateway
from workspace_server.tools.tool import Caller
from workspace_server.workspace.registry import Profile, Workspace, WorkspaceView

KEY = {"operation_key": "k"}


@pytest.fixture
def config(tmp_path: Path) -> Iterator[ServerConfig]:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    workspace = Workspace(
        workspace_id="repository", root=str(root), profile=Profile.WORKSPACE_WRITE
    )
    config = ServerConfig(state_folder=tmp_path / "state", workspaces=(workspace,))
    yield config
    stop_supervisor(config.state_folder)


async def call(gateway: Gateway, config: ServerConfig, tool: str, **arguments: Any) -> Any:
    """Call a tool, which must succeed, with blocking calls forbidden."""
    caller = Caller(principal="local", view=WorkspaceView(config.workspaces))
    with blockbuster_ctx("workspace_server"):
        reply = await gateway.call(caller, tool, arguments)
    assert not reply.is_error, reply.text
    return reply.structure


@pytest.mark.guarantee("field-35")
async def test_no_tool_blocks_the_event_loop(config: ServerConfig) -> None:
    called = {"process_resize"}  # its terminal is the supervisor's business
    async with open_gateway(config, dict(os.environ), SystemClock()) as gateway:

        async def use(tool: str, **arguments: Any) -> Any:
            called.add(tool)
            return await call(gateway, config, tool, **arguments)

        await use("workspace_info")
        await use("find", glob="*.txt")
        await use("read", path="a.txt")
        await use("apply_patch", patch=update("a.txt", "two", "zwei"), check_only=True)
        patch = await use("apply_patch", patch=update("a.txt", "two", "zwei"), **KEY)
        await use("apply_patch", patch=update("a.txt", "two", "zwei"), **KEY)
        await use("operation_status", operation_id=patch["operation_id"], detail=True)
        await use("operation_list")
        view = await use("exec_command", shell="read x; echo $x", stdin="", wait_ms=0)
        await use("process_status", process_id=view["process_id"])
        await use("process_list")
        await use("write_stdin", process_id=view["process_id"], data="hello\n")
        await use("read_process", process_id=view["process_id"], wait_ms=2000)
        view = await use("exec_command", command=["sleep", "60"], wait_ms=0)
        await use("terminate_process", process_id=view["process_id"])
    assert called == {tool.name for tool in gateway.tools}
