"""The way back: where each path stands between a plan's before and after, and putting it back.

Only a path that stands just as planned is put back. What anybody else wrote is left alone.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.domain.paths import parent_of
from workspace_server.domain.version import ABSENT, full_version
from workspace_server.ledger.journal import JournalEntry
from workspace_server.workspace.atomic_write import (
    FileIdentity,
    Snapshot,
    discard,
    publish,
    remove,
    snapshot,
    stage,
    sync_folder,
)
from workspace_server.workspace.file_errors import translated
from workspace_server.workspace.root import Root


class Verdict(StrEnum):
    """What became of a path of a patch that was not carried through."""

    AS_BEFORE = "as_before"  # nothing of the patch ever showed there
    RESTORED = "restored"  # it was changed, and is as before again
    AS_PLANNED = "as_planned"  # it was changed, and could not be put back
    CHANGED_BY_OTHERS = "changed_by_others"  # neither as before nor as planned: left alone
    UNREADABLE = "unreadable"  # nothing is known of it


@dataclass(frozen=True, kw_only=True)
class PathVerdict:
    """A path, what became of it, and its version as far as it is known."""

    entry: JournalEntry
    verdict: Verdict
    now: str | None

    @property
    def is_as_before(self) -> bool:
        """Whether nothing of the patch is left there."""
        return self.verdict in (Verdict.AS_BEFORE, Verdict.RESTORED)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found at the path of an entry."""

    entry: JournalEntry
    readable: bool
    version: str | None  # full, or `absent`; None if it cannot be read
    mode: int | None
    identity: FileIdentity | None

    @property
    def is_before(self) -> bool:
        """Whether the path is as it was before the patch."""
        return self._is(self.entry.before_version, self.entry.before_mode)

    @property
    def is_after(self) -> bool:
        """Whether the path is as the patch wants it."""
        return self._is(self.entry.after_version, self.entry.after_mode)

    def _is(self, version: str, mode: int | None) -> bool:
        # The mode decides only where it alone was to change: elsewhere another's chmod counts
        # as little as it does to whoever edits the file.
        only_mode = self.entry.before_version == self.entry.after_version
        return self.version == version and (not only_mode or self.mode == mode)


def find(root: Root, entry: JournalEntry) -> Finding:
    """Look at the path of `entry`; whatever refuses to be read is a finding too."""
    try:
        found = snapshot(root, entry.path)
    except WorkspaceServerError:
        return Finding(entry=entry, readable=False, version=None, mode=None, identity=None)
    return Finding(
        entry=entry,
        readable=True,
        version=_version(found),
        mode=found.mode if found else None,
        identity=found.identity if found else None,
    )


def verdict_of(finding: Finding) -> PathVerdict:
    """Judge a path that is left as it is."""
    if not finding.readable:
        verdict = Verdict.UNREADABLE
    elif finding.is_before:
        verdict = Verdict.AS_BEFORE
    elif finding.is_after:
        verdict = Verdict.AS_PLANNED
    else:
        verdict = Verdict.CHANGED_BY_OTHERS
    return PathVerdict(entry=finding.entry, verdict=verdict, now=finding.version)


def put_back(
    root: Root, entries: Iterable[JournalEntry], before_images: Mapping[str, bytes]
) -> tuple[PathVerdict, ...]:
    """Give each path that stands as planned its content and mode of before, durably.

    `before_images` are by path; where one is missing, the path is left as it is.
    """
    return tuple(_put_back(root, entry, before_images.get(entry.path)) for entry in entries)


def clear_away(root: Root, entries: Sequence[JournalEntry], folders: Sequence[str]) -> None:
    """Remove temporaries, and those of `folders` that are empty; what refuses is left."""
    clear_temporaries(root, entries)
    root.remove_folders(tuple(folders))
    for folder in folders:
        with suppress(WorkspaceServerError):
            sync_folder(root, parent_of(folder))


def clear_temporaries(root: Root, entries: Iterable[JournalEntry]) -> None:
    """Remove what was staged beside the paths; what refuses is left."""
    for entry in entries:
        with suppress(WorkspaceServerError):
            discard(root, entry.path, entry.temporary)


def sync_all(root: Root, entries: Iterable[JournalEntry]) -> None:
    """Make durable what stands at the paths of `entries`, and that nothing stands there."""
    for entry in entries:
        if entry.after_version != ABSENT:
            _sync_file(root, entry.path)
    for folder in sorted({parent_of(entry.path) for entry in entries}):
        sync_folder(root, folder)


def _put_back(root: Root, entry: JournalEntry, before_image: bytes | None) -> PathVerdict:
    found = find(root, entry)
    if not found.is_after or found.is_before:
        return verdict_of(found)
    if before_image is None and entry.before_version != ABSENT:
        return verdict_of(found)
    try:
        _restore(root, entry, before_image, found.identity)
    except WorkspaceServerError:
        return verdict_of(find(root, entry))
    return PathVerdict(entry=entry, verdict=Verdict.RESTORED, now=entry.before_version)


def _restore(
    root: Root, entry: JournalEntry, before_image: bytes | None, identity: FileIdentity | None
) -> None:
    clear_temporaries(root, (entry,))
    try:
        if before_image is not None and entry.before_mode is not None:
            stage(root, entry.path, before_image, entry.before_mode, entry.temporary)
            publish(root, entry.path, entry.temporary, identity)
        else:
            assert identity is not None, "it stands as planned, so it is there"
            remove(root, entry.path, entry.temporary, identity)
    finally:
        clear_temporaries(root, (entry,))
    sync_folder(root, parent_of(entry.path))


def _sync_file(root: Root, path: str) -> None:
    descriptor = root.open_file(path)
    try:
        with translated(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _version(found: Snapshot | None) -> str:
    return ABSENT if found is None else full_version(found.content)
