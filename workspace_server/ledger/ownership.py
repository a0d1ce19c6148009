"""Who owns a state folder: one server at a time, by a lock that the kernel frees."""

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from workspace_server.ledger.errors import state_folder_errors

_LOCK = "server.lock"
_OWNER = "owner.json"
_OURS = frozenset({_LOCK, "blobs", "supervisor"})  # what tells a state folder


@dataclass(frozen=True, kw_only=True)
class OwnerInfo:
    """What a server tells others of itself."""

    pid: int
    started_at: str  # RFC 3339
    command: str

    def described(self) -> str:
        """Return the owner in words, for the operator."""
        return f"process {self.pid}, started {self.started_at}: {self.command}"


class StateFolderOwned(Exception):
    """Another server owns the state folder. The message is for the operator."""

    def __init__(self, folder: Path, owner: OwnerInfo | None) -> None:
        who = "another server" if owner is None else owner.described()
        super().__init__(f"The state folder {folder} is owned by {who}.")
        self.owner = owner


def make_private_folder(folder: Path) -> None:
    """Make `folder` if it is missing; nobody but its user may enter it, even if it was there.

    Raises FileExistsError if it holds files and none of them is of a state folder: that one is
    somebody's, and is left as it is.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    held = {entry.name for entry in folder.iterdir()}
    if held and not any(name in _OURS or name.startswith("ledger.") for name in held):
        raise FileExistsError(errno.EEXIST, "it holds files that are none of a state folder's")
    folder.chmod(0o700)


@contextmanager
def own_state_folder(folder: Path, describe: OwnerInfo) -> Iterator[None]:
    """Own `folder` while the block runs; raise StateFolderOwned at once if another does.

    The lock ends with the process, however it ends; the owner's file is only a description.
    Raises StateFolderUnusable if the system refuses the folder itself.
    """
    with state_folder_errors(folder):
        make_private_folder(folder)
        lock = _locked(folder)
    try:
        with state_folder_errors(folder):
            _describe(folder, describe)
        yield
    finally:
        if owner_of(folder) == describe:  # the folder may have been replaced, and be another's
            (folder / _OWNER).unlink()
        lock.release()


def _locked(folder: Path) -> BaseFileLock:
    # The kernel's lock and nothing in its place: a marker file would outlive a killed process.
    lock = FileLock(
        folder / _LOCK, blocking=False, thread_local=False, mode=0o600, preserve_lock_file=True
    )
    try:
        lock.acquire()
    except Timeout:
        raise StateFolderOwned(folder, owner_of(folder)) from None
    return lock


def owner_of(folder: Path) -> OwnerInfo | None:
    """Return what the last owner said of itself, if it is there and can be read."""
    try:
        return OwnerInfo(**json.loads((folder / _OWNER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _describe(folder: Path, owner: OwnerInfo) -> None:
    draft = folder / f"{_OWNER}.draft"
    draft.write_text(json.dumps(asdict(owner)), encoding="utf-8")
    draft.replace(folder / _OWNER)
