"""A supervisor for one test, and the conversation with it."""

import base64
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from sandbox import SpoolReader, Stream, connect_or_start

View: TypeAlias = dict[str, Any]
Found = Callable[[View], bool]

DEADLINE_SECONDS = 15.0
GONE_SECONDS = 5.0


class Connection:
    """One client's connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(DEADLINE_SECONDS)
        self.socket = connection
        self._lines = connection.makefile("rb")
        self._numbers = count(1)
        self.events: list[View] = []

    def ask(self, method: str, **parameters: object) -> View:
        """Return the whole reply, an error included; keep the events that come before it."""
        number = next(self._numbers)
        line = json.dumps({"id": number, "method": method, "params": parameters})
        self.socket.sendall(line.encode() + b"\n")
        while True:
            message = self.hear()
            if message.get("id") == number:
                return message

    def hear(self) -> View:
        """Return the next message, noting it if it is an event."""
        line = self._lines.readline()
        if not line:
            raise ConnectionError("the supervisor closed the connection")
        message: View = json.loads(line)
        if "event" in message:
            self.events.append(message["process"])
        return message

    def until(self, found: Found) -> View:
        """Return the first view heard of, now or earlier, that `found` accepts."""
        for view in self.events:
            if found(view):
                return view
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            message = self.hear()
            if "event" in message and found(message["process"]):
                return self.events[-1]
        raise TimeoutError("no such view came")

    def close(self) -> None:
        self._lines.close()
        self.socket.close()


class Session:
    """A supervisor in `folder` and one client of it; at the end both are gone."""

    def __init__(self, folder: Path, *, idle_exit_seconds: float = 60.0) -> None:
        self.folder = folder
        self._idle_exit_seconds = idle_exit_seconds
        self._numbers = count(1)
        self.client = self.connect()
        self.pid: int = self.client.ask("hello")["result"]["pid"]

    def connect(self) -> Connection:
        """Return one more connection, starting a supervisor if none is there."""
        return Connection(connect_or_start(self.folder, idle_exit_seconds=self._idle_exit_seconds))

    def order(self, *argv: str, **fields: object) -> View:
        """Return the parameters of a dispatch under fresh ids."""
        number = next(self._numbers)
        return {
            "operation_id": f"op-{number}",
            "process_id": f"proc-{number}",
            "group": "group",
            "argv": argv,
            "cwd": "/",
            "env": {"PATH": os.environ["PATH"]},
            "stdin": None,
            "tty": None,
            "timeout_ms": None,
            "orphan_grace_ms": None,
            **fields,
        }

    def start(self, *argv: str, **fields: object) -> str:
        """Dispatch a command and return its process id."""
        reply = self.client.ask("dispatch", **self.order(*argv, **fields))
        assert "error" not in reply, reply
        process_id: str = reply["result"]["process"]["process_id"]
        return process_id

    def run(self, *argv: str, **fields: object) -> View:
        """Run a command to its end, and return its first view that says exited."""
        return self.exited(self.start(*argv, **fields))

    def sh(self, script: str, **fields: object) -> View:
        """Run a shell script to its end."""
        return self.run("sh", "-c", script, **fields)

    def exited(self, process_id: str) -> View:
        """Wait for a command's end."""
        return self.until(process_id, lambda view: view["state"] == "exited")

    def ended(self, process_id: str) -> View:
        """Wait until a command has exited and its ending, if one is under way, is over."""
        return self.until(process_id, lambda view: view["state"] == "exited" and not view["ending"])

    def until(self, process_id: str, found: Found) -> View:
        """Wait for a view of one command."""
        return self.client.until(lambda view: view["process_id"] == process_id and found(view))

    def printed(self, process_id: str, text: bytes) -> None:
        """Wait until the command has printed `text`."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while text not in self.output(process_id):
            assert time.monotonic() < deadline, self.output(process_id)
            if select.select([self.client.socket], [], [], 0.01)[0]:
                self.client.hear()

    def output(self, process_id: str, stream: Stream = Stream.MERGED) -> bytes:
        """Return all that a command printed so far."""
        reader = SpoolReader(self.folder / "processes" / process_id / "output")
        return reader.read(stream, 0, 2**24).data

    def write(
        self, process_id: str, data: bytes, *, eof: bool = False, offset: int | None = None
    ) -> View:
        """Feed a command and return the whole reply."""
        text = base64.b64encode(data).decode()
        return self.client.ask("write", process_id=process_id, data=text, eof=eof, offset=offset)

    def terminate(
        self, process_id: str, number: int = signal.SIGTERM, grace_ms: int = 5000
    ) -> View:
        """Have a command ended and return the whole reply."""
        return self.client.ask(
            "terminate", process_id=process_id, signal=number, grace_ms=grace_ms, reason="asked"
        )

    def lookup(self, operation_id: str, *, fence: bool = False) -> View | None:
        """Return the view of an operation's command."""
        reply = self.client.ask("lookup", operation_id=operation_id, fence=fence)
        view: View | None = reply["result"]["process"]
        return view

    def kill_supervisor(self) -> None:
        """End the supervisor as a crash would, and return when it is gone."""
        os.kill(self.pid, signal.SIGKILL)
        wait_until_gone(self.pid)
        self.client.close()

    def come_back(self) -> None:
        """Connect again, to whichever supervisor is there then."""
        self.client.close()
        self.client = self.connect()
        self.pid = self.client.ask("hello")["result"]["pid"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.come_back()
        self.client.ask("stop")
        self.client.close()
        wait_until_gone(self.pid)


def stdin(data: bytes = b"", *, keep_open: bool = False) -> View:
    """Return what an order says of a command's input."""
    return {"data": base64.b64encode(data).decode(), "keep_open": keep_open}


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until_gone(pid: int) -> None:
    """Return when no process of that number runs; fail after a while."""
    wait_until(lambda: not is_alive(pid))


def wait_until(is_so: Callable[[], bool], seconds: float = GONE_SECONDS) -> None:
    """Return as soon as `is_so`; fail after a while."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.005)


def pid_in(file: Path) -> int:
    """Return the pid that a command wrote to a file, as soon as it has."""
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())
