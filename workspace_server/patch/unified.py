"""Unified diffs, as git and GNU diff make them and as people and models write them."""

import re
from collections.abc import Sequence

from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import FileOperation
from workspace_server.patch.syntax import syntax_error
from workspace_server.patch.unified_check import check_hunks
from workspace_server.patch.unified_hunks import (
    is_mail_signature,
    next_filled,
    read_hunk,
    starts_section,
)
from workspace_server.patch.unified_names import git_names, header_name
from workspace_server.patch.unified_section import Section

_EXTENDED = re.compile(
    r"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    r"|similarity index|dissimilarity index|index) (.+)"
)
_BINARY = ("GIT binary patch", "Binary files ")
_BETWEEN_FILES = ("```", "diff ", "Index: ", "Only in ", "-- ")  # never a line of a hunk
_BULLET_OR_RULE = re.compile(r"[-+] \S|-+\s*$")  # prose may begin a line with these
_LEAVE_OUT = "Leave other text out, or set it apart by an empty line."


def parse_unified(lines: Sequence[str], *, is_cut: bool) -> tuple[FileOperation, ...]:
    """Return one operation per file section; prose around the sections is passed over.

    `is_cut` says that the end of the last line is missing, and perhaps a CR with it. Raises
    InvalidPatch naming the line that is wrong, PathEscape for a path outside.
    """
    whole = _with_last_carriage_return(lines) if is_cut else lines
    return _Parser(_without_carriage_returns(whole)).document()


def _with_last_carriage_return(lines: Sequence[str]) -> Sequence[str]:
    """Give the last line the CR that the hunk's other lines have and that went with its LF."""
    *others, last = lines
    ended = (
        line
        for line, after in zip(reversed(others), reversed(lines), strict=False)
        if not (line.startswith("\\") or after.startswith("\\"))
    )
    is_alike = next(ended, "").endswith("\r") and last.startswith((" ", "+", "-"))
    return [*others, last + "\r"] if is_alike and not last.endswith("\r") else lines


def _without_carriage_returns(lines: Sequence[str]) -> Sequence[str]:
    """Drop the CRs of a patch that as a whole came through in CRLF: they say nothing of files."""
    filled = [line for line in lines if line and not line.startswith("```")]
    if filled and all(line.endswith("\r") for line in filled[:-1]):
        return [line.removesuffix("\r") for line in lines]
    return lines


class _Parser:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def document(self) -> tuple[FileOperation, ...]:
        self._pass_prose(is_apart=True)
        operations: list[FileOperation] = []
        while self._at < len(self._lines):
            operations.append(self._section())
        if not operations:
            raise InvalidPatch(
                "The diff has no file section, so there is nothing to change.",
                recovery="Give each file '--- a/path' and '+++ b/path' lines and '@@' hunks.",
            )
        return tuple(operations)

    def _section(self) -> FileOperation:
        section = Section(line=self._at + 1)
        self._git_headers(section)
        self._file_names(section)
        if not self._starts_with("@@"):
            self._pass_prose(is_apart=True)
        while self._starts_with("@@"):
            read = read_hunk(self._lines, self._at, len(section.hunks) + 1)
            section.hunks.append(read.hunk)
            self._at = read.end
            self._pass_prose(is_apart=read.is_as_stated)
        if section.hunks:
            check_hunks(section.hunks)
        return section.operation()

    def _git_headers(self, section: Section) -> None:
        line = self._lines[self._at].rstrip("\r")
        if not line.startswith("diff --"):
            return
        if not line.startswith("diff --git "):
            raise self._error("a diff with one old side", "Make the diff against one parent.")
        section.git_names = git_names(line.removeprefix("diff --git "))
        self._at += 1
        while self._at < len(self._lines):
            header = _EXTENDED.fullmatch(self._lines[self._at].rstrip("\r"))
            if not header:
                break
            section.extended[header[1]] = header[2]
            self._at += 1

    def _file_names(self, section: Section) -> None:
        if self._starts_with("--- "):
            old = header_name(self._lines[self._at].removeprefix("--- "))
            self._at += 1
            if not self._starts_with("+++ "):
                raise self._error("the '+++' line of the file", "Name a file on both lines.")
            new = header_name(self._lines[self._at].removeprefix("+++ "))
            section.names = (old, new)
            self._at += 1
        first_hunk = next_filled(self._lines, self._at)
        if first_hunk < len(self._lines) and self._lines[first_hunk].startswith("@@"):
            self._at = first_hunk

    def _pass_prose(self, *, is_apart: bool) -> None:
        """Go on to the next hunk or section; no line of a hunk may be lost on the way.

        Where a hunk's counts do not tell where it ends (`is_apart` is false), text after it
        counts as prose only if an empty line comes first and nothing in it looks like a hunk.
        """
        start = self._at
        while self._at < len(self._lines) and not starts_section(self._lines, self._at):
            if self._starts_with("@@"):
                if self._at == start and start > 0:
                    return
                raise self._error("the '---' and '+++' lines of a file first", _LEAVE_OUT)
            self._check_prose(start, is_apart=is_apart)
            self._at += 1

    def _check_prose(self, start: int, *, is_apart: bool) -> None:
        line = self._lines[self._at]
        if line.startswith(_BINARY):
            raise self._error("lines of text", "Leave binary files out; handle them by a command.")
        if self._starts_with("--- ") and self._starts_with("+++ ", after=1):
            raise self._error("a hunk under the file names", "Give each file at least one hunk.")
        if start > 0 and not is_mail_signature(self._lines, self._at):
            self._check_text_after_hunk(start, is_apart=is_apart)

    def _check_text_after_hunk(self, start: int, *, is_apart: bool) -> None:
        line = self._lines[self._at]
        is_first = start == self._at and self._lines[start - 1] not in ("", "\r")
        follows_directly = is_first and not line.startswith(_BETWEEN_FILES)
        if is_apart:
            looks_like_a_hunk = line.startswith(("+", "-")) and not _BULLET_OR_RULE.match(line)
        else:
            looks_like_a_hunk = line.startswith((" ", "+", "-")) or follows_directly
        if looks_like_a_hunk:
            self._at = start
            raise self._error("' ', '-', '+' or '@@' at the start of the line", _LEAVE_OUT)

    def _starts_with(self, prefix: str, after: int = 0) -> bool:
        at = self._at + after
        return at < len(self._lines) and self._lines[at].startswith(prefix)

    def _error(self, expected: str, recovery: str) -> InvalidPatch:
        at = min(self._at, len(self._lines) - 1)
        return syntax_error(at + 1, expected, self._lines[at], recovery)
