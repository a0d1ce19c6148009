"""A gateway in the test's own process, over a workspace of one file."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.supervisors import stop_supervisor
from workspace_server.app import open_gateway
from workspace_server.config import ServerConfig
from workspace_server.domain.clock import SystemClock
from workspace_server.gateway import Gateway
from workspace_server.tools.results import Reply
from workspace_server.tools.tool import Caller
from workspace_server.workspace.registry import Profile, Workspace, WorkspaceView


@dataclass(frozen=True, kw_only=True)
class InProcess:
    """Calls tools without a transport."""

    root: Path
    gateway: Gateway
    caller: Caller

    async def reply(self, tool: str, **arguments: Any) -> Reply:
        """Call a tool and return the reply as it is."""
        return await self.gateway.call(self.caller, tool, arguments)

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that must succeed, and return its structure."""
        reply = await self.reply(tool, **arguments)
        assert not reply.is_error, reply.text
        return reply.structure


@asynccontextmanager
async def gateway_at(folder: Path) -> AsyncIterator[InProcess]:
    """Open a gateway on FOLDER/repository, which holds a.txt."""
    root = folder / "repository"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    workspace = Workspace(
        workspace_id="repository", root=str(root), profile=Profile.WORKSPACE_WRITE
    )
    config = ServerConfig(state_folder=folder / "state", workspaces=(workspace,))
    caller = Caller(principal="local", view=WorkspaceView((workspace,)))
    try:
        async with open_gateway(config, dict(os.environ), SystemClock()) as gateway:
            yield InProcess(root=root, gateway=gateway, caller=caller)
    finally:
        stop_supervisor(config.state_folder)
