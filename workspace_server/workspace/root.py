"""Opens beneath one directory, nothing else."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from workspace_server.domain.errors import (
    FileNotFound,
    PathEscape,
    WorkspaceServerError,
)
from workspace_server.domain.paths import parent_of, parse_path
from workspace_server.workspace.beneath import Opener, best_opener
from workspace_server.workspace.file_errors import (
    file_error,
    refuse_link,
    refuse_special,
    translated,
)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Non-blocking and no controlling terminal: what was a file a moment ago may be a FIFO or tty now.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class Root:
    """A workspace's directory, held open: every file of it is reached through here.

    Paths are parsed ones (`domain.paths.parse_path`). Links are refused in every component, and a
    swap during the call leads nowhere else. A root that was deleted stays gone, also if another
    folder takes its name: then every method raises FileNotFound.
    """

    def __init__(self, path: str, descriptor: int, opener: Opener) -> None:
        self.path = path
        self._descriptor = descriptor
        self._opener = opener

    @classmethod
    def open(cls, path: Path, *, opener: Opener | None = None) -> Self:
        """Return the root at `path`, which must be canonical: no component may be a link by now.

        Raises FileNotFound, PathNotDirectory, SymlinkRejected or FileOperationFailed. `opener` is
        for tests; left out, it is the best there is.
        """
        chosen = opener or best_opener()
        with _root_errors():
            return cls(str(path), _open_root(chosen, str(path)), chosen)

    def close(self) -> None:
        """Let go of the directory; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def parse(self, text: str) -> str:
        """Return a client's path in its one spelling, as `parse_path` does.

        An absolute path beneath the root is refused too, and told what to write instead.
        """
        try:
            return parse_path(text)
        except PathEscape as error:
            if text.startswith(f"{self.path}/"):
                error.recovery = f"Write {text[len(self.path) + 1 :]!r}: relative to the root."
            raise

    def open_file(self, path: str) -> int:
        """Return a descriptor of a regular file, for reading; it never blocks.

        Raises FileNotFound, SpecialFileRejected, SymlinkRejected, PathNotDirectory, PathEscape or
        FileOperationFailed.
        """
        with translated(path):
            # Looking first keeps from a device even the side effects that opening it has.
            refuse_special(self._look(path), path)
            descriptor = self._opener(self._descriptor, path, _FILE)
        try:
            refuse_special(os.fstat(descriptor), path)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def open_folder(self, path: str) -> int:
        """Return a descriptor of a folder, fit for `dir_fd`, scandir and fsync."""
        self._refuse_if_gone()
        with translated(path):
            return self._opener(self._descriptor, path, _FOLDER)

    def status(self, path: str) -> os.stat_result | None:
        """Return what is at `path`, of any kind but a link; None if it or its parent is missing.

        Raises SymlinkRejected for a link in any component, PathNotDirectory for a file in the way.
        """
        with translated(path):
            try:
                found = self._look(path)
            except FileNotFoundError:
                return None
        refuse_link(found, path)
        return found

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """Hold `open_folder(path)` for the length of a block."""
        descriptor = self.open_folder(path)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def make_folders(self, path: str) -> tuple[str, ...]:
        """Make the missing folders above `path`, and return them, the shallowest first.

        `path` itself is not made. Nothing is left behind on failure. To make it durable, sync the
        parent of each folder made.
        """
        made: list[str] = []
        try:
            for folder in _folders_above(path):
                if self._make_folder(folder):
                    made.append(folder)
        except BaseException:
            self.remove_folders(tuple(made))
            raise
        return tuple(made)

    def remove_folders(self, folders: tuple[str, ...]) -> None:
        """Undo `make_folders`: remove, deepest first, those that are still there and empty."""
        for folder in reversed(folders):
            with suppress(OSError, WorkspaceServerError), self.folder(parent_of(folder)) as parent:
                os.rmdir(name_of(folder), dir_fd=parent)

    def _make_folder(self, folder: str) -> bool:
        """Return whether it had to be made; raise PathNotDirectory if a file has the name."""
        found = self.status(folder)
        if found is None:
            with self.folder(parent_of(folder)) as parent, translated(folder):
                return _made(name_of(folder), parent)
        if not stat.S_ISDIR(found.st_mode):
            raise file_error(NotADirectoryError(errno.ENOTDIR, ""), folder)
        return False

    def _look(self, path: str) -> os.stat_result:
        self._refuse_if_gone()
        descriptor = self._opener(self._descriptor, path, _LOOK)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def _refuse_if_gone(self) -> None:
        if os.fstat(self._descriptor).st_nlink == 0:
            raise _gone()


def name_of(path: str) -> str:
    """Return the last component of `path`."""
    return path.rpartition("/")[2]


def _folders_above(path: str) -> tuple[str, ...]:
    parts = path.split("/")
    return tuple("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _made(name: str, parent: int) -> bool:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:  # made by another since the look; what it is shows at the next step
        return False
    return True


def _open_root(opener: Opener, path: str) -> int:
    # A folder above could have been swapped for a link since the operator named this root.
    top = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return opener(top, path.strip("/") or ".", _FOLDER)
    finally:
        os.close(top)


@contextmanager
def _root_errors() -> Iterator[None]:
    """Turn OSErrors into the client's errors without naming the host path."""
    try:
        yield
    except FileNotFoundError as error:
        raise _gone() from error
    except OSError as error:
        raise file_error(error, ".") from error


def _gone() -> FileNotFound:
    return FileNotFound(
        "The workspace folder itself is gone.",
        recovery="Ask the operator to restore the folder or to register another.",
    )
