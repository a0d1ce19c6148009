"""A real MCP client over real stdio, and the workspace its server serves."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

PROJECT = Path(__file__).parents[2]
ERAS = ("auto", "legacy")  # the 2026-07-28 era, and the one with a handshake


@dataclass(frozen=True, kw_only=True)
class Place:
    """A workspace and the state folder of its server."""

    root: Path
    state: Path

    def argv(self, *options: str, module: Sequence[str] = ("workspace_server",)) -> list[str]:
        """Return the command line of its server: `python -m MODULE … serve ROOT …`."""
        serve = ["serve", str(self.root), "--state-dir", str(self.state)]
        return [sys.executable, "-m", *module, *serve, *options]


class Agent:
    """Calls tools and takes the answers apart."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def reply(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool and return the reply as it is."""
        return await self.client.call_tool(tool, arguments)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed, and return its structure."""
        reply = await self.reply(tool, **arguments)
        assert not reply.is_error, reply.structured_content
        assert reply.structured_content is not None
        return dict(reply.structured_content)

    async def fails(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must fail, and return the error."""
        reply = await self.reply(tool, **arguments)
        assert reply.is_error, reply.structured_content
        assert reply.structured_content is not None
        error: dict[str, Any] = reply.structured_content["error"]
        return error


@asynccontextmanager
async def agent_at(
    place: Place,
    *options: str,
    era: str = "auto",
    module: Sequence[str] = ("workspace_server",),
) -> AsyncIterator[Agent]:
    """Start the server of a place and connect to it."""
    program, *arguments = place.argv(*options, module=module)
    server = StdioServerParameters(
        command=program, args=arguments, env=dict(os.environ), cwd=PROJECT
    )
    async with Client(server, mode=era) as client:
        yield Agent(client)


def update(path: str, old: str, new: str) -> str:
    """Return a V4A patch that replaces one line."""
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
