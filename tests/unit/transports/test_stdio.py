import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from workspace_server.transports import stdio
from workspace_server.transports.stdio import Wire, serve

PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def echo(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
    text = (params.arguments or {}).get("text", "")
    return CallToolResult(content=[TextContent(type="text", text=text)])


class Peer:
    """The client's end of the wire."""

    def __init__(self, write_to: int, read_from: int) -> None:
        self._write_to = write_to
        self._read_from = read_from
        self._pending = b""

    async def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            frame = message if isinstance(message, bytes) else json.dumps(message).encode()
            rest = memoryview(frame + b"\n")
            while rest:
                await anyio.wait_writable(self._write_to)
                rest = rest[os.write(self._write_to, rest[:4096]) :]

    async def receive(self) -> dict[str, Any]:
        with anyio.fail_after(10):
            while b"\n" not in self._pending:
                await anyio.wait_readable(self._read_from)
                self._pending += os.read(self._read_from, 65536)
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        os.close(self._write_to)


@pytest.fixture
def pipes() -> Iterator[tuple[Wire, Peer]]:
    """Two pipes: the server's wire and the client's end of it."""
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    yield Wire(input=to_server, output=from_server), Peer(from_client, to_client)
    for descriptor in (to_server, to_client, from_server):
        os.close(descriptor)


@asynccontextmanager
async def served(wire: Wire) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve, Server("test", on_call_tool=echo), wire)
        yield


async def test_requests_are_answered_until_the_client_closes(pipes: tuple[Wire, Peer]) -> None:
    wire, peer = pipes
    with anyio.fail_after(10):
        async with served(wire):
            await peer.send(INITIALIZE, PING)
            answers = [await peer.receive(), await peer.receive()]
            peer.close()
    assert [answer["id"] for answer in answers] == [1, 2]


@pytest.mark.parametrize(
    ("frame", "code"), [(b"{nonsense", -32700), (b"[1]", -32600), (b'{"jsonrpc":"2.0"}', -32600)]
)
@pytest.mark.guarantee("wire-bounded")
async def test_what_is_no_message_is_answered_and_the_session_goes_on(
    pipes: tuple[Wire, Peer], frame: bytes, code: int
) -> None:
    wire, peer = pipes
    async with served(wire):
        await peer.send(INITIALIZE, frame, PING)
        answers = [await peer.receive() for _ in range(3)]
        peer.close()
    refusal = next(answer for answer in answers if answer["id"] is None)
    assert refusal["error"]["code"] == code
    assert any(answer["id"] == 2 for answer in answers)


@pytest.mark.guarantee("wire-bounded")
async def test_an_oversized_frame_is_refused_and_not_kept(
    pipes: tuple[Wire, Peer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "MAX_FRAME_BYTES", 1000)
    wire, peer = pipes
    async with served(wire):
        await peer.send(INITIALIZE, b"x" * 500_000, PING)
        answers = [await peer.receive() for _ in range(3)]
        peer.close()
    refusal = next(answer for answer in answers if answer["id"] is None)
    assert "1000 bytes" in refusal["error"]["message"]
    assert any(answer["id"] == 2 for answer in answers)


async def test_a_large_answer_arrives_whole_though_the_client_reads_late(
    pipes: tuple[Wire, Peer],
) -> None:
    wire, peer = pipes
    text = "x" * 1_000_000
    call = {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": text}},
    }
    async with served(wire):
        await peer.send(INITIALIZE, call, PING)
        answers = {(answer := await peer.receive())["id"]: answer for _ in range(3)}
        peer.close()
    assert answers[3]["result"]["content"][0]["text"] == text


async def test_a_client_that_vanished_ends_the_serving(pipes: tuple[Wire, Peer]) -> None:
    wire, peer = pipes
    with anyio.fail_after(10):
        async with served(wire):
            await peer.send(INITIALIZE)
            await peer.receive()
            await peer.send(b"garbage" * 10)
            peer.close()
