"""MCP over standard input and output: bounded frames, a clean wire, an end that ends."""

import json
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import F_DUPFD_CLOEXEC, fcntl
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

MAX_FRAME_BYTES = 16 * 1024 * 1024
_READ_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The two descriptors that carry frames."""

    input: int
    output: int


@contextmanager
def standard_streams() -> Iterator[Wire]:
    """Take standard input and output for frames alone.

    Meanwhile descriptor 0 is the null device and 1 is standard error, so a child or a stray print
    can neither eat frames nor add to them.
    """
    wire = Wire(input=fcntl(0, F_DUPFD_CLOEXEC, 3), output=fcntl(1, F_DUPFD_CLOEXEC, 3))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    blocking = os.get_blocking(wire.output)
    try:
        yield wire
    finally:
        os.set_blocking(wire.output, blocking)
        os.dup2(wire.input, 0)
        os.dup2(wire.output, 1)
        os.close(wire.input)
        os.close(wire.output)


async def serve(server: Server[Any], wire: Wire) -> None:
    """Serve one client until it closes its end, in whichever protocol era it opens."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    writer = _Writer(wire.output)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_receive, wire.input, to_server, writer)
        tasks.start_soon(_send, from_server, writer)
        await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _receive(
    descriptor: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    writer: "_Writer",
) -> None:
    """Pass each frame on; answer what is no message, so that its sender need not wait."""
    async with to_server:
        async for frame in _frames(descriptor):
            parsed = _parse(frame)
            if isinstance(parsed, _Refusal):
                await writer.write(parsed.answer)
                continue
            try:
                await to_server.send(SessionMessage(parsed))
            except anyio.BrokenResourceError:  # the server has stopped listening
                return


async def _send(from_server: MemoryObjectReceiveStream[SessionMessage], writer: "_Writer") -> None:
    async with from_server:
        async for message in from_server:
            await writer.write(message.message)


class _Writer:
    """Writes whole frames in turn; one that the client does not read blocks nothing else."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = anyio.Lock()
        self._gone = False
        mode = os.fstat(descriptor).st_mode
        # A terminal's flags are shared with whoever else has it open; a pipe's end is ours.
        self._is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        if self._is_pipe:
            os.set_blocking(descriptor, False)

    async def write(self, message: JSONRPCMessage) -> None:
        frame = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        async with self._lock:
            await self._write_all(memoryview(frame))

    async def _write_all(self, rest: memoryview) -> None:
        while rest and not self._gone:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                await anyio.wait_writable(self._descriptor)
            except OSError:  # the client has gone; what it asked for is in the ledger
                self._gone = True


async def _frames(descriptor: int) -> AsyncIterator[bytes | None]:
    """Yield lines; None stands for one that exceeds the bound, which is skipped, not kept."""
    pending = bytearray()
    skipping = False
    while chunk := await _read(descriptor):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            frame, pending = bytes(pending + line), bytearray()
            if skipping or len(frame) > MAX_FRAME_BYTES:
                skipping = False
                yield None
            elif frame.strip():
                yield frame
        pending += rest
        if len(pending) > MAX_FRAME_BYTES:
            pending.clear()
            skipping = True


async def _read(descriptor: int) -> bytes:
    """Return what has arrived; empty at the end of input."""
    with suppress(PermissionError):  # a plain file is always readable, and cannot be waited for
        await anyio.wait_readable(descriptor)
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return await _read(descriptor)
    except OSError:
        return b""


@dataclass(frozen=True)
class _Refusal:
    """What is no message, as the answer to it."""

    answer: JSONRPCError


def _parse(frame: bytes | None) -> JSONRPCMessage | _Refusal:
    if frame is None:
        return _refusal(None, INVALID_REQUEST, f"The frame exceeds {MAX_FRAME_BYTES} bytes.")
    try:
        message = jsonrpc_message_adapter.validate_json(frame, by_name=False)
    except ValidationError as error:
        kind = error.errors(include_url=False, include_input=False)[0]["type"]
        if kind == "json_invalid":
            return _refusal(_id_in(frame), PARSE_ERROR, "The frame is no JSON that is taken here.")
        return _refusal(_id_in(frame), INVALID_REQUEST, "The frame is no JSON-RPC 2.0 message.")
    if isinstance(message, JSONRPCNotification) and b'"id"' in frame and "id" in _object(frame):
        return _refusal(None, INVALID_REQUEST, "The id of a request is a string or an integer.")
    return message


def _refusal(request_id: RequestId | None, code: int, message: str) -> _Refusal:
    error = ErrorData(code=code, message=message)
    return _Refusal(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def _id_in(frame: bytes) -> RequestId | None:
    """Return the id of a request that could not be taken, so that its sender need not wait."""
    request_id = _object(frame).get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return None
    return request_id


def _object(frame: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(frame)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
