"""Walk a workspace's files: ignore rules obeyed, links never followed, what is left out counted."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.domain.paths import is_inside_git
from workspace_server.workspace.atomic_write import snapshot
from workspace_server.workspace.glob_pattern import Glob
from workspace_server.workspace.ignore import IgnoreRules
from workspace_server.workspace.root import Root

MAX_ENTRIES = 200_000
MAX_SECONDS = 10.0
MAX_RULES_BYTES = 1024 * 1024  # a larger file of ignore rules is not read

_IGNORE_FILE = ".gitignore"


class Skipped(StrEnum):
    """Why something that the glob asks for, or that may hold such files, is not listed."""

    IGNORED_FILES = "ignored_files"
    IGNORED_FOLDERS = "ignored_folders"  # one each, whatever is inside
    SYMLINKS = "symlinks"
    SPECIAL_FILES = "special_files"
    UNREADABLE_FOLDERS = "unreadable_folders"
    UNDECODABLE_NAMES = "undecodable_names"  # not UTF-8: no reply can carry them


class _Kind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, kw_only=True)
class _Entry:
    name: str
    kind: _Kind


@dataclass(frozen=True, kw_only=True)
class _Rules:
    """Ignore rules, and how many components lie above the folder they are written for."""

    depth: int
    rules: IgnoreRules


@dataclass(frozen=True, kw_only=True)
class _Folder:
    """A folder still to be walked, with the rules of all above it, the outermost first."""

    path: str
    rules: tuple[_Rules, ...]


class TreeWalk:
    """One walk over the regular files beneath a root, in no order; `.git` is never entered.

    After `files` is through, `skipped` and `is_complete` tell what the walk left out.
    """

    def __init__(
        self,
        root: Root,
        *,
        glob: Glob | None,
        include_ignored: bool,
        max_entries: int = MAX_ENTRIES,
        max_seconds: float = MAX_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.skipped: Counter[Skipped] = Counter()
        self.is_complete = True
        self._root = root
        self._glob = glob
        self._include_ignored = include_ignored
        self._entries_left = max_entries
        self._monotonic = monotonic
        self._deadline = monotonic() + max_seconds
        self._folders: list[_Folder] = []

    def files(self) -> Iterator[str]:
        """Yield the path of every file that is asked for; raises if the root itself is gone."""
        self._folders = [_Folder(path=".", rules=self._excluded_by_repository())]
        while self._folders and self._may_go_on():
            folder = self._folders.pop()
            try:
                entries = self._entries(folder.path)
            except (OSError, WorkspaceServerError):
                if folder.path == ".":
                    raise
                self.skipped[Skipped.UNREADABLE_FOLDERS] += 1
                continue
            yield from self._files_among(entries, folder)

    def _may_go_on(self) -> bool:
        if self._entries_left <= 0 or self._monotonic() > self._deadline:
            self.is_complete = False
        return self.is_complete

    def _entries(self, folder: str) -> list[_Entry]:
        with self._root.folder(folder) as descriptor, os.scandir(descriptor) as found:
            entries = [_entry(each) for each in islice(found, self._entries_left)]
            if next(found, None) is not None:
                self.is_complete = False
        self._entries_left -= len(entries)
        return entries

    def _files_among(self, entries: list[_Entry], folder: _Folder) -> Iterator[str]:
        rules = folder.rules + self._rules_written_in(folder.path, entries)
        for entry in entries:
            path = entry.name if folder.path == "." else f"{folder.path}/{entry.name}"
            if is_inside_git(entry.name) or not self._is_asked_for(path, entry.kind):
                continue
            reason = self._reason_to_skip(path, entry, rules)
            if reason is not None:
                self.skipped[reason] += 1
            elif entry.kind is _Kind.FOLDER:
                self._folders.append(_Folder(path=path, rules=rules))
            else:
                yield path

    def _is_asked_for(self, path: str, kind: _Kind) -> bool:
        if self._glob is None:
            return True
        # A link may be one to a folder.
        may_hold = kind in (_Kind.FOLDER, _Kind.LINK) and self._glob.may_match_below(path)
        return may_hold or (kind is not _Kind.FOLDER and self._glob.matches(path))

    def _reason_to_skip(
        self, path: str, entry: _Entry, rules: tuple[_Rules, ...]
    ) -> Skipped | None:
        if not _is_utf_8(entry.name):
            return Skipped.UNDECODABLE_NAMES
        is_folder = entry.kind is _Kind.FOLDER
        if _is_ignored(path, rules, is_folder):
            return Skipped.IGNORED_FOLDERS if is_folder else Skipped.IGNORED_FILES
        if entry.kind is _Kind.LINK:
            return Skipped.SYMLINKS
        return Skipped.SPECIAL_FILES if entry.kind is _Kind.SPECIAL else None

    def _excluded_by_repository(self) -> tuple[_Rules, ...]:
        return () if self._include_ignored else self._rules_in_file(".git/info/exclude", depth=0)

    def _rules_written_in(self, folder: str, entries: list[_Entry]) -> tuple[_Rules, ...]:
        if self._include_ignored or _IGNORE_FILE not in (entry.name for entry in entries):
            return ()
        if folder == ".":
            return self._rules_in_file(_IGNORE_FILE, depth=0)
        return self._rules_in_file(f"{folder}/{_IGNORE_FILE}", depth=folder.count("/") + 1)

    def _rules_in_file(self, path: str, depth: int) -> tuple[_Rules, ...]:
        try:
            found = snapshot(self._root, path, MAX_RULES_BYTES)
        except WorkspaceServerError:  # git reads no rules through a link either
            return ()
        if found is None:
            return ()
        text = found.content.decode("utf-8", "surrogateescape")
        return (_Rules(depth=depth, rules=IgnoreRules(text)),)


def _entry(found: "os.DirEntry[str]") -> _Entry:
    if found.is_symlink():
        kind = _Kind.LINK
    elif found.is_dir(follow_symlinks=False):
        kind = _Kind.FOLDER
    else:
        kind = _Kind.FILE if found.is_file(follow_symlinks=False) else _Kind.SPECIAL
    return _Entry(name=found.name, kind=kind)


def _is_ignored(path: str, rules: tuple[_Rules, ...], is_folder: bool) -> bool:
    parts = path.split("/")
    for each in reversed(rules):
        verdict = each.rules.ignores(parts[each.depth :], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def _is_utf_8(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)
