"""What the system's refusals mean to a client: the one place where errno becomes an error."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from workspace_server.domain.errors import (
    FileNotFound,
    FileOperationFailed,
    PathEscape,
    PathNotDirectory,
    SpecialFileRejected,
    SymlinkRejected,
    WorkspaceServerError,
)

_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOSPC: "no space",
    errno.EDQUOT: "no space",
    errno.EROFS: "read-only file system",
    errno.ENAMETOOLONG: "name too long",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
    errno.EIO: "input/output error",
    errno.EEXIST: "already exists",
    errno.EBUSY: "busy",
}


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn every OSError raised inside into the client's error for `path`."""
    try:
        yield
    except OSError as error:
        raise file_error(error, path) from error


def file_error(error: OSError, path: str) -> WorkspaceServerError:
    """Return what `error`, met at the workspace-relative `path`, is to a client."""
    match error.errno:
        case errno.ENOENT:
            return FileNotFound(f"There is nothing at {path!r}.", details={"path": path})
        case errno.ENOTDIR:
            return PathNotDirectory(
                f"A component of {path!r} is not a folder.", details={"path": path}
            )
        case errno.ELOOP:
            return _link_at(path)
        case errno.EXDEV:
            return PathEscape(f"{path!r} leads out of the workspace.", details={"path": path})
        case errno.ENXIO | errno.EISDIR:
            return _special_at(path)
        case _:
            return failed_operation(path, _REASONS.get(error.errno or 0, "system error"))


def refuse_link(found: os.stat_result, path: str) -> None:
    """Raise SymlinkRejected if `found`, the status of `path`, is that of a link."""
    if stat.S_ISLNK(found.st_mode):
        raise _link_at(path)


def refuse_special(found: os.stat_result, path: str) -> None:
    """Raise SymlinkRejected or SpecialFileRejected unless `found` is a regular file."""
    refuse_link(found, path)
    if stat.S_ISDIR(found.st_mode):
        raise SpecialFileRejected(
            f"{path!r} is a folder.",
            recovery=f'List it: find(glob="{path}/**").',
            details={"path": path},
        )
    if not stat.S_ISREG(found.st_mode):
        raise _special_at(path)


def failed_operation(path: str, reason: str, *, recovery: str | None = None) -> FileOperationFailed:
    """Return the error for a refusal by the system; `reason` is a fixed word or two."""
    return FileOperationFailed(
        f"The operation on {path!r} failed: {reason}; nothing of it has changed.",
        recovery=recovery,
        details={"path": path, "reason": reason},
    )


def _link_at(path: str) -> SymlinkRejected:
    return SymlinkRejected(f"A component of {path!r} is a symbolic link.", details={"path": path})


def _special_at(path: str) -> SpecialFileRejected:
    return SpecialFileRejected(f"{path!r} is not a regular file.", details={"path": path})
