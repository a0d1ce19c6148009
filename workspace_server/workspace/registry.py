"""The registered workspaces: ids, canonical roots, profiles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workspace_server.domain.errors import InvalidArguments, WorkspaceNotFound


class Profile(StrEnum):
    """What a client may do in a workspace."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """A folder that the operator registered."""

    workspace_id: str  # unique within one client's view
    root: str  # canonical absolute path; what the ledger knows the workspace by
    profile: Profile

    @property
    def writable(self) -> bool:
        """Whether tools may change anything here."""
        return self.profile is Profile.WORKSPACE_WRITE


class WorkspaceView:
    """The workspaces that one client sees."""

    def __init__(self, workspaces: Iterable[Workspace]) -> None:
        self._by_id = {workspace.workspace_id: workspace for workspace in workspaces}

    @property
    def workspaces(self) -> Sequence[Workspace]:
        """All of them, in the operator's order."""
        return tuple(self._by_id.values())

    @property
    def roots(self) -> frozenset[str]:
        """The canonical roots in view: what of the ledger this client may know."""
        return frozenset(workspace.root for workspace in self._by_id.values())

    def find(self, workspace_id: str | None) -> Workspace:
        """Return the workspace of that id, or the only one there is.

        Raises WorkspaceNotFound for an unknown id, InvalidArguments when one has to be chosen.
        """
        if workspace_id is not None:
            return self._known(workspace_id)
        if len(self._by_id) == 1:
            return next(iter(self._by_id.values()))
        raise InvalidArguments(
            "There are several workspaces, so workspace_id must say which.",
            recovery=f"Give workspace_id, one of: {', '.join(self._by_id)}.",
            details={"field": "workspace_id"},
        )

    def at(self, root: str) -> Workspace | None:
        """Return the workspace of that canonical root, if it is in view."""
        return next((each for each in self._by_id.values() if each.root == root), None)

    def _known(self, workspace_id: str) -> Workspace:
        workspace = self._by_id.get(workspace_id)
        if workspace is None:
            raise WorkspaceNotFound(f"There is no workspace {workspace_id!r}.")
        return workspace
