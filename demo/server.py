"""The server of the show: how it is started, killed, looked at and cleared away."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mcp import StdioServerParameters

from tests.support.supervisors import stop_supervisor

PROC = Path("/proc")
LEAVE_SECONDS = 5.0
LOOK_SECONDS = 0.01
# Leaves its process id behind, then becomes the server: the client's library keeps it to itself.
START = 'echo $$ > "$0"; exec "$@"'


class Server:
    """One state folder, and the server processes that own it in turn."""

    def __init__(self, *, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._state = folder / "state"
        self._pid_file = folder / "server.pid"
        self.log = folder / "server.log"

    @property
    def parameters(self) -> StdioServerParameters:
        """What a client starts."""
        serve = ["serve", str(self._root), "--in-process", "--state-dir", str(self._state)]
        return StdioServerParameters(
            command="/bin/sh",
            args=["-c", START, str(self._pid_file), *PROGRAM, *serve],
        )

    def kill(self) -> None:
        """End the running server as a crash would: at once, with no chance to tidy up."""
        os.kill(int(self._pid_file.read_text()), signal.SIGKILL)

    def operator(self, *words: str) -> str:
        """Run a command of the operator's; return what it prints."""
        command = [*PROGRAM, *words, "--state-dir", str(self._state)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def stop(self) -> None:
        """End the supervisor, which outlives every server, and what still runs under it."""
        stop_supervisor(self._state)

    def leftovers(self) -> Sequence[int]:
        """Return the processes that still name our folder, once they had time to leave."""
        deadline = time.monotonic() + LEAVE_SECONDS
        while (remaining := self._processes()) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        return remaining

    def _processes(self) -> Sequence[int]:
        mark = os.fsencode(self._folder)
        return [pid for pid in map(int, filter(str.isdigit, os.listdir(PROC))) if named(pid, mark)]


PROGRAM = (sys.executable, "-m", "workspace_server")


def named(pid: int, mark: bytes) -> bool:
    """Whether the command line of a process, other than this one, holds `mark`."""
    try:
        return pid != os.getpid() and mark in (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False  # it has just ended
