"""Dies hard before the N-th durable step; shows what process death leaves, not a power cut.

A durable step is a sync, a rename or unlink of a file, or a commit of the ledger. The code under
test knows nothing of it: the calls are wrapped in a child process.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import aiosqlite
import anyio

from workspace_server.workspace import atomic_write

P = ParamSpec("P")
T = TypeVar("T")

_STEPS: Sequence[tuple[object, str]] = (
    *((os, name) for name in ("fsync", "rename", "replace", "unlink", "link", "mkdir", "rmdir")),
    (atomic_write, "renameat2"),
    (aiosqlite.Connection, "commit"),
)


@dataclass
class _Countdown:
    remaining: int

    def wrapped(self, step: Callable[P, T]) -> Callable[P, T]:
        @wraps(step)
        def counted(*arguments: P.args, **named: P.kwargs) -> T:
            self.remaining -= 1
            if self.remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **named)

        return counted


def die_before_step(number: int) -> None:
    """From here on, count the durable steps of this process, and die before that one."""
    countdown = _Countdown(number)
    for owner, name in _STEPS:
        setattr(owner, name, countdown.wrapped(getattr(owner, name)))


async def run_until_step(module: str, arguments: Sequence[str], number: int) -> bool:
    """Run `python -m module arguments… number`; tell whether it died before that step.

    The module calls `die_before_step` with its last argument. Any other end is an error.
    """
    command = [sys.executable, "-m", module, *arguments, str(number)]
    ended = await anyio.run_process(command, check=False, cwd=Path(__file__).parents[2])
    if ended.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(ended.stderr.decode())
    return ended.returncode != 0
