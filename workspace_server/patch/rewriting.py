"""The new content of a file: its own bytes everywhere but in the lines that a patch names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.file_text import FileText, without_terminator, write_text
from workspace_server.patch.model import Hunk, HunkReport, LineKind, LineRange, PatchLine
from workspace_server.patch.placement import PlacedHunk

_FOREIGN_BYTE = re.compile("[\udc80-\udcff]")  # surrogate escapes
_BEYOND_ASCII = re.compile("[^\x00-\x7f\udc80-\udcff]")


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """What the hunks made of a file."""

    content: bytes
    ranges: tuple[LineRange, ...]
    hunks: tuple[HunkReport, ...]


def rewrite(path: str, file: FileText, placed: Sequence[PlacedHunk]) -> Rewritten:
    """Apply hunks, sorted by place. Raises InvalidPatch if that would mix two encodings."""
    writer = _Writer(file)
    for hunk in placed:
        writer.write(hunk)
    lines = writer.finished(placed)
    _check_encoding(path, file, lines, placed)
    return Rewritten(
        content=write_text(lines, file.has_mark),
        ranges=_ranges(writer.added),
        hunks=tuple(writer.reports),
    )


class _Writer:
    def __init__(self, file: FileText) -> None:
        self._file = file
        self._usual = file.usual_terminator()
        self._lines: list[str] = []
        self._copied = 0  # so many lines of the old file are dealt with
        self.added: list[int] = []  # lines of the new file, from 1
        self.reports: list[HunkReport] = []

    def write(self, placed: PlacedHunk) -> None:
        """Copy the file up to the block, then write the block."""
        self._copy_to(placed.start)
        # context that was already copied with the hunk before lies behind us
        new_start = len(self._lines) + 1 - (self._copied - placed.start)
        is_exact = _has_the_files_line_ends(placed, self._file)
        at = placed.start
        for line in placed.hunk.lines:
            match line.kind:
                case LineKind.CONTEXT:
                    at += 1
                    self._copy_to(at)
                case LineKind.REMOVED:
                    at += 1
                    self._copied = at
                case LineKind.ADDED:
                    self._add(line.text, line.terminator if is_exact else self._neighbours(at))
        self.reports.append(_report(placed, new_start))

    def finished(self, placed: Sequence[PlacedHunk]) -> list[str]:
        """Copy the rest; return all lines, ended as they must be."""
        self._copy_to(len(self._file.raw))
        lines = self._lines
        for number, line in enumerate(lines[:-1]):
            if not line.endswith("\n"):
                lines[number] = self._ended(number)
        if lines:
            is_ended = self._ends_with_newline(placed)
            lines[-1] = self._ended(len(lines) - 1) if is_ended else _unended(lines[-1])
        return lines

    def _copy_to(self, end: int) -> None:
        if end > self._copied:
            self._lines += self._file.raw[self._copied : end]
            self._copied = end

    def _add(self, text: str, terminator: str) -> None:
        self._lines.append(text + terminator)
        self.added.append(len(self._lines))

    def _neighbours(self, at: int) -> str:
        """Return the line end of the old line before line `at`, else after it, else the usual."""
        for position in (at - 1, at):
            if 0 <= position < len(self._file.raw):
                terminator = self._file.terminator(position)
                if terminator.endswith("\n"):
                    return terminator
        return self._usual

    def _ended(self, number: int) -> str:
        line = self._lines[number]
        if line.endswith("\n"):
            return line
        return line + "\n" if line.endswith("\r") else line + self._usual

    def _ends_with_newline(self, placed: Sequence[PlacedHunk]) -> bool:
        """The patch decides if it says something of the file's end; else it is as it was."""
        last = next((each.hunk for each in reversed(placed) if _speaks_of_the_end(each.hunk)), None)
        if last is None:
            return self._file.is_ended
        return not last.new or last.new[-1].is_ended


def _speaks_of_the_end(hunk: Hunk) -> bool:
    return any(not line.is_ended for line in hunk.lines)


def _unended(line: str) -> str:
    """Return a last line without its end; a lone CR at the end of a file is text, and stays."""
    return without_terminator(line) if line.endswith("\n") else line


def _has_the_files_line_ends(placed: PlacedHunk, file: FileText) -> bool:
    """Tell whether patch and file end the old lines alike: then it means those of the new ones."""
    old = placed.hunk.old
    return (
        placed.hunk.states_terminators
        and bool(old)
        and all(
            line.terminator == file.terminator(position)
            for position, line in enumerate(old, placed.start)
        )
    )


def _report(placed: PlacedHunk, new_start: int) -> HunkReport:
    return HunkReport(
        matched=placed.matched,
        old_start=placed.start + 1,
        new_start=new_start,
        lines_added=placed.hunk.count(LineKind.ADDED),
        lines_removed=placed.hunk.count(LineKind.REMOVED),
    )


def _ranges(numbers: Sequence[int]) -> tuple[LineRange, ...]:
    """Return the runs in ascending line numbers."""
    ranges: list[LineRange] = []
    for number in numbers:
        if ranges and ranges[-1].end == number - 1:
            ranges[-1] = LineRange(start=ranges[-1].start, end=number)
        else:
            ranges.append(LineRange(start=number, end=number))
    return tuple(ranges)


def _check_encoding(
    path: str, file: FileText, after: Sequence[str], placed: Sequence[PlacedHunk]
) -> None:
    """Refuse to write UTF-8 beyond ASCII into a file that is in some other encoding."""
    added = (line for each in placed for line in each.hunk.lines if _is_beyond_ascii(line))
    if next(added, None) is None:
        return
    is_foreign = _is_foreign(file.raw) and _is_foreign(after)
    if is_foreign and not any(_BEYOND_ASCII.search(line) for line in file.raw):
        raise InvalidPatch(
            f"{path} is not UTF-8, and the patch adds characters beyond ASCII: the file would hold "
            "two encodings.",
            recovery="Convert the file to UTF-8 first, or write these characters in ASCII.",
            details={"path": path},
        )


def _is_beyond_ascii(line: PatchLine) -> bool:
    return line.kind is LineKind.ADDED and _BEYOND_ASCII.search(line.text) is not None


def _is_foreign(lines: Sequence[str]) -> bool:
    return any(_FOREIGN_BYTE.search(line) for line in lines)
