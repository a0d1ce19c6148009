"""Run a short program to its end: bounded time, bounded output, nothing of it left behind."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

_READ_BYTES = 64 * 1024


class HelperTimeout(Exception):
    """The helper was not done in time; it and its children have been killed."""


class HelperOutputLimit(Exception):
    """The helper printed more than it may; it and its children have been killed."""


@dataclass(frozen=True, kw_only=True)
class HelperResult:
    """How the helper ended, and what it printed."""

    exit_code: int  # negative: the signal that ended it
    stdout: bytes
    stderr: bytes


def run_helper(
    argv: Sequence[str],
    *,
    cwd: str,
    environment: Mapping[str, str],
    timeout_seconds: float,
    output_limit_bytes: int,
) -> HelperResult:
    """Run `argv` with this environment alone, a null stdin and a session of its own.

    Both output streams together may reach `output_limit_bytes`. When the program ends, whatever it
    started in its session ends too. Raises HelperTimeout, HelperOutputLimit, or OSError if it
    cannot be started.
    """
    deadline = time.monotonic() + timeout_seconds
    with subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            stdout, stderr = _Output(child, output_limit_bytes).collect(deadline)
        finally:
            _kill_group(child)  # before it is reaped: its number is still its own
    return HelperResult(exit_code=child.returncode, stdout=stdout, stderr=stderr)


class _Output:
    """Reads both streams of a child until they and the child have ended."""

    def __init__(self, child: "subprocess.Popen[bytes]", limit_bytes: int) -> None:
        assert child.stdout is not None
        assert child.stderr is not None
        self._child = child
        self._limit_bytes = limit_bytes
        self._read = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}

    def collect(self, deadline: float) -> tuple[bytes, bytes]:
        """Return stdout and stderr; raises HelperTimeout at `deadline` (monotonic)."""
        ended = os.pidfd_open(self._child.pid)
        try:
            with selectors.DefaultSelector() as selector:
                for descriptor in (ended, *self._read):
                    selector.register(descriptor, selectors.EVENT_READ)
                self._follow(selector, ended, deadline)
        finally:
            os.close(ended)
        stdout, stderr = self._read.values()
        return bytes(stdout), bytes(stderr)

    def _follow(self, selector: selectors.BaseSelector, ended: int, deadline: float) -> None:
        while selector.get_map():
            remaining = deadline - time.monotonic()
            ready = selector.select(remaining) if remaining > 0 else []
            if not ready:
                raise HelperTimeout
            for key, _ in ready:
                if key.fd == ended:
                    # A child of its own may hold the streams open for ever.
                    _kill_group(self._child)
                    selector.unregister(ended)
                elif not self._take(key.fd):
                    selector.unregister(key.fd)

    def _take(self, descriptor: int) -> bool:
        """Read what is there; return False at the stream's end."""
        block = os.read(descriptor, _READ_BYTES)
        self._read[descriptor] += block
        if sum(map(len, self._read.values())) > self._limit_bytes:
            raise HelperOutputLimit
        return bool(block)


def _kill_group(child: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
