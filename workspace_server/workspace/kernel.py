"""Two system calls that Python's `os` does not offer: openat2 and renameat2."""

import ctypes
import errno
import os
import platform
import struct
from functools import cache

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2

_OPENAT2 = 437  # the same on every architecture
_RENAMEAT2 = {"x86_64": 316, "aarch64": 276}
_RACES_BORNE = 64


def openat2(directory: int, path: str, flags: int) -> int:
    """Return a descriptor of `path`, resolved beneath `directory` without following any link.

    Raises OSError: ELOOP for a link, EXDEV for a way out, ENOSYS or EPERM where the kernel, or a
    filter around this process, does not offer the call.
    """
    how = struct.pack(
        "QQQ",
        flags | os.O_CLOEXEC,
        0,
        RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    )
    for _ in range(_RACES_BORNE):
        try:
            return _call(_OPENAT2, directory, _path_bytes(path), how, len(how))
        except BlockingIOError:  # EAGAIN: a rename elsewhere made the kernel's check uncertain
            continue
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def renameat2(directory: int, source: str, target: str, flags: int) -> None:
    """Rename within one folder under RENAME_* `flags`; raises OSError, EINVAL if unsupported."""
    number = _RENAMEAT2.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    _call(number, directory, _path_bytes(source), directory, _path_bytes(target), flags)


def _path_bytes(path: str) -> bytes:
    if "\0" in path:  # the kernel would see only what stands before it
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return os.fsencode(path)


def _call(number: int, *arguments: int | bytes) -> int:
    # Integers as C longs: ctypes alone would pass their lower half.
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(_library().syscall(ctypes.c_long(number), *passed))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


@cache
def _library() -> ctypes.CDLL:
    # None is this program itself; asking for "c" by name would start a compiler.
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library
