"""A coding agent's hands: a real MCP client, on a server over real pipes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from mcp import Client
from mcp.client.stdio import stdio_client

from demo.narrator import Deviation, expect
from demo.server import Server
from workspace_server.domain.json_value import JsonObject, JsonValue

END_SECONDS = 60.0
POLL_MS = 2_000
READ_BYTES = 32 * 1024


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The structured content of a tool result."""

    content: JsonObject

    def field(self, *names: str) -> JsonValue:
        """Return a value, or None where a name leads nowhere."""
        value: JsonValue = self.content
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def text(self, *names: str) -> str:
        """Return a field that must be text."""
        value = self.field(*names)
        if not isinstance(value, str):
            raise Deviation(f"{'.'.join(names)}: expected text, found {value!r}")
        return value

    def number(self, *names: str) -> int:
        """Return a field that must be a whole number."""
        value = self.field(*names)
        if not isinstance(value, int):
            raise Deviation(f"{'.'.join(names)}: expected a number, found {value!r}")
        return value

    def items(self, *names: str) -> list[JsonValue]:
        """Return a field that must be a list."""
        value = self.field(*names)
        if not isinstance(value, list):
            raise Deviation(f"{'.'.join(names)}: expected a list, found {value!r}")
        return value


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a process printed from some cursor on."""

    text: str
    cursor: int
    total_bytes: int


class Agent:
    """Calls tools and insists on the kind of answer it was promised."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def call(self, tool: str, /, **arguments: JsonValue) -> Answer:
        """Return the answer of a call that must succeed."""
        is_error, answer = await self._ask(tool, arguments)
        if is_error:
            raise Deviation(f"{tool} failed: {answer.content}")
        return answer

    async def refusal(self, code: str, tool: str, /, **arguments: JsonValue) -> Answer:
        """Return the failure of a call that must fail with `code`."""
        is_error, answer = await self._ask(tool, arguments)
        if not is_error:
            raise Deviation(f"{tool} should have been refused, and answered {answer.content}")
        expect(answer.field("error", "code"), code, f"the code of {tool}'s failure")
        return answer

    async def wait_end(self, process_id: str) -> Answer:
        """Poll until the process has ended; return its last view."""
        with anyio.fail_after(END_SECONDS):
            while True:
                view = await self.call("process_status", process_id=process_id, wait_ms=POLL_MS)
                if view.field("state") == "exited":
                    return view

    async def read_all(self, process_id: str, *, cursor: int) -> Output:
        """Return all that a process printed from `cursor` to the end of its output."""
        chunks = []
        with anyio.fail_after(END_SECONDS):
            while True:
                page = await self._page(process_id, cursor, wait_ms=POLL_MS)
                chunks.append(page.text("chunk"))
                cursor = page.number("cursor")
                if page.field("eof"):
                    total_bytes = page.number("output_total")
                    return Output(text="".join(chunks), cursor=cursor, total_bytes=total_bytes)

    async def read_until(self, process_id: str, *, total_bytes: int) -> Output:
        """Return what a process printed from the start, once that is at least so much."""
        chunks, cursor = [], 0
        with anyio.fail_after(END_SECONDS):
            while cursor < total_bytes:
                page = await self._page(process_id, cursor, wait_ms=POLL_MS)
                chunks.append(page.text("chunk"))
                cursor = page.number("cursor")
        return Output(text="".join(chunks), cursor=cursor, total_bytes=cursor)

    async def _page(self, process_id: str, cursor: int, *, wait_ms: int) -> Answer:
        return await self.call(
            "read_process",
            process_id=process_id,
            cursor=cursor,
            limit=READ_BYTES,
            wait_ms=wait_ms,
        )

    async def _ask(self, tool: str, arguments: JsonObject) -> tuple[bool, Answer]:
        result = await self._client.call_tool(tool, dict(arguments))
        return bool(result.is_error), Answer(content=result.structured_content or {})


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Agent]:
    """Start the server and an agent on it; both are gone when the block is left."""
    with server.log.open("a", encoding="utf-8") as log:
        async with Client(stdio_client(server.parameters, errlog=log)) as client:
            yield Agent(client)
