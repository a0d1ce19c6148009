"""Starting a program: its own session, no inherited descriptors, pipes or a terminal."""

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from sandbox.errors import SpawnFailed
from sandbox.supervisor.family import MARK, Identity, identity_of
from sandbox.supervisor.order import Order
from sandbox.supervisor.spool import Stream

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class Child:
    """A program that was started, with our ends of its streams. All are non-blocking."""

    identity: Identity
    pidfd: int
    outputs: Mapping[Stream, int]
    stdin: int | None  # also the terminal, if it has one


def spawn(order: Order) -> Child:
    """Start the program; raise SpawnFailed when it is certain that nothing runs."""
    environment = {**order.env, MARK: order.process_id}
    try:
        with _folder_itself(order.cwd) as folder:
            if order.tty is None:
                return _spawn_on_pipes(order, folder, environment)
            # Only terminals need it, and it costs start-up time.
            from sandbox.supervisor.terminal import spawn_on_terminal

            pid, terminal = spawn_on_terminal(order, program_of(order), folder, environment)
            return _child(pid, {Stream.STDOUT: terminal}, terminal)
    except OSError as error:
        raise SpawnFailed(error.errno, _reason(error, order)) from error
    except ValueError as error:  # a NUL in an argument, say
        raise SpawnFailed(None, str(error)) from error


def program_of(order: Order) -> str:
    """Return the program's path, found as its own shell would find it; raise FileNotFoundError."""
    program = order.argv[0]
    if "/" in program:
        return os.path.join(order.cwd, program)
    found = shutil.which(program, path=order.env.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "not found", program)
    return os.path.join(order.cwd, found)


@contextmanager
def _folder_itself(path: str) -> Iterator[int]:
    """Open a folder, no component of whose absolute path is a link.

    Who ordered the command has looked at the path before; it may have become a link since.
    """
    descriptor = os.open("/", _FOLDER)
    try:
        for name in filter(None, path.split("/")):
            parent, descriptor = descriptor, os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(parent)
        yield descriptor
    finally:
        os.close(descriptor)


def _spawn_on_pipes(order: Order, folder: int, environment: Mapping[str, str]) -> Child:
    started = subprocess.Popen(
        order.argv,
        executable=program_of(order),
        cwd=f"/proc/self/fd/{folder}",
        env=environment,
        stdin=subprocess.DEVNULL if order.stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    # It is reaped through its pidfd; Popen must neither wait for it nor complain.
    started.returncode = 0
    try:
        stdin = None if started.stdin is None else os.dup(started.stdin.fileno())
        outputs = {Stream.STDOUT: _taken(started.stdout), Stream.STDERR: _taken(started.stderr)}
    except OSError:
        _undo(started.pid)
        raise
    finally:
        for stream in (started.stdin, started.stdout, started.stderr):
            if stream is not None:
                stream.close()
    return _child(started.pid, outputs, stdin)


def _taken(stream: IO[bytes] | None) -> int:
    assert stream is not None
    return os.dup(stream.fileno())


def _child(pid: int, outputs: Mapping[Stream, int], stdin: int | None) -> Child:
    try:
        for descriptor in {*outputs.values(), *([] if stdin is None else [stdin])}:
            os.set_blocking(descriptor, False)
        identity = identity_of(pid)
        if identity is None:  # not for want of the process, which nobody has reaped
            raise OSError(errno.EMFILE, "cannot look at it")
        return Child(identity=identity, pidfd=os.pidfd_open(pid), outputs=outputs, stdin=stdin)
    except OSError:
        for descriptor in {*outputs.values(), *([] if stdin is None else [stdin])}:
            os.close(descriptor)
        _undo(pid)
        raise


def _undo(pid: int) -> None:
    """End a child that cannot be followed, so that it is true that nothing runs."""
    os.kill(pid, signal.SIGKILL)  # its number is its own until we reap it, just below
    os.waitpid(pid, 0)


def _searched(order: Order) -> str:
    """Say where a bare name was looked for: that is what its caller can mend."""
    is_bare = "/" not in order.argv[0]
    return f" (PATH is {order.env.get('PATH', os.defpath)})" if is_bare else ""


def _is_of_folder(error: OSError, order: Order) -> bool:
    try:
        with _folder_itself(order.cwd):
            return str(error.filename).startswith("/proc/self/fd/")
    except OSError:
        return True


def _reason(error: OSError, order: Order) -> str:
    """Say what was not found or not allowed, in words that name no more than was asked for."""
    if _is_of_folder(error, order):
        return "its working folder is not there, or has a link in its path"
    match error.errno:
        case errno.ENOENT:
            return f"{order.argv[0]}: not found{_searched(order)}"
        case errno.EACCES:
            return f"{order.argv[0]}: not an executable file"
        case errno.ENOEXEC:
            return f"{order.argv[0]}: of no executable format; it may lack its #! line"
        case errno.E2BIG:
            return "arguments and environment together are too long"
        case _:
            return os.strerror(error.errno or 0).lower()
