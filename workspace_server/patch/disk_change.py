"""A plan on its way to the disk: staged whole, put in place file by file, checked, or undone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import InvalidPatch, VersionConflict
from workspace_server.domain.paths import parent_of
from workspace_server.domain.version import ABSENT, full_version
from workspace_server.ledger.journal import JournalEntry
from workspace_server.patch.model import FileImage, Plan
from workspace_server.patch.undo import PathVerdict, Verdict, clear_away, put_back
from workspace_server.workspace.atomic_write import (
    FileIdentity,
    publish,
    refuse_read_only,
    remove,
    snapshot,
    stage,
    sync_folder,
)
from workspace_server.workspace.root import Root


@dataclass(frozen=True, kw_only=True)
class Step:
    """What is to happen to one path."""

    entry: JournalEntry
    after: FileImage | None
    identity: FileIdentity | None  # of the file that is there, and must still be


class DiskChange:
    """The steps of one patch. All of it is blocking file work, and raises the client's errors."""

    def __init__(self, root: Root, steps: Sequence[Step]) -> None:
        self._root = root
        self._steps = steps
        self._begun: list[Step] = []
        self.folders = _missing_folders(root, steps)
        self.entries = tuple(step.entry for step in steps)

    def carry_out(self) -> None:
        """Bring the disk to where the plan wants it, durably; raise if it is not there then."""
        self._make_folders()
        self._stage()
        for step in self._steps:
            self._put_in_place(step)
        for folder in sorted({parent_of(entry.path) for entry in self.entries}):
            sync_folder(self._root, folder)
        self._verify()

    def undo(self) -> tuple[PathVerdict, ...]:
        """Bring back what was put in place, clear away the rest, and judge each path."""
        clear_away(self._root, self.entries, ())  # first: it makes room
        begun = [step.entry for step in self._begun]
        images = {
            entry.path: entry.before_content for entry in begun if entry.before_content is not None
        }
        judged = put_back(self._root, begun, images)
        clear_away(self._root, self.entries, self.folders)
        return judged + tuple(_never_begun(entry) for entry in self.entries if entry not in begun)

    def _make_folders(self) -> None:
        for step in self._steps:
            if step.after is not None:
                self._root.make_folders(step.entry.path)
        for folder in self.folders:
            sync_folder(self._root, parent_of(folder))

    def _stage(self) -> None:
        for step in self._steps:
            if step.after is not None:
                image, entry = step.after, step.entry
                stage(self._root, entry.path, image.content, image.mode, entry.temporary)

    def _put_in_place(self, step: Step) -> None:
        self._begun.append(step)
        entry = step.entry
        try:
            if step.after is not None:
                publish(self._root, entry.path, entry.temporary, step.identity)
            else:
                assert step.identity is not None, "only a file that is there is removed"
                remove(self._root, entry.path, entry.temporary, step.identity)
        except VersionConflict:
            self._begun.remove(step)  # what is there is somebody else's, and not ours to undo
            raise

    def _verify(self) -> None:
        differing = [step.entry.path for step in self._steps if not self._is_in_place(step)]
        if differing:
            raise InvalidPatch(
                f"After the patch the disk did not hold its result: {', '.join(differing)}.",
                recovery="Something else changes these files; read them again, then repeat.",
                details={"paths": differing},
            )

    def _is_in_place(self, step: Step) -> bool:
        found = snapshot(self._root, step.entry.path)
        if found is None or step.after is None:
            return found is None and step.after is None
        return (found.content, found.mode) == (step.after.content, step.after.mode)


def steps_of(
    operation_id: str, plan: Plan, identities: Mapping[str, FileIdentity]
) -> tuple[Step, ...]:
    """Return the steps of `plan`, removals last; raise FileOperationFailed for a read-only file."""
    # A moved file is there twice for a moment rather than not at all.
    ordered = sorted(plan.changes, key=lambda change: change.after is None)
    for change in ordered:
        if change.before is not None:
            refuse_read_only(change.path, change.before.mode)
    return tuple(
        Step(
            entry=JournalEntry(
                ordinal=ordinal,
                path=change.path,
                before_version=_version(change.before),
                before_mode=change.before.mode if change.before else None,
                before_content=change.before.content if change.before else None,
                after_version=_version(change.after),
                after_mode=change.after.mode if change.after else None,
                temporary=f".{operation_id}.{ordinal}.tmp",
            ),
            after=change.after,
            identity=identities.get(change.path),
        )
        for ordinal, change in enumerate(ordered)
    )


def _version(image: FileImage | None) -> str:
    return ABSENT if image is None else full_version(image.content)


def _never_begun(entry: JournalEntry) -> PathVerdict:
    return PathVerdict(entry=entry, verdict=Verdict.AS_BEFORE, now=entry.before_version)


def _missing_folders(root: Root, steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the folders that must be made, each after the one that holds it."""
    missing: list[str] = []
    for step in steps:
        if step.after is not None:
            missing += _missing_above(root, step.entry.path)
    return tuple(dict.fromkeys(missing))


def _missing_above(root: Root, path: str) -> list[str]:
    folder, missing = parent_of(path), list[str]()
    while folder != "." and root.status(folder) is None:
        missing.insert(0, folder)
        folder = parent_of(folder)
    return missing
