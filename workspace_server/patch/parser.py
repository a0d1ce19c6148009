"""The text of a patch, in any language it may be written in, to what it asks for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import InputTooLarge, InvalidPatch
from workspace_server.patch.file_text import BYTE_ORDER_MARK
from workspace_server.patch.model import ParsedPatch, PatchFormat
from workspace_server.patch.unified import parse_unified
from workspace_server.patch.unified_hunks import starts_section
from workspace_server.patch.v4a import ADD, BEGIN, DELETE, UPDATE, parse_v4a

MAX_PATCH_BYTES = 8 * 1024 * 1024
_HERE_DOCUMENT = re.compile(r"(?:apply_?patch\s+)?<<\s*(['\"]?)(\w+)\1\s*")
_FENCE = re.compile(r"\s*(```+|~~~+)[\w .+-]*\s*")
_FORMATS = f"Write V4A ('{BEGIN}') or a unified diff ('--- a/path', '+++ b/path', '@@')."


def parse_patch(text: str, format: PatchFormat | None) -> ParsedPatch:
    """Read a patch, in the given language or the one it looks like.

    Bytes that are not UTF-8 are surrogate escapes in `text`. Raises InvalidPatch naming the line
    that is wrong, PathEscape for a path that no patch may touch, InputTooLarge.
    """
    lines = _lines(text)
    document = _unwrapped(lines)
    match format or _recognised(lines, document):
        case PatchFormat.V4A:
            operations = parse_v4a(document.lines, document.first_line)
            return ParsedPatch(format=PatchFormat.V4A, operations=operations)
        case PatchFormat.UNIFIED:
            operations = parse_unified(lines, is_cut=not text.endswith("\n"))
            return ParsedPatch(format=PatchFormat.UNIFIED, operations=operations)


@dataclass(frozen=True, kw_only=True)
class _Document:
    """A patch without what it was wrapped in."""

    lines: Sequence[str]  # at least one
    first_line: int  # of the patch, from 1


def _lines(text: str) -> Sequence[str]:
    lines = _checked(text).removeprefix(BYTE_ORDER_MARK).split("\n")
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    return lines


def _checked(text: str) -> str:
    """Return `text` with its surrogate escapes in their one form; refuse what is no text."""
    try:
        content = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidPatch(
            "The patch holds half a surrogate pair, which no file can hold.",
            recovery="Send characters beyond U+FFFF whole.",
        ) from error
    if len(content) > MAX_PATCH_BYTES:
        raise InputTooLarge(
            f"The patch has {len(content)} bytes, and {MAX_PATCH_BYTES} is the limit.",
            recovery="Split it into several patches.",
            details={"size": len(content), "limit": MAX_PATCH_BYTES},
        )
    return content.decode("utf-8", "surrogateescape")


def _unwrapped(lines: Sequence[str]) -> _Document:
    """Take blank lines, code fences and here-documents off both ends."""
    start, end = 0, len(lines)
    while True:
        while start < end - 1 and not lines[start].strip():
            start += 1
        while end - 1 > start and not lines[end - 1].strip():
            end -= 1
        if end - start < 3 or not _is_wrapped(lines[start], lines[end - 1]):
            return _Document(lines=lines[start:end], first_line=start + 1)
        start, end = start + 1, end - 1


def _is_wrapped(first: str, last: str) -> bool:
    fence = _FENCE.fullmatch(first)
    here_document = _HERE_DOCUMENT.fullmatch(first)
    if fence:
        return last.strip() == fence[1]
    return here_document is not None and last.strip() == here_document[2]


def _recognised(lines: Sequence[str], document: _Document) -> PatchFormat:
    if document.lines[0].strip().startswith((BEGIN, ADD, DELETE, UPDATE)):
        return PatchFormat.V4A
    if any(starts_section(lines, at) for at in range(len(lines))):
        return PatchFormat.UNIFIED
    if any(line.startswith(BEGIN) for line in lines):
        return PatchFormat.V4A
    if any(line.startswith(("--- ", "+++ ", "@@")) for line in lines):
        return PatchFormat.UNIFIED
    raise InvalidPatch("This is no patch in a language that is known here.", recovery=_FORMATS)
