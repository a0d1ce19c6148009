"""Which part of a file a read asks for, and keeping it while the file passes by in blocks."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from workspace_server.domain.errors import InvalidArguments
from workspace_server.workspace.text_scan import Encoding, TextScan, after_nth, count_aligned

DEFAULT_LINES = 1000
DEFAULT_BYTES = 32 * 1024
MAX_BYTES = 256 * 1024
MAX_LINES = 20_000  # line numbers add to the content: this bounds by how much

_BLOCK_BYTES = 1024 * 1024
_LONGEST_CHARACTER_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class WindowRequest:
    """The window that a call asks for, with its bounds filled in and checked."""

    start_line: int | None  # None: offset counts
    end_line: int | None
    offset: int
    max_lines: int
    max_bytes: int


class WindowCapture:
    """Keeps the bytes of the window, and up to one character more at either side."""

    def __init__(self, asked: WindowRequest) -> None:
        self._asked = asked
        self._keep_bytes = asked.max_bytes + 2 * _LONGEST_CHARACTER_BYTES
        self.kept = bytearray()
        self.start_byte: int | None = None if asked.start_line else _with_margin(asked.offset)
        self.lines_before = 0  # line ends before start_byte

    def feed(self, block: bytes, block_start: int, lines_before: int, encoding: Encoding) -> None:
        """Take what belongs to the window from the block at `block_start`."""
        if not self.kept:
            self._seek(block, block_start, lines_before, encoding)
        missing = self._keep_bytes - len(self.kept)
        if self.start_byte is not None and missing > 0:
            skipped = max(self.start_byte - block_start, 0)
            self.kept += block[skipped : skipped + missing]

    def _seek(self, block: bytes, block_start: int, lines_before: int, encoding: Encoding) -> None:
        """Find the window's start in this block, or how many line ends lie before it."""
        newline, unit_bytes = encoding.encode_ascii("\n"), encoding.unit_bytes
        if self._asked.start_line:
            wanted = self._asked.start_line - 1 - lines_before
            found = after_nth(block, newline, wanted, unit_bytes)
            if found is not None:
                self.start_byte = block_start + found
                self.lines_before = self._asked.start_line - 1
        elif self.start_byte is not None:
            before = block[: max(self.start_byte - block_start, 0)]
            self.lines_before = lines_before + count_aligned(before, newline, unit_bytes)


def window_request(
    start_line: int | None, end_line: int | None, offset: int | None, limit: int | None
) -> WindowRequest:
    """Return what these arguments of a read ask for; raises InvalidArguments."""
    by_line = start_line is not None or end_line is not None
    by_byte = offset is not None or limit is not None
    if by_line and by_byte:
        raise InvalidArguments(
            "A window is given in lines or in bytes, not in both.",
            recovery="Give start_line and end_line, or offset and limit.",
        )
    if by_byte:
        return _asked_bytes(offset or 0, DEFAULT_BYTES if limit is None else limit)
    return _asked_lines(1 if start_line is None else start_line, end_line)


def _asked_bytes(offset: int, limit: int) -> WindowRequest:
    if offset < 0:
        raise _out_of_bounds("offset", "at least 0")
    if not 1 <= limit <= MAX_BYTES:
        raise _out_of_bounds("limit", f"from 1 to {MAX_BYTES}")
    return WindowRequest(
        start_line=None,
        end_line=None,
        offset=offset,
        max_lines=MAX_LINES,
        max_bytes=max(limit, _LONGEST_CHARACTER_BYTES),  # else some window could hold nothing
    )


def _asked_lines(start_line: int, end_line: int | None) -> WindowRequest:
    if start_line < 1:
        raise _out_of_bounds("start_line", "at least 1")
    if end_line is not None and end_line < start_line:
        raise _out_of_bounds("end_line", "at least start_line")
    lines = DEFAULT_LINES if end_line is None else end_line - start_line + 1
    return WindowRequest(
        start_line=start_line,
        end_line=end_line,
        offset=0,
        max_lines=min(lines, MAX_LINES),
        max_bytes=DEFAULT_BYTES if end_line is None else MAX_BYTES,
    )


def _out_of_bounds(field: str, bounds: str) -> InvalidArguments:
    return InvalidArguments(
        f"{field} is out of bounds.",
        recovery=f"Give {field} as a number {bounds}.",
        details={"field": field},
    )


def _with_margin(offset: int) -> int:
    """Return a start early enough to see the whole character at `offset`, and even for UTF-16."""
    return max(offset - _LONGEST_CHARACTER_BYTES, 0) & ~1


def scan_file(
    descriptor: int, size_bytes: int, asked: WindowRequest
) -> tuple[TextScan, WindowCapture]:
    """Read a file of `size_bytes` once, from its start; raises OSError."""
    scan, capture = TextScan(), WindowCapture(asked)
    for block in _blocks(descriptor, size_bytes):
        block_start, lines_before = scan.size_bytes, scan.newlines
        scan.feed(block)
        if scan.encoding is not Encoding.BINARY:
            capture.feed(block, block_start, lines_before, scan.encoding)
    scan.finish()
    return scan, capture


def _blocks(descriptor: int, size_bytes: int) -> Iterator[bytes]:
    """Yield the file as long as it is now: one that keeps growing would never end."""
    missing = size_bytes
    while missing and (block := os.read(descriptor, min(missing, _BLOCK_BYTES))):
        missing -= len(block)
        yield block
