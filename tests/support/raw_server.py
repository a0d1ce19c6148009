"""The server as a child process that a test may kill: JSON-RPC by hand, so replies can be lost."""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from tests.support.client import Place

PROJECT = Path(__file__).parents[2]


class RawServer:
    """One server process and the client's end of its pipes."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._next_id = 0
        self._pending = b""
        self._answers: dict[int, dict[str, Any]] = {}

    async def handshake(self) -> None:
        """Open a session in the handshake era."""
        client = {"name": "test", "version": "1"}
        parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        await self.answer_to(await self.send("initialize", parameters))

    async def send(self, method: str, parameters: dict[str, Any]) -> int:
        """Send a request and return its id; nobody has to wait for the answer."""
        self._next_id += 1
        message = {
            "jsonrpc": "2.0",
            "id": self._next_id,
            "method": method,
            "params": parameters,
        }
        await self.send_frame(message)
        return self._next_id

    async def send_call(self, tool: str, **arguments: Any) -> int:
        """Send a call of a tool."""
        return await self.send("tools/call", {"name": tool, "arguments": arguments})

    async def notify(self, method: str, parameters: dict[str, Any]) -> None:
        """Send a notification."""
        await self.send_frame({"jsonrpc": "2.0", "method": method, "params": parameters})

    async def send_frame(self, message: dict[str, Any]) -> None:
        """Send any message."""
        await self.send_text(json.dumps(message))

    async def send_text(self, frame: str) -> None:
        """Send any line."""
        assert self.process.stdin is not None
        await self.process.stdin.send(frame.encode() + b"\n")

    async def next_answer(self) -> dict[str, Any]:
        """Wait for the next message, whatever it answers."""
        return await self._receive()

    async def answer_to(self, request_id: int) -> dict[str, Any]:
        """Wait for one answer; EndOfStream if the server dies first."""
        while request_id not in self._answers:
            message = await self._receive()
            if "id" in message and "method" not in message:
                self._answers[message["id"]] = message
        return self._answers.pop(request_id)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structure, a failure's as well."""
        answer = await self.answer_to(await self.send_call(tool, **arguments))
        structure: dict[str, Any] = answer["result"]["structuredContent"]
        return structure

    async def kill(self) -> None:
        """End the server as a crash would."""
        os.kill(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    async def close_input(self) -> int:
        """Close the client's end and return the exit code."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with anyio.fail_after(15):
            return await self.process.wait()

    async def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        with anyio.fail_after(20):
            while b"\n" not in self._pending:
                self._pending += await self.process.stdout.receive()
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message


@asynccontextmanager
async def raw_server(
    place: Place, *, module: str = "workspace_server", arguments: Sequence[str] = ()
) -> AsyncIterator[RawServer]:
    """Start `python -m module [arguments] serve …` and open a session; it is killed at the end."""
    command = [sys.executable, "-m", module, *arguments, "serve", str(place.root)]
    command += ["--state-dir", str(place.state)]
    async with await anyio.open_process(command, cwd=PROJECT, stderr=None) as process:
        server = RawServer(process)
        try:
            await server.handshake()
            yield server
        finally:
            if process.returncode is None:
                process.kill()
