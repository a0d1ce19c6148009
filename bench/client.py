"""A thin MCP client over pipes, so that what is measured is the server's time alone."""

import json
import os
import select
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workspace_server.domain.json_value import JsonObject, JsonValue

PROTOCOL_VERSION = "2025-11-25"  # the handshake era: every client there is speaks it
ANSWER_SECONDS = 60.0
LEAVE_SECONDS = 10.0
PIPE_BYTES = 1 << 16


class ServerFailed(Exception):
    """The server ended, stayed silent too long, or answered with an error."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The result of a request and the moment its last byte was there."""

    result: JsonObject
    arrived_ns: int

    @property
    def text(self) -> str:
        """The text blocks of a tool result, joined."""
        blocks = self.result.get("content")
        assert isinstance(blocks, list)
        return "".join(str(block.get("text", "")) for block in blocks)

    def field(self, *names: str) -> JsonValue:
        """Return a value of the structured content, or None where a name leads nowhere."""
        value: JsonValue = self.result.get("structuredContent")
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value


class PipeClient:
    """One server process, asked one thing at a time."""

    def __init__(self, command: Sequence[str], *, log: Path) -> None:
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, bufsize=0
            )
        self._log = log
        self._received = bytearray()
        self._last_id = 0

    @property
    def pid(self) -> int:
        """The process that was started."""
        return self._process.pid

    def introduce(self) -> None:
        """Shake hands; the server serves from here on."""
        self.request(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "capabilities": {},
                "clientInfo": {"name": "workspace-server-bench", "version": "1"},
            },
        )
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: JsonObject) -> Reply:
        """Send one request and wait for its answer; raise ServerFailed if that is an error."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            line = self._wait_line(deadline)
            arrived_ns = time.perf_counter_ns()
            message = json.loads(line)
            if message.get("id") != self._last_id or "method" in message:
                continue  # a notification, or a request of the server's own
            if "error" in message:
                raise ServerFailed(f"{method}: {message['error']}")
            return Reply(result=message["result"], arrived_ns=arrived_ns)

    def close(self) -> None:
        """Let the server leave as a client does, by closing its input; insist if it stays."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _send(self, message: JsonObject) -> None:
        assert self._process.stdin is not None
        frame = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")) + "\n"
        unsent = memoryview(frame.encode())
        while unsent:
            unsent = unsent[os.write(self._process.stdin.fileno(), unsent) :]

    def _wait_line(self, deadline: float) -> bytes:
        """Return the next line of the server, without its newline."""
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            self._received += self._wait_bytes(deadline)
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _wait_bytes(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        stdout = self._process.stdout.fileno()
        if not select.select([stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise ServerFailed(f"no answer within {ANSWER_SECONDS:.0f} s")
        if not (received := os.read(stdout, PIPE_BYTES)):
            raise ServerFailed(f"the server ended; its last words:\n{self._last_words()}")
        return received

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])
