"""Applying a patch: look, plan, and under the lease look again, plan again, and do it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from workspace_server.domain.errors import VersionConflict, WorkspaceServerError
from workspace_server.domain.failure import failure_object
from workspace_server.domain.json_value import JsonObject, JsonValue
from workspace_server.domain.operation import Operation, OperationStatus
from workspace_server.domain.version import ABSENT, full_version, matches, shown_version
from workspace_server.ledger.ledger import Ledger
from workspace_server.patch.disk_state import DiskState, disk_state
from workspace_server.patch.model import FileImage, ParsedPatch, Plan
from workspace_server.patch.planner import plan
from workspace_server.patch.recovery import settle_patch
from workspace_server.patch.transaction import PatchTransaction
from workspace_server.workspace.atomic_write import FileIdentity, snapshot
from workspace_server.workspace.files import Files
from workspace_server.workspace.root import Root


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What the disk held of the paths of a patch when it was looked at."""

    files: Mapping[str, FileImage | None]
    identities: Mapping[str, FileIdentity]


@dataclass(frozen=True, kw_only=True)
class PatchRequest:
    """A parsed patch and what its caller expects to find."""

    root: str
    patch: ParsedPatch
    expected_versions: Mapping[str, str]  # also of files that the patch leaves alone

    @property
    def paths(self) -> Iterable[str]:
        """Every path that has to be looked at."""
        return dict.fromkeys((*self.patch.paths, *self.expected_versions))


class PatchApplier:
    """Plans patches and applies them; the tree is as before or as planned, and the row says so."""

    def __init__(self, ledger: Ledger, files: Files) -> None:
        self._ledger = ledger
        self._files = files

    async def preview(self, request: PatchRequest) -> Plan:
        """Return what the patch would do; raise what would refuse it. Nothing is written."""
        return await self._files.read(request.root, lambda root: _planned(root, request).plan)

    async def check(self, request: PatchRequest) -> None:
        """Raise what refuses the patch before it is recorded: it cannot be placed."""
        await self._files.read(request.root, lambda root: _check(root, request))

    async def apply(
        self, operation: Operation, request: PatchRequest, report: Callable[[Plan], JsonObject]
    ) -> None:
        """Carry the recorded operation out; `report` makes the result that is stored with it.

        The caller holds the lease. Raises what made it fail, after that is recorded.
        """
        root = await anyio.to_thread.run_sync(Root.open, Path(request.root))
        try:
            await self._apply(operation, request, root, report)
        finally:
            root.close()

    async def settle(self, operation_id: str) -> None:
        """Bring a patch that is still pending to its end by what the disk holds.

        The caller holds the lease, and nobody works on the patch.
        """
        operation = await self._ledger.operations.by_id(operation_id)
        if operation is not None and operation.status is OperationStatus.PENDING:
            await settle_patch(self._ledger, operation, lambda root: Root.open(Path(root)))

    async def disk_state(self, operation: Operation) -> DiskState:
        """Compare what the operation left with what the disk holds now."""
        entries = await self._ledger.journal.entries(operation.operation_id)
        return await self._files.read(operation.root, lambda root: disk_state(root, entries))

    async def _apply(
        self,
        operation: Operation,
        request: PatchRequest,
        root: Root,
        report: Callable[[Plan], JsonObject],
    ) -> None:
        try:
            planned = await self._in_thread(lambda: _planned(root, request))
        except WorkspaceServerError as error:
            await self._reject(operation, error)
            raise
        transaction = PatchTransaction(self._ledger, self._files.limiter)
        await transaction.run(
            operation=operation,
            root=root,
            plan=planned.plan,
            identities=planned.identities,
            success=report(planned.plan),
        )

    async def _reject(self, operation: Operation, error: WorkspaceServerError) -> None:
        error.operation_id = operation.operation_id
        error.details["status"] = OperationStatus.REJECTED.value
        await self._ledger.operations.move(
            operation.operation_id,
            OperationStatus.PENDING,
            OperationStatus.REJECTED,
            outcome=failure_object(error),
        )

    async def _in_thread(self, work: Callable[[], "_Planned"]) -> "_Planned":
        return await anyio.to_thread.run_sync(work, limiter=self._files.limiter)


@dataclass(frozen=True, kw_only=True)
class _Planned:
    """A plan, and the files it was made from."""

    plan: Plan
    identities: Mapping[str, FileIdentity]


def _planned(root: Root, request: PatchRequest) -> _Planned:
    sight = _look(root, request)
    _check_versions(request, sight)
    return _Planned(plan=plan(request.patch, sight.files), identities=sight.identities)


def _check(root: Root, request: PatchRequest) -> None:
    sight = _look(root, request)
    if not _conflicts(request, sight):  # a stale version is found again, and recorded, later
        plan(request.patch, sight.files)


def _look(root: Root, request: PatchRequest) -> Sight:
    found = {path: snapshot(root, path) for path in request.paths}
    return Sight(
        files={
            path: FileImage(content=seen.content, mode=seen.mode) if seen else None
            for path, seen in found.items()
        },
        identities={path: seen.identity for path, seen in found.items() if seen},
    )


def _check_versions(request: PatchRequest, sight: Sight) -> None:
    conflicts = _conflicts(request, sight)
    if conflicts:
        paths = ", ".join(str(conflict["path"]) for conflict in conflicts)
        raise VersionConflict(
            f"Not the expected version: {paths}.", details={"conflicts": conflicts}
        )


def _conflicts(request: PatchRequest, sight: Sight) -> list[dict[str, JsonValue]]:
    found = {path: _version(image) for path, image in sight.files.items()}
    return [
        {"path": path, "expected": expected, "found": shown_version(found[path])}
        for path, expected in request.expected_versions.items()
        if not matches(expected, found[path])
    ]


def _version(image: FileImage | None) -> str:
    return full_version(image.content) if image else ABSENT
