"""What the disk holds now of the paths that an operation changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.domain.version import ABSENT, full_version
from workspace_server.ledger.journal import JournalEntry
from workspace_server.workspace.atomic_write import snapshot
from workspace_server.workspace.root import Root


@dataclass(frozen=True, kw_only=True)
class PathNow:
    """The full versions of one path: before the operation, after it, and now."""

    path: str
    before: str
    after: str
    now: str | None  # None: it cannot be read, so it is not known


@dataclass(frozen=True, kw_only=True)
class DiskState:
    """All paths of an operation."""

    paths: tuple[PathNow, ...]

    @property
    def matches(self) -> bool:
        """Whether each path still is as the operation left it."""
        return all(path.now == path.after for path in self.paths)


def disk_state(root: Root, entries: Sequence[JournalEntry]) -> DiskState:
    """Read what the disk holds of each entry's path."""
    return DiskState(
        paths=tuple(
            PathNow(
                path=entry.path,
                before=entry.before_version,
                after=entry.after_version,
                now=_version_now(root, entry.path),
            )
            for entry in entries
        )
    )


def _version_now(root: Root, path: str) -> str | None:
    try:
        found = snapshot(root, path)
    except WorkspaceServerError:
        return None
    return ABSENT if found is None else full_version(found.content)
