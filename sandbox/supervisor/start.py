"""Reaching the supervisor of a folder, and starting it where none is."""

import fcntl
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from sandbox.errors import SupervisorUnavailable
from sandbox.supervisor.address import SOCKET_NAME

START_SECONDS = 10.0
IDLE_EXIT_SECONDS = 60.0
_PROGRAM = (sys.executable, "-I", "-m", "sandbox.supervisor")


def connect(folder: Path) -> socket.socket | None:
    """Return a connection to the supervisor of `folder`; None if there is none."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(f"/proc/self/fd/{descriptor}/{SOCKET_NAME}")
    except OSError:
        connection.close()
        return None
    finally:
        os.close(descriptor)
    return connection


def connect_or_start(
    folder: Path, *, idle_exit_seconds: float = IDLE_EXIT_SECONDS
) -> socket.socket:
    """Return a connection to the supervisor of `folder`, which is started if there is none.

    Blocks for at most about 10 seconds. Raises SupervisorUnavailable.
    """
    connection = connect(folder)
    if connection is not None:
        return connection
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (folder / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return connect(folder) or _start(folder, idle_exit_seconds)
    except OSError as error:
        raise SupervisorUnavailable(f"{folder}: {error}") from error


def _start(folder: Path, idle_exit_seconds: float) -> socket.socket:
    with (folder / "log").open("ab") as log:
        started = subprocess.Popen(
            [*_PROGRAM, str(folder), "--idle-exit-seconds", str(idle_exit_seconds)],
            cwd="/",
            env={"PATH": os.defpath},  # nothing of the server's reaches it or what it starts
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = connect(folder)
        if connection is not None:
            return connection
        with suppress(subprocess.TimeoutExpired):
            code = started.wait(0.01)
            if code != 0:
                raise SupervisorUnavailable(f"it ended with code {code}; see {folder / 'log'}")
    raise SupervisorUnavailable(f"it did not answer in {START_SECONDS} s; see {folder / 'log'}")
