"""Replace, create and remove files as a whole: the only code that changes one.

A change is staged in a temporary beside its target, synced, and put in place by one rename. So a
file's other hard links keep the old content, and its inode changes with every replacement.
"""

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from workspace_server.domain.errors import FileOperationFailed, InputTooLarge, VersionConflict
from workspace_server.domain.paths import parent_of
from workspace_server.workspace.file_errors import failed_operation, translated
from workspace_server.workspace.kernel import RENAME_EXCHANGE, RENAME_NOREPLACE, renameat2
from workspace_server.workspace.root import Root, name_of

MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)
_READS = 3


@dataclass(frozen=True, kw_only=True)
class FileIdentity:
    """Which file this is, in which state: two equal ones mean that nothing was written between."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "FileIdentity":
        """Return the identity that `status` shows."""
        return cls(
            device=status.st_dev,
            inode=status.st_ino,
            size_bytes=status.st_size,
            modified_ns=status.st_mtime_ns,
            changed_ns=status.st_ctime_ns,
        )

    def renamed_from(self, before: "FileIdentity") -> bool:
        """Tell whether this is `before` after a rename, which touches the change time alone."""
        return replace(before, changed_ns=self.changed_ns) == self


class Snapshot(NamedTuple):
    """A regular file at one moment."""

    content: bytes
    mode: int  # permission bits
    identity: FileIdentity


def snapshot(root: Root, path: str, limit_bytes: int = MAX_SNAPSHOT_BYTES) -> Snapshot | None:
    """Return the file as it was at one moment, or None if there is none.

    Raises InputTooLarge above the limit, FileOperationFailed if it changes at every attempt, and
    what `Root.open_file` raises.
    """
    if root.status(path) is None:
        return None
    descriptor = root.open_file(path)
    try:
        with translated(path):
            return _read_unchanged(descriptor, path, limit_bytes)
    finally:
        os.close(descriptor)


def refuse_read_only(path: str, mode: int) -> None:
    """Raise FileOperationFailed if `mode` denies its owner to write."""
    if not mode & stat.S_IWUSR:
        raise failed_operation(
            path,
            "the file is read-only",
            recovery="If it is meant to change, make it writable first (chmod u+w), then repeat.",
        )


def stage(root: Root, path: str, content: bytes, mode: int, temporary: str) -> None:
    """Write `content` to the file named `temporary` beside `path`, synced, with `mode`.

    Owner, ACLs and user attributes of the file at `path` are carried over where the system lets
    us. On failure the temporary is gone. Raises FileOperationFailed (reason "no space" on a full
    disk), and what the root raises for a path that it refuses.
    """
    with root.folder(parent_of(path)) as folder, translated(path):
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
        try:
            _write_all(descriptor, content)
            _carry_over_attributes(root, path, descriptor)
            os.fchmod(descriptor, mode)  # last: a change of owner or ACL alters mode bits
            os.fsync(descriptor)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
        finally:
            os.close(descriptor)


def publish(root: Root, path: str, temporary: str, expected: FileIdentity | None) -> None:
    """Put the staged `temporary` at `path`, in place of the file `expected` (None: of nothing).

    Raises VersionConflict if something else is there, which then stays. The temporary may be left
    in that case: discard it. The folder still has to be synced.
    """
    with root.folder(parent_of(path)) as folder, translated(path):
        if expected is None:
            _publish_new(folder, path, temporary)
        else:
            _publish_over(folder, path, temporary, expected)


def remove(root: Root, path: str, temporary: str, expected: FileIdentity) -> None:
    """Remove the file `expected` from `path`, by way of the bare name `temporary` beside it.

    Raises VersionConflict if something else is there, which then stays. The folder still has to
    be synced.
    """
    with root.folder(parent_of(path)) as folder, translated(path):
        _require(folder, path, expected)
        # Under a name of ours nobody can put another file in its place before the unlink.
        _move_to_free_name(folder, name_of(path), temporary)
        if not _came_out(folder, temporary, expected):
            with suppress(FileExistsError):  # then a newer file has the name already
                _move_to_free_name(folder, temporary, name_of(path))
            raise _conflict(path)
        os.unlink(temporary, dir_fd=folder)


def discard(root: Root, path: str, temporary: str) -> None:
    """Remove what may be left of `temporary` beside `path`; nothing there is fine."""
    if root.status(parent_of(path)) is None:
        return
    with root.folder(parent_of(path)) as folder, translated(path), suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)


def sync_folder(root: Root, folder: str) -> None:
    """Make the names in `folder` durable: what was created, renamed or removed there."""
    with root.folder(folder) as descriptor, translated(folder):
        os.fsync(descriptor)


def _read_unchanged(descriptor: int, path: str, limit_bytes: int) -> Snapshot:
    for _ in range(_READS):
        before = os.fstat(descriptor)
        if before.st_size > limit_bytes:
            raise _too_large(path, before.st_size, limit_bytes)
        content = _read_all(descriptor, before.st_size)
        after = os.fstat(descriptor)
        identity = FileIdentity.of(after)
        if identity == FileIdentity.of(before) and len(content) == after.st_size:
            return Snapshot(content, stat.S_IMODE(after.st_mode), identity)
    raise failed_operation(path, "the file keeps changing")


def _read_all(descriptor: int, size_bytes: int) -> bytes:
    """Return the first `size_bytes`, and one byte more if there is one."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    blocks: list[bytes] = []
    missing = size_bytes + 1
    while missing and (block := os.read(descriptor, missing)):
        blocks.append(block)
        missing -= len(block)
    return b"".join(blocks)


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:  # on a full disk the system may take a part of it before it refuses
        rest = rest[os.write(descriptor, rest) :]


def _carry_over_attributes(root: Root, path: str, descriptor: int) -> None:
    """Give the new file the owner and attributes of the one at `path`, as far as we may."""
    old_status = root.status(path)
    if old_status is None:
        return
    with suppress(OSError):
        os.fchown(descriptor, old_status.st_uid, old_status.st_gid)
    with suppress(FileOperationFailed):  # a file that may be replaced but not read
        old = root.open_file(path)
        try:
            _copy_attributes(old, descriptor)
        finally:
            os.close(old)


def _copy_attributes(old: int, new: int) -> None:
    with suppress(OSError):  # a file system without attributes
        for name in os.listxattr(old):
            # ACLs are `system.`; what is `security.` or `trusted.` the system gives by itself,
            # and a capability must not pass on to content that somebody else wrote.
            if name.startswith(("user.", "system.")):
                with suppress(OSError):
                    os.setxattr(new, name, os.getxattr(old, name))


def _publish_new(folder: int, path: str, temporary: str) -> None:
    try:
        _move_to_free_name(folder, temporary, name_of(path))
    except FileExistsError as error:
        raise _conflict(path) from error


def _publish_over(folder: int, path: str, temporary: str, expected: FileIdentity) -> None:
    name = name_of(path)
    staged = os.stat(temporary, dir_fd=folder, follow_symlinks=False)
    _require(folder, path, expected)
    try:
        exchanged = _rename(folder, temporary, name, RENAME_EXCHANGE)
    except FileNotFoundError as error:
        raise _conflict(path) from error
    if not exchanged:
        _rename(folder, temporary, name)
    elif _came_out(folder, temporary, expected):
        os.unlink(temporary, dir_fd=folder)
    else:
        _give_back(folder, name, temporary, staged.st_ino)
        raise _conflict(path)


def _came_out(folder: int, temporary: str, expected: FileIdentity) -> bool:
    found = _identity_at(folder, temporary)
    return found is not None and found.renamed_from(expected)


def _give_back(folder: int, name: str, temporary: str, staged_inode: int) -> None:
    """Undo an exchange that took out a file nobody expected."""
    _rename(folder, temporary, name, RENAME_EXCHANGE)
    if os.stat(temporary, dir_fd=folder, follow_symlinks=False).st_ino != staged_inode:
        # Meanwhile a third writer replaced ours: its file is the newest and belongs there.
        _rename(folder, temporary, name, RENAME_EXCHANGE)


def _move_to_free_name(folder: int, source: str, target: str) -> None:
    """Rename; raise FileExistsError if the target's name is taken."""
    if not _rename(folder, source, target, RENAME_NOREPLACE):
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(source, dir_fd=folder)


def _rename(folder: int, source: str, target: str, flags: int = 0) -> bool:
    """Rename within `folder`; return False if the file system does not know `flags`."""
    if not flags:
        os.rename(source, target, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    try:
        renameat2(folder, source, target, flags)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


def _require(folder: int, path: str, expected: FileIdentity) -> None:
    if _identity_at(folder, name_of(path)) != expected:
        raise _conflict(path)


def _identity_at(folder: int, name: str) -> FileIdentity | None:
    try:
        return FileIdentity.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _conflict(path: str) -> VersionConflict:
    return VersionConflict(f"{path!r} was changed by somebody else.", details={"path": path})


def _too_large(path: str, size_bytes: int, limit_bytes: int) -> InputTooLarge:
    return InputTooLarge(
        f"{path!r} has {size_bytes} bytes; at most {limit_bytes} can be handled as a whole.",
        recovery="Handle this file with a command.",
        details={"path": path, "size_bytes": size_bytes, "limit_bytes": limit_bytes},
    )
