"""Reaching the supervisor of a folder, and starting it where none is."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from sandbox.errors import SupervisorUnavailable
from sandbox.supervisor.address import SOCKET_NAME

START_SECONDS = 10.0
IDLE_EXIT_SECONDS = 60.0
POLL_SECONDS = 0.005
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
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = _wait_for_answer(folder, _spawn(folder, idle_exit_seconds), deadline)
        if connection is not None:
            return connection
        time.sleep(POLL_SECONDS)  # another one still holds the folder, and is about to leave
    raise SupervisorUnavailable(f"it did not answer in {START_SECONDS} s; see {folder / 'log'}")


def _spawn(folder: Path, idle_exit_seconds: float) -> "subprocess.Popen[bytes]":
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
    # It is our child although it outlives us: should it end first, it must not stay a zombie.
    threading.Thread(target=started.wait, name="reap supervisor", daemon=True).start()
    return started


def _wait_for_answer(
    folder: Path, started: "subprocess.Popen[bytes]", deadline: float
) -> socket.socket | None:
    """Return a connection; None if what was started left the folder to another one."""
    while time.monotonic() < deadline:
        code = started.poll()  # before connecting: the one it gave way to may answer
        connection = connect(folder)
        if connection is not None:
            return connection
        if code is not None and code != 0:
            raise SupervisorUnavailable(f"it ended with code {code}; see {folder / 'log'}")
        if code is not None:
            return None
        time.sleep(POLL_SECONDS)
    return None
