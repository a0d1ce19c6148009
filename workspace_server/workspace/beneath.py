"""Open a path beneath a folder's descriptor, by the kernel's own check or step by step."""

import errno
import os
import stat
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from workspace_server.workspace.kernel import openat2

Opener: TypeAlias = Callable[[int, str, int], int]
"""From a folder's descriptor, a parsed path and open flags to a descriptor; raises OSError.

ELOOP means a link in some component, whatever the flags; only O_PATH without O_DIRECTORY opens a
link that is the last component, as itself, and only with O_NOFOLLOW.
"""

_NOT_OFFERED = (errno.ENOSYS, errno.EPERM)
_STEP = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@cache
def best_opener() -> Opener:
    """Return the kernel's resolver where it is offered, the walk elsewhere."""
    return open_by_kernel if _kernel_resolves() else open_by_walk


def open_by_kernel(directory: int, path: str, flags: int) -> int:
    """Open in one call that no rename can race with."""
    return openat2(directory, path, flags)


def open_by_walk(directory: int, path: str, flags: int) -> int:
    """Open one component at a time, holding each folder, so that no swap can lead outside."""
    *folders, last = path.split("/")
    if ".." in (*folders, last) or "" in (*folders, last):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    current = os.dup(directory)
    try:
        for folder in folders:
            current = _step_into(current, folder)
        if flags & os.O_DIRECTORY:
            _refuse_link(last, current)
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=current)
    finally:
        os.close(current)


def _kernel_resolves() -> bool:
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(openat2(root, ".", os.O_PATH | os.O_DIRECTORY))
    except OSError as error:
        if error.errno in _NOT_OFFERED:
            return False
        raise
    finally:
        os.close(root)
    return True


def _step_into(current: int, folder: str) -> int:
    """Return a descriptor of `folder` in place of `current`, which is closed only on success."""
    _refuse_link(folder, current)
    following = os.open(folder, _STEP | os.O_DIRECTORY, dir_fd=current)
    os.close(current)
    return following


def _refuse_link(name: str, directory: int) -> None:
    # O_DIRECTORY would refuse a link too, but as "not a directory".
    if stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
