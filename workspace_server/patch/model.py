"""What a patch says, what a path holds, and what a patch makes of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

# files and what becomes of them


@dataclass(frozen=True, kw_only=True)
class FileImage:
    """What a path holds."""

    content: bytes
    mode: int  # permission bits, within 0o777


@dataclass(frozen=True, kw_only=True)
class PathChange:
    """One path before and after; None where nothing is there. A move is two of these."""

    path: str
    before: FileImage | None
    after: FileImage | None


class ChangeKind(StrEnum):
    """What became of a file."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    MOVE = "move"  # with or without changed lines


@dataclass(frozen=True, kw_only=True)
class LineRange:
    """Lines of the new file, counted from 1, both ends included."""

    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class HunkReport:
    """Where a hunk was found and what it did there."""

    matched: str  # "exact"; "line-number" for an insertion without context, which has no more
    old_start: int  # first line of the block in the old file, from 1
    new_start: int  # the same block's first line in the new file, from 1
    lines_added: int
    lines_removed: int


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """What the patch made of one file, for the client."""

    path: str
    kind: ChangeKind
    moved_from: str | None
    lines_added: int
    lines_removed: int
    ranges: tuple[LineRange, ...]
    hunks: tuple[HunkReport, ...]
    mode_changed: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Every path that a patch changes, and the same told per file."""

    changes: tuple[PathChange, ...]
    files: tuple[FileReport, ...]


# what a patch says


class PatchFormat(StrEnum):
    """The languages a patch can be written in."""

    V4A = "v4a"  # *** Begin Patch
    UNIFIED = "unified"  # diff -u, git diff


class LineKind(StrEnum):
    """What a line of a hunk is; the value is its prefix in a patch."""

    CONTEXT = " "
    REMOVED = "-"
    ADDED = "+"


class PatchLine(NamedTuple):  # a patch may have a million: a frozen dataclass is too slow here
    """One line of a hunk."""

    kind: LineKind
    text: str  # without prefix and terminator
    terminator: str = "\n"  # as the patch spells it: LF, CRLF; "" or CR if it says "not ended"

    @property
    def is_old(self) -> bool:
        """Whether the file holds the line before the change."""
        return self.kind is not LineKind.ADDED

    @property
    def is_new(self) -> bool:
        """Whether the file holds the line after the change."""
        return self.kind is not LineKind.REMOVED

    @property
    def is_ended(self) -> bool:
        """Whether a line end follows; only the last line of a file can be without."""
        return self.terminator.endswith("\n")


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """A block of lines to find, and what to make of it."""

    number: int  # within its file, from 1
    patch_line: int  # where the patch has it, from 1
    lines: tuple[PatchLine, ...]
    loose_blanks: int = 0  # so many blank lines at the end may be mere separators
    anchors: tuple[str, ...] = ()  # lines that come before the block, in this order
    at_end: bool = False  # the block is the end of the file
    stated_start: int | None = None  # old line number by the patch: a hint
    is_stated_insertion: bool = False  # the patch says: no old lines, insert after stated_start
    states_terminators: bool = False  # whether line ends in the patch are those meant for the file

    @property
    def old(self) -> tuple[PatchLine, ...]:
        """The block as it must be found."""
        return tuple(line for line in self.lines if line.is_old)

    @property
    def new(self) -> tuple[PatchLine, ...]:
        """The block as it will be."""
        return tuple(line for line in self.lines if line.is_new)

    def count(self, kind: LineKind) -> int:
        """Return the number of lines of that kind."""
        return sum(line.kind is kind for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class PathName:
    """A path as a patch writes it: which file it means may depend on what exists."""

    candidates: tuple[str, ...]  # likeliest first; with several, one at most may exist
    rival: str | None = None  # the header's other name; if that exists, the patch is unclear


@dataclass(frozen=True, kw_only=True)
class AddFile:
    """A file that must not exist yet."""

    path: str
    lines: tuple[PatchLine, ...]
    executable: bool


@dataclass(frozen=True, kw_only=True)
class DeleteFile:
    """A file that goes; with `lines`, only if it holds exactly these."""

    name: PathName
    lines: tuple[PatchLine, ...] | None


@dataclass(frozen=True, kw_only=True)
class UpdateFile:
    """A file that changes in lines, name or mode."""

    name: PathName
    move_to: str | None
    hunks: tuple[Hunk, ...]
    executable: bool | None = None  # None: as it is


FileOperation = AddFile | DeleteFile | UpdateFile


@dataclass(frozen=True, kw_only=True)
class ParsedPatch:
    """A patch as read, before any file has been looked at."""

    format: PatchFormat
    operations: tuple[FileOperation, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the patch may read or write, in order, each once."""
        return tuple(dict.fromkeys(self._named()))

    def _named(self) -> Iterator[str]:
        for operation in self.operations:
            match operation:
                case AddFile(path=path):
                    yield path
                case DeleteFile(name=name):
                    yield from _spellings(name)
                case UpdateFile(name=name, move_to=move_to):
                    yield from _spellings(name)
                    if move_to is not None:
                        yield move_to


def _spellings(name: PathName) -> Iterator[str]:
    yield from name.candidates
    if name.rival is not None:
        yield name.rival
