"""Processes that became ours when their parents ended: the supervisor is their subreaper."""

import ctypes
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sandbox.supervisor.family import children_of

_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Have the orphans of our commands become our children, not those of the first process."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def adopted(leaders: Iterable[int]) -> set[int]:
    """Return our children but for the leaders of commands."""
    return _children() - set(leaders)


def _children() -> set[int]:
    path = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    try:
        return set(map(int, path.read_text().split()))
    except FileNotFoundError:  # a kernel without that file: look at every process
        return children_of(os.getpid())


def reap(pids: Iterable[int]) -> bool:
    """Reap the dead among adopted children; tell whether there were any."""
    found = False
    for pid in pids:
        with suppress(ChildProcessError):
            found |= os.waitpid(pid, os.WNOHANG)[0] == pid
    return found
