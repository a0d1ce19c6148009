"""The V4A patch language: `*** Begin Patch`, operations on files, `*** End Patch`."""

import re
from collections.abc import Sequence

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
from workspace_server.patch.syntax import syntax_error, workspace_path

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File: "
DELETE = "*** Delete File: "
UPDATE = "*** Update File: "
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"
_ENVIRONMENT = "*** Environment ID:"
_HEADERS = f"'{ADD.strip()}', '{UPDATE.strip()}', '{DELETE.strip()}' or '{END}'"
_WRITE_HEADER = "Write one header line per file, and nothing else between files."
_WRITE_PREFIX = "Begin each line of a hunk with ' ' (context), '-' (removed) or '+' (added)."
_LINE_HINT = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


def parse_v4a(lines: Sequence[str], first_line: int) -> tuple[FileOperation, ...]:
    """Return the operations of a document; its first line is line `first_line` of the patch.

    Raises InvalidPatch naming the line that is wrong, PathEscape for a path outside.
    """
    return _Parser(lines, first_line).document()


class _Parser:
    def __init__(self, lines: Sequence[str], first_line: int) -> None:
        self._lines = [line.removesuffix("\r") for line in lines]
        self._offset = first_line
        self._at = 0
        self._end = len(self._lines)

    def document(self) -> tuple[FileOperation, ...]:
        self._frame()
        operations: list[FileOperation] = []
        while self._skip_blank_lines():
            operations.append(self._operation())
        if not operations:
            raise InvalidPatch(
                "The patch names no file, so there is nothing to change.",
                recovery=f"Write an operation between '{BEGIN}' and '{END}'.",
            )
        return tuple(operations)

    def _frame(self) -> None:
        """Step over the begin marker and leave the end marker out."""
        if self._lines[0].strip() != BEGIN:
            raise self._error(f"'{BEGIN}'", "Begin the patch with that line.")
        self._at = len(self._lines) - 1
        if self._lines[-1].strip() != END:
            raise self._error(
                f"'{END}'", "End the patch with that line and write nothing after it."
            )
        self._at, self._end = 1, len(self._lines) - 1

    def _operation(self) -> FileOperation:
        header = self._lines[self._at].lstrip()
        if header.startswith(ADD):
            return self._add(header.removeprefix(ADD))
        if header.startswith(DELETE):
            return self._delete(header.removeprefix(DELETE))
        if header.startswith(UPDATE):
            return self._update(header.removeprefix(UPDATE))
        raise self._header_error(header.rstrip())

    def _header_error(self, header: str) -> InvalidPatch:
        if header.startswith(_ENVIRONMENT):
            return self._error(
                _HEADERS, "There is one environment here: leave the Environment ID line out."
            )
        if header.startswith("+"):
            return self._error(
                _HEADERS, "Write an empty line of an added file as a '+' alone, not as nothing."
            )
        return self._error(_HEADERS, _WRITE_HEADER)

    def _add(self, name: str) -> AddFile:
        path = workspace_path(name.strip())
        self._at += 1
        lines: list[PatchLine] = []
        while self._at < self._end and self._lines[self._at].startswith("+"):
            lines.append(PatchLine(LineKind.ADDED, self._lines[self._at][1:]))
            self._at += 1
        return AddFile(path=path, lines=tuple(lines), executable=False)

    def _delete(self, name: str) -> DeleteFile:
        self._at += 1
        return DeleteFile(name=_name_of(name), lines=None)

    def _update(self, name: str) -> UpdateFile:
        header_at = self._at
        self._at += 1
        move_to = self._move()
        hunks: list[Hunk] = []
        while self._skip_blank_lines() and not self._at_header():
            hunks.append(self._hunk(len(hunks) + 1, is_move=move_to is not None))
        if not hunks and move_to is None:
            self._at = header_at
            raise self._error(
                "an update with at least one hunk", "Write '@@' and the lines to change below it."
            )
        return UpdateFile(name=_name_of(name), move_to=move_to, hunks=tuple(hunks), executable=None)

    def _move(self) -> str | None:
        if self._at >= self._end or not self._lines[self._at].startswith(_MOVE):
            return None
        self._at += 1
        return workspace_path(self._lines[self._at - 1].removeprefix(_MOVE).strip())

    def _hunk(self, number: int, *, is_move: bool) -> Hunk:
        start = self._at
        anchors, stated_start = self._anchors()
        lines, loose_blanks = self._body()
        changes = any(line.kind is not LineKind.CONTEXT for line in lines)
        if not lines or not (changes or is_move):
            self._at = start
            raise self._error("a hunk that adds or removes a line", _WRITE_PREFIX)
        return Hunk(
            number=number,
            patch_line=start + self._offset,
            lines=tuple(lines),
            loose_blanks=loose_blanks,
            anchors=anchors,
            at_end=self._end_of_file(),
            stated_start=stated_start,
        )

    def _anchors(self) -> tuple[tuple[str, ...], int | None]:
        anchors: list[str] = []
        stated_start: int | None = None
        while self._at < self._end and self._lines[self._at].startswith("@@"):
            line = self._lines[self._at].rstrip()
            hint = _LINE_HINT.match(line)
            if hint:
                stated_start = int(hint[1])
            elif line not in ("@@", "@@ @@", "@@ ... @@"):
                anchors.append(self._anchor(line))
            self._at += 1
        return tuple(anchors), stated_start

    def _anchor(self, line: str) -> str:
        if not line.startswith("@@ "):
            raise self._error("'@@' alone or '@@ ' and a line of the file", _WRITE_PREFIX)
        return line.removeprefix("@@ ").removesuffix(" @@")

    def _body(self) -> tuple[list[PatchLine], int]:
        """Return the lines of a hunk, and how many at its end may be mere separators."""
        lines: list[PatchLine] = []
        loose_blanks = 0
        while self._at < self._end and not self._at_hunk_end():
            line = self._lines[self._at]
            loose_blanks = 0 if line else loose_blanks + 1
            lines.append(self._body_line(line))
            self._at += 1
        return lines, loose_blanks

    def _body_line(self, line: str) -> PatchLine:
        if not line:
            return PatchLine(LineKind.CONTEXT, "")
        if line[0] not in " -+":
            raise self._error("a line of a hunk, '@@' or the next header", _WRITE_PREFIX)
        return PatchLine(LineKind(line[0]), line[1:])

    def _at_hunk_end(self) -> bool:
        line = self._lines[self._at]
        return line.startswith("@@") or line.rstrip() == _END_OF_FILE or self._at_header()

    def _end_of_file(self) -> bool:
        if self._at >= self._end or self._lines[self._at].rstrip() != _END_OF_FILE:
            return False
        self._at += 1
        if self._skip_blank_lines() and not self._lines[self._at].startswith(("@@", "*** ")):
            raise self._error(f"'@@' or the next header after '{_END_OF_FILE}'", _WRITE_HEADER)
        return True

    def _at_header(self) -> bool:
        """Tell whether a header is due here; padded ones are content, inside an update."""
        return self._lines[self._at].startswith((ADD, DELETE, UPDATE))

    def _skip_blank_lines(self) -> bool:
        """Go on to the next line that is not empty; tell whether there is one."""
        while self._at < self._end and not self._lines[self._at]:
            self._at += 1
        return self._at < self._end

    def _error(self, expected: str, recovery: str) -> InvalidPatch:
        return syntax_error(
            self._at + self._offset, expected, self._lines[self._at], recovery=recovery
        )


def _name_of(text: str) -> PathName:
    """Return the name of a file that is there; blanks at its end may be part of it."""
    names = (text.lstrip(), text.strip())
    return PathName(candidates=tuple(dict.fromkeys(map(workspace_path, names))))
