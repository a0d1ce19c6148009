"""One connection to the supervisor: frames, and replies matched to their requests."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import anyio
from anyio.abc import SocketStream

from workspace_server.process.supervisor_messages import Message

REPLY_SECONDS = 15.0
_READ_BYTES = 256 * 1024


class SupervisorLost(Exception):
    """The connection ended, or none could be made; what was asked may or may not be done."""


class SupervisorRefused(Exception):
    """The supervisor did not do it; `kind` is the protocol's word for why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass
class _Pending:
    answered: anyio.Event = field(default_factory=anyio.Event)
    reply: Message | None = None  # None when answered: the connection ended first


class Wire:
    """Requests of many tasks over one socket."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._numbers = count(1)
        self._pending: dict[int, _Pending] = {}
        self._sending = anyio.Lock()
        self._is_open = True

    @classmethod
    async def over(cls, connection: socket.socket) -> "Wire":
        """Take a connected socket over."""
        return cls(await anyio.abc.UNIXSocketStream.from_socket(connection))

    async def request(self, method: str, parameters: Message) -> Message:
        """Return the result; raise SupervisorRefused, or SupervisorLost if no reply comes."""
        number = next(self._numbers)
        pending = self._pending[number] = _Pending()
        try:
            with anyio.move_on_after(REPLY_SECONDS):  # a stopped supervisor is as good as none
                await self._send({"id": number, "method": method, "params": parameters})
                await pending.answered.wait()
        finally:
            del self._pending[number]
        if pending.reply is None:
            raise SupervisorLost(f"no reply to {method}")
        if "error" in pending.reply:
            error = pending.reply["error"]
            raise SupervisorRefused(error["kind"], error["message"])
        result: Message = pending.reply["result"]
        return result

    async def listen(self, heard: Callable[[Message], object]) -> None:
        """Take replies and pass changes on, until the connection ends."""
        received = bytearray()
        try:
            while True:
                received += await self._stream.receive(_READ_BYTES)
                *lines, rest = received.split(b"\n")
                received = bytearray(rest)
                for line in lines:
                    self._take(json.loads(line), heard)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self._give_up()

    async def close(self) -> None:
        """End the connection; who waits for a reply learns that none will come."""
        self._give_up()
        await self._stream.aclose()

    def _take(self, message: Message, heard: Callable[[Message], object]) -> None:
        if "event" in message:
            heard(message["process"])
        elif (pending := self._pending.get(message["id"])) is not None:
            pending.reply = message
            pending.answered.set()

    async def _send(self, message: Message) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._sending:
            if not self._is_open:
                raise SupervisorLost("the connection has ended")
            try:
                # A line cut short by a cancelled caller would spoil the next one.
                with anyio.CancelScope(shield=True):
                    await self._stream.send(line)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise SupervisorLost("the connection ended while sending") from error

    def _give_up(self) -> None:
        self._is_open = False
        for pending in self._pending.values():
            pending.answered.set()
