"""The supervisor's socket: requests in, results and changes out; a slow client delays no other."""

import json
import os
import socket
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox.supervisor.address import SOCKET_NAME
from sandbox.supervisor.loop import READ, WRITE, Loop
from sandbox.supervisor.order import BadRequest
from sandbox.supervisor.service import Refused
from sandbox.supervisor.view import View

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_UNSENT_BYTES = 4 * 1024 * 1024  # beyond it changes are kept per command, the last one only


class Clients:
    """The listening socket and its connections."""

    def __init__(
        self,
        loop: Loop,
        folder: Path,
        *,
        handle: Callable[[str, dict[str, Any]], View],
        present: Callable[[bool], None],
    ) -> None:
        self._loop = loop
        self._folder = folder
        self._handle = handle
        self._present = present
        self._connections: set[_Connection] = set()
        self._listener: socket.socket | None = None

    @property
    def any_connected(self) -> bool:
        """Whether a client is there."""
        return bool(self._connections)

    def tell(self, view: View) -> None:
        """Send a changed view to every client."""
        for connection in list(self._connections):
            connection.tell(view)

    def listen(self) -> None:
        """Take clients."""
        self._listener = _listen(self._folder)
        self._loop.watch(self._listener.fileno(), READ, self._accept)

    def stop_listening(self) -> bool:
        """Take no more clients but those that have come already; tell whether there are any."""
        if self._listener is not None:
            (self._folder / SOCKET_NAME).unlink(missing_ok=True)
            while self._accept():
                pass
            self._loop.forget(self._listener.fileno())
            self._listener.close()
            self._listener = None
        return bool(self._connections)

    def close(self) -> None:
        """Take no more clients, and leave those there are."""
        self.stop_listening()
        for connection in list(self._connections):
            connection.close()

    def _accept(self) -> bool:
        """Take one client; tell whether one was there."""
        assert self._listener is not None
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):  # it may have gone again
            return False
        accepted.setblocking(False)
        self._connections.add(
            _Connection(self._loop, accepted, handle=self._handle, closed=self._left)
        )
        self._present(True)
        return True

    def _left(self, connection: "_Connection") -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._present(False)


class _Connection:
    def __init__(
        self,
        loop: Loop,
        accepted: socket.socket,
        *,
        handle: Callable[[str, dict[str, Any]], View],
        closed: Callable[["_Connection"], None],
    ) -> None:
        self._loop = loop
        self._socket = accepted
        self._handle = handle
        self._closed = closed
        self._received = bytearray()
        self._unsent = bytearray()
        self._untold: dict[str, View] = {}
        self._is_open = True
        loop.watch(accepted.fileno(), READ, self._ready)

    def tell(self, view: View) -> None:
        if len(self._unsent) > MAX_UNSENT_BYTES:
            self._untold[view["process_id"]] = view
        else:
            self._send({"event": "changed", "process": view})

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.forget(self._socket.fileno())
            self._socket.close()
            self._closed(self)

    def _ready(self) -> None:
        """Read and write what is possible now."""
        self._flush()
        try:
            data = self._socket.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._received += data
        self._take_lines()
        if len(self._received) > MAX_LINE_BYTES:
            self.close()

    def _take_lines(self) -> None:
        while self._is_open and (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self._answer(line)

    def _answer(self, line: bytes) -> None:
        number = None
        try:
            request = json.loads(line)
            number = request["id"]
            self._send({"id": number, "result": self._handle(request["method"], request["params"])})
        except Refused as refused:
            error = {"kind": refused.kind, "message": str(refused), **refused.facts}
            self._send({"id": number, "error": error})
        except (BadRequest, ValueError, KeyError, TypeError) as error:
            self._send({"id": number, "error": {"kind": "bad_request", "message": str(error)}})
        except Exception:  # a defect of ours: the client must not wait for ever
            traceback.print_exc()
            self._send({"id": number, "error": {"kind": "internal", "message": "see its log"}})

    def _send(self, message: dict[str, Any]) -> None:
        if self._is_open:
            self._unsent += json.dumps(message, separators=(",", ":")).encode() + b"\n"
            self._flush()

    def _flush(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            self._loop.watch(self._socket.fileno(), READ | WRITE, self._ready)
            return
        except OSError:
            self.close()
            return
        if self._is_open:
            self._loop.watch(self._socket.fileno(), READ, self._ready)
        while self._untold and not self._unsent:
            _, view = self._untold.popitem()
            self.tell(view)


def _listen(folder: Path) -> socket.socket:
    """Listen in `folder`, however long its path is: a socket's address holds 107 bytes."""
    (folder / SOCKET_NAME).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{descriptor}/{SOCKET_NAME}")
    finally:
        os.close(descriptor)
    (folder / SOCKET_NAME).chmod(0o600)
    listener.listen(64)
    listener.setblocking(False)
    return listener
