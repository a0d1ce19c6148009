"""Hunks of unified diffs: bodies are counted, never taken at the word of their header."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import Hunk, LineKind, PatchLine
from workspace_server.patch.syntax import syntax_error
from workspace_server.patch.unified_names import has_prefixes, header_name

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))?")
_VERSION = re.compile(r"\d+\.\d+")  # what follows the "-- " at the end of a git mail
_RESTORE = (
    "Begin each line of a hunk with ' ' (context), '-' (removed) or '+' (added), "
    "and leave other text out."
)
_KINDS = {kind.value: kind for kind in LineKind}


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """What a hunk header says; None where it says nothing that can be read."""

    start: int | None
    old: int | None
    new: int | None


@dataclass(frozen=True, kw_only=True)
class ReadHunk:
    """A hunk, and where the text goes on after it."""

    hunk: Hunk
    end: int
    is_as_stated: bool  # the header's counts are true, so that what follows is no part of it


def starts_section(lines: Sequence[str], at: int) -> bool:
    """Tell whether a file section starts there.

    Without git's line it takes all three: `---`, `+++` and a hunk; a removed line that begins
    with `--` looks like the first of them.
    """
    line = lines[at]
    if line.startswith("diff --"):
        return line.startswith(("diff --git ", "diff --cc ", "diff --combined "))
    if not (line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")):
        return False
    after = next_filled(lines, at + 2)
    return after < len(lines) and lines[after].startswith("@@")


def next_filled(lines: Sequence[str], at: int) -> int:
    """Return the first position from `at` on that is not an empty line."""
    while at < len(lines) and lines[at] in ("", "\r"):
        at += 1
    return at


def is_mail_signature(lines: Sequence[str], at: int) -> bool:
    """Tell whether git ends a mail there: its mark looks like a removed line."""
    is_mark = lines[at].rstrip("\r") == "-- "
    return is_mark and at + 1 < len(lines) and bool(_VERSION.match(lines[at + 1]))


def read_hunk(lines: Sequence[str], at: int, number: int) -> ReadHunk:
    """Read the hunk whose header is line `at` (from 0); raise InvalidPatch if it is none."""
    stated = _stated(lines, at)
    end = _body_end(lines, at + 1, stated)
    body = _body(lines, at + 1, end)
    blanks = _trailing_blanks(lines, at + 1, end)
    separators = _separators(body, blanks, stated)
    kept = body[: len(body) - separators] if separators else body
    _check(lines, at, kept)
    return ReadHunk(
        hunk=Hunk(
            number=number,
            patch_line=at + 1,
            lines=tuple(kept),
            loose_blanks=blanks if separators is None else 0,
            at_end=any(not line.is_ended for line in kept),
            stated_start=stated.start,
            is_stated_insertion=stated.old == 0,
            states_terminators=True,
        ),
        end=end,
        is_as_stated=separators is not None,
    )


def _stated(lines: Sequence[str], at: int) -> _Stated:
    if lines[at].startswith("@@@"):
        raise syntax_error(
            at + 1, "a hunk with one old side", lines[at], "Make the diff against one parent."
        )
    header = _HEADER.match(lines[at])
    if not header:
        return _Stated(start=None, old=None, new=None)
    start, old, _, new = header.groups()
    return _Stated(
        start=int(start),
        old=1 if old is None else int(old),
        new=1 if new is None else int(new),
    )


def _body_end(lines: Sequence[str], at: int, stated: _Stated) -> int:
    old = new = 0
    while at < len(lines) and _is_body(lines, at):
        if starts_section(lines, at) and not _completes(lines, at, old, new, stated):
            break
        kind = lines[at][:1]
        old += kind not in ("+", "\\")
        new += kind not in ("-", "\\")
        at += 1
    return at


def _is_body(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    if is_mail_signature(lines, at):
        return False
    return line in ("", "\r") or line[0] in " -+\\"


def _completes(lines: Sequence[str], at: int, old: int, new: int, stated: _Stated) -> bool:
    """Tell whether what looks like a file header is the removed and the added line still due."""
    names = (header_name(lines[at][4:]), header_name(lines[at + 1][4:]))
    if has_prefixes(names[0] or "", names[1] or ""):
        return False  # `a/x` over `b/x` is no coincidence, whatever the counts say
    blanks = next_filled(lines, at + 2) - (at + 2)
    due = (old + 1, new + 1), (old + 1 + blanks, new + 1 + blanks)
    return (stated.old, stated.new) in due


def _body(lines: Sequence[str], at: int, end: int) -> list[PatchLine]:
    body: list[PatchLine] = []
    for number in range(at, end):
        line = lines[number]
        if line.startswith("\\"):
            _leave_unended(lines, number, body)
            continue
        kind = _KINDS.get(line[:1], LineKind.CONTEXT)  # "" and "\r": a context line cut bare
        text = line[1:] if line[:1] in _KINDS else line
        body.append(PatchLine(kind, text.removesuffix("\r"), _terminator(text)))
    return body


def _terminator(text: str) -> str:
    return "\r\n" if text.endswith("\r") else "\n"


def _leave_unended(lines: Sequence[str], at: int, body: list[PatchLine]) -> None:
    """Take the LF off the line before a `\\ No newline` marker, in whatever language that is."""
    if not body or not body[-1].is_ended:
        raise syntax_error(at + 1, "a line of a hunk", lines[at], _RESTORE)
    body[-1] = body[-1]._replace(terminator=body[-1].terminator.removesuffix("\n"))


def _trailing_blanks(lines: Sequence[str], at: int, end: int) -> int:
    start = end
    while start > at and lines[start - 1] in ("", "\r"):
        start -= 1
    return end - start


def _separators(body: Sequence[PatchLine], blanks: int, stated: _Stated) -> int | None:
    """Return how many blank lines at the end the header does not count as part of the hunk.

    None if its counts fit in no way: then nobody knows, and placing has to try.
    """
    old = sum(line.is_old for line in body)
    new = sum(line.is_new for line in body)
    for separators in range(blanks + 1):
        if (stated.old, stated.new) == (old - separators, new - separators):
            return separators
    return None


def _check(lines: Sequence[str], at: int, body: Sequence[PatchLine]) -> None:
    if all(line.kind is LineKind.CONTEXT for line in body):
        raise syntax_error(
            at + 1, "a hunk that adds or removes a line", lines[at], recovery=_RESTORE
        )
    old = [line for line in body if line.is_old]
    new = [line for line in body if line.is_new]
    if not all(line.is_ended for line in (*old[:-1], *new[:-1])):
        raise InvalidPatch(
            f"The hunk at line {at + 1} of the patch goes on after a line that it says is the last "
            "of the file.",
            recovery="Put '\\ No newline at end of file' after the file's last line only.",
            details={"line": at + 1},
        )
