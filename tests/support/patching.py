"""A workspace and a ledger for patches under test."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio

from tests.support.clock import FakeClock
from tests.support.ledger_rows import new_patch
from tests.support.trees import Tree, tree_of
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation
from workspace_server.ledger.ledger import Ledger
from workspace_server.patch.model import FileImage, PathChange, Plan
from workspace_server.patch.recovery import Settled, settle_patches
from workspace_server.patch.transaction import PatchTransaction
from workspace_server.workspace.atomic_write import FileIdentity, snapshot
from workspace_server.workspace.root import Root

SUCCESS: JsonObject = {"status": "applied", "files": ["as the tool would tell them"]}


@dataclass(frozen=True, kw_only=True)
class Sight:
    """A plan, and the files that it was made from."""

    plan: Plan
    identities: Mapping[str, FileIdentity]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """One workspace, and the ledger that keeps its patches."""

    folder: Path
    ledger: Ledger

    @classmethod
    @asynccontextmanager
    async def opened(cls, place: Path) -> AsyncIterator[Self]:
        """Open `place/workspace` and the ledger in `place/state`, made if they are missing."""
        folder = place / "workspace"
        os.makedirs(folder, exist_ok=True)
        ledger = await Ledger.open(place / "state", FakeClock(), busy_timeout_seconds=0.05)
        try:
            yield cls(folder=folder, ledger=ledger)
        finally:
            await ledger.close()

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Put a file into the workspace, as somebody else would."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)

    def tree(self) -> Tree:
        """Return all that the workspace holds."""
        return tree_of(self.folder)

    def look(self, wanted: Mapping[str, FileImage | None]) -> Sight:
        """Plan to give each path that image (None: remove it), from what is there now."""
        with Root.open(self.folder) as root:
            found = {path: snapshot(root, path) for path in wanted}
        changes = tuple(
            PathChange(
                path=path,
                before=FileImage(content=seen.content, mode=seen.mode) if seen else None,
                after=wanted[path],
            )
            for path, seen in found.items()
        )
        return Sight(
            plan=Plan(changes=changes, files=()),
            identities={path: seen.identity for path, seen in found.items() if seen},
        )

    async def begin(self, key: str | None = None) -> Operation:
        """Record a patch of this workspace as pending."""
        return await self.ledger.operations.begin(new_patch(key, root=str(self.folder)))

    async def run(self, sight: Sight, operation: Operation | None = None) -> Operation:
        """Carry a plan out, or raise why not."""
        operation = operation or await self.begin()
        limiter = anyio.CapacityLimiter(2)
        with Root.open(self.folder) as root:
            return await PatchTransaction(self.ledger, limiter, retry_seconds=(0.01,)).run(
                operation=operation,
                root=root,
                plan=sight.plan,
                identities=sight.identities,
                success=SUCCESS,
            )

    async def change(
        self, wanted: Mapping[str, FileImage | None], operation: Operation | None = None
    ) -> Operation:
        """Look, and carry out what is wanted."""
        return await self.run(self.look(wanted), operation)

    async def settle(self) -> tuple[Settled, ...]:
        """Do what a starting server does."""
        return await settle_patches(self.ledger, lambda root: Root.open(Path(root)))

    async def row(self, operation_id: str) -> Operation:
        """Return the row as it is now."""
        found = await self.ledger.operations.by_id(operation_id)
        assert found is not None
        return found


def image(content: bytes, mode: int = 0o644) -> FileImage:
    """Return a file as a plan knows it."""
    return FileImage(content=content, mode=mode)
