"""Bounded reads: a window of a file's text, and the version of the whole file."""

import os
import stat
from dataclasses import dataclass

from workspace_server.workspace.file_errors import translated
from workspace_server.workspace.root import Root
from workspace_server.workspace.text_scan import (
    Encoding,
    Newline,
    TextScan,
    after_nth,
    character_start,
    count_aligned,
    last_aligned_end,
)
from workspace_server.workspace.window_capture import (
    WindowCapture,
    WindowRequest,
    scan_file,
    window_request,
)


@dataclass(frozen=True, kw_only=True)
class FileWindow:
    """A part of a file, and what is true of the whole."""

    path: str
    content: str
    version: str  # of the whole file, all digits
    size_bytes: int
    start_line: int
    end_line: int  # start_line - 1 for an empty window
    total_lines: int
    start_byte: int
    end_byte: int  # exclusive
    encoding: Encoding
    newline: Newline
    truncated: bool  # the file goes on, and not because end_line was reached
    next_line: int | None  # where to go on, if at the beginning of a line
    next_offset: int | None  # where to go on otherwise
    content_lossy: bool  # some bytes are shown as U+FFFD
    binary: bool  # then content is empty
    executable: bool


def read_window(
    root: Root,
    path: str,
    *,
    start_line: int | None = None,
    end_line: int | None = None,
    offset: int | None = None,
    limit: int | None = None,
    line_numbers: bool = False,
) -> FileWindow:
    """Read lines `start_line` to `end_line` (from 1, inclusive), or `limit` bytes at `offset`.

    Without an end, 1,000 lines or 32 KiB; never more than 256 KiB of the file. A window ends with
    a line if it can, and always with a character; its start may move back to a character's first
    byte. A start beyond the end gives an empty window. Memory does not grow with the file.
    Raises InvalidArguments, and what Root.parse and Root.open_file raise.
    """
    asked = window_request(start_line, end_line, offset, limit)
    parsed = root.parse(path)
    descriptor = root.open_file(parsed)
    try:
        with translated(parsed):
            status = os.fstat(descriptor)
            scan, capture = scan_file(descriptor, status.st_size, asked)
    finally:
        os.close(descriptor)
    executable = bool(status.st_mode & stat.S_IXUSR)
    return _window(parsed, scan, capture, asked, executable, line_numbers)


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """The bytes of the window, and where in the file they lie."""

    content: bytes
    start_byte: int
    start_line: int


def _window(
    path: str,
    scan: TextScan,
    capture: WindowCapture,
    asked: WindowRequest,
    executable: bool,
    line_numbers: bool,
) -> FileWindow:
    cut = _cut(scan, capture, asked)
    content, is_lossy = _decoded(cut, scan.encoding)
    end_byte = cut.start_byte + len(cut.content)
    end_line = _last_line(cut, scan.encoding)
    goes_on = end_byte < scan.size_bytes and scan.encoding is not Encoding.BINARY
    next_line = end_line + 1 if goes_on and asked.start_line and content.endswith("\n") else None
    return FileWindow(
        path=path,
        content=_numbered(content, cut.start_line) if line_numbers else content,
        version=scan.version,
        size_bytes=scan.size_bytes,
        start_line=cut.start_line,
        end_line=end_line,
        total_lines=scan.total_lines,
        start_byte=cut.start_byte,
        end_byte=end_byte,
        encoding=scan.encoding,
        newline=scan.newline,
        truncated=goes_on and (next_line is None or end_line != asked.end_line),
        next_line=next_line,
        next_offset=end_byte if goes_on and next_line is None else None,
        content_lossy=is_lossy,
        binary=scan.encoding is Encoding.BINARY,
        executable=executable,
    )


def _cut(scan: TextScan, capture: WindowCapture, asked: WindowRequest) -> _Cut:
    if capture.start_byte is None or not capture.kept:  # nothing, or nothing so far on
        start_byte = 0 if scan.encoding is Encoding.BINARY else scan.size_bytes
        return _Cut(
            content=b"",
            start_byte=start_byte,
            start_line=asked.start_line or capture.lines_before + 1,
        )
    kept = bytes(capture.kept)
    wanted = 0 if asked.start_line else min(asked.offset - capture.start_byte, len(kept))
    start = character_start(kept, wanted, scan.encoding)
    newline, unit_bytes = scan.encoding.encode_ascii("\n"), scan.encoding.unit_bytes
    return _Cut(
        content=kept[start : _end(kept, start, wanted + asked.max_bytes, asked, scan.encoding)],
        start_byte=capture.start_byte + start,
        start_line=capture.lines_before + count_aligned(kept[:start], newline, unit_bytes) + 1,
    )


def _end(kept: bytes, start: int, byte_limit: int, asked: WindowRequest, encoding: Encoding) -> int:
    """Return where in `kept` the window ends: by its lines, or by the limit at a good place."""
    newline = encoding.encode_ascii("\n")
    lines = after_nth(kept[start:], newline, asked.max_lines, encoding.unit_bytes)
    end = len(kept) if lines is None else start + lines
    if end <= byte_limit:
        return end
    line_end = last_aligned_end(kept[:byte_limit], newline, encoding.unit_bytes)
    if asked.start_line and line_end:
        return line_end
    return character_start(kept, byte_limit, encoding)


def _decoded(cut: _Cut, encoding: Encoding) -> tuple[str, bool]:
    """Return the text without a byte-order mark, and whether something was lost."""
    try:
        text, is_lossy = cut.content.decode(encoding.codec), False
    except UnicodeDecodeError:
        text, is_lossy = cut.content.decode(encoding.codec, "replace"), True
    return (text.removeprefix("\ufeff") if cut.start_byte == 0 else text), is_lossy


def _last_line(cut: _Cut, encoding: Encoding) -> int:
    if not cut.content:
        return cut.start_line - 1
    before_last = cut.content[: -encoding.unit_bytes]
    newlines = count_aligned(before_last, encoding.encode_ascii("\n"), encoding.unit_bytes)
    return cut.start_line + newlines


def _numbered(content: str, first_line: int) -> str:
    lines = content.removesuffix("\n").split("\n") if content else []
    numbered = "\n".join(f"{number:5}\t{line}" for number, line in enumerate(lines, first_line))
    return numbered + "\n" if content.endswith("\n") else numbered
