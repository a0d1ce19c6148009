"""One file of a unified diff: what its headers and hunks ask for."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import (
    AddFile,
    DeleteFile,
    FileOperation,
    Hunk,
    LineKind,
    PatchLine,
    PathName,
    UpdateFile,
)
from workspace_server.patch.syntax import workspace_path
from workspace_server.patch.unified_names import (
    added_path,
    deleted_name,
    has_prefixes,
    unquoted,
    updated_name,
)

_EXECUTABLE = 0o111
_SPECIAL_TYPES = {"120": "a symbolic link", "160": "a submodule"}
_MODE_HEADERS = ("old mode", "new mode", "new file mode", "deleted file mode")


@dataclass(kw_only=True)
class Section:
    """The headers and hunks of one file, as they stand in the diff."""

    line: int  # of the patch, from 1
    git_names: tuple[str, str] | None = None  # from `diff --git`, where they can be told apart
    names: tuple[str | None, str | None] | None = None  # from `---` and `+++`; None: no file
    extended: dict[str, str] = field(default_factory=dict)  # git's own headers
    hunks: list[Hunk] = field(default_factory=list)

    def operation(self) -> FileOperation:
        """Return what the section asks for; raise InvalidPatch if unclear or not offered."""
        self._refuse_special_files()
        if "rename from" in self.extended and "rename to" in self.extended:
            return self._update(self._extended_name("rename from"), self._path("rename to"))
        old, new = self.names or self.git_names or (None, None)
        if "new file mode" in self.extended or (old is None and new is not None):
            return self._add(new)
        if "deleted file mode" in self.extended or (new is None and old is not None):
            return self._delete(old)
        if old is None or new is None:
            raise self._error("names no file", "Give each file its '---' and '+++' lines.")
        return self._update(updated_name(old, new, prefixed=self._prefixed()), None)

    def _add(self, name: str | None) -> AddFile:
        if name is None:
            raise self._error("adds a file without a name", "Name it on the '+++' line.")
        return AddFile(
            path=added_path(name, prefixed=self._prefixed()),
            lines=self._lines_of_kind(LineKind.ADDED, "adds a file, but has lines without '+'"),
            executable=self._is_executable("new file mode"),
        )

    def _delete(self, name: str | None) -> DeleteFile:
        if name is None:
            raise self._error("deletes a file without a name", "Name it on the '---' line.")
        return DeleteFile(
            name=deleted_name(name, prefixed=self._prefixed()),
            lines=self._lines_of_kind(LineKind.REMOVED, "deletes a file, but keeps lines of it"),
        )

    def _update(self, name: PathName, move_to: str | None) -> UpdateFile:
        has_mode = "new mode" in self.extended
        if not (self.hunks or has_mode or move_to):
            raise self._error("has no hunk", "Give it a hunk, or leave the file out.")
        return UpdateFile(
            name=name,
            move_to=move_to,
            hunks=tuple(self.hunks),
            executable=self._is_executable("new mode") if has_mode else None,
        )

    def _lines_of_kind(self, kind: LineKind, complaint: str) -> tuple[PatchLine, ...]:
        lines = tuple(line for hunk in self.hunks for line in _without_separators(hunk))
        if any(line.kind is not kind for line in lines):
            raise self._error(complaint, f"Begin every line of this file with '{kind.value}'.")
        return lines

    def _refuse_special_files(self) -> None:
        if "copy from" in self.extended or "copy to" in self.extended:
            raise self._error("copies a file", "Add the copy as a new file with all its lines.")
        modes = [self.extended.get(header, "") for header in _MODE_HEADERS]
        modes.append(self.extended.get("index", "").rpartition(" ")[2])
        for mode in modes:
            special = _SPECIAL_TYPES.get(mode[:3]) if len(mode) == 6 else None
            if special:
                raise self._error(f"is about {special}", "Only regular files can be patched.")

    def _is_executable(self, header: str) -> bool:
        mode = self.extended.get(header, "100644")
        if len(mode) != 6 or not mode.startswith("100") or not mode[3:].isdigit():
            raise self._error(f"has the mode {mode!r}", "Use 100644 or 100755.")
        return bool(int(mode[3:], 8) & _EXECUTABLE)

    def _prefixed(self) -> bool | None:
        """Tell whether names here have a prefix such as `a/`; None if only the disk can tell."""
        return has_prefixes(*self.git_names) if self.git_names else None

    def _extended_name(self, header: str) -> PathName:
        return PathName(candidates=(self._path(header),))

    def _path(self, header: str) -> str:
        return workspace_path(unquoted(self.extended[header]))

    def _error(self, complaint: str, recovery: str) -> InvalidPatch:
        return InvalidPatch(
            f"The file section at line {self.line} of the patch {complaint}.",
            recovery=recovery,
            details={"line": self.line},
        )


def _without_separators(hunk: Hunk) -> Sequence[PatchLine]:
    return hunk.lines[: len(hunk.lines) - hunk.loose_blanks]
