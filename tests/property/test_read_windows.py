from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace_server.workspace.reader import FileWindow, read_window
from workspace_server.workspace.root import Root

# Characters of each length, and what only looks like a line end.
texts = st.one_of(
    st.text(st.sampled_from("\n\r\u2028aä€😀"), max_size=60),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=100),
)
LONG = "x" * 40_000  # more than a window without bounds may show
lines_with_long_ones = st.lists(
    st.sampled_from(["\n", "\r\n", "ä", "€\n", "L", "L\n"]), max_size=20
)


@pytest.fixture(scope="module")
def root() -> Iterator[Root]:
    with TemporaryDirectory() as folder, Root.open(Path(folder).resolve()) as opened:
        yield opened


def write(root: Root, text: str) -> None:
    Path(root.path, "file").write_bytes(text.encode())


def following(root: Root, window: FileWindow, line_count: int) -> FileWindow | None:
    """Return the window that `window` says comes next."""
    if window.next_offset is not None:
        return read_window(root, "file", offset=window.next_offset)
    if window.next_line is not None:
        last = window.next_line + line_count - 1
        return read_window(root, "file", start_line=window.next_line, end_line=last)
    return None


@given(text=texts, limit=st.integers(min_value=1, max_value=200))
def test_byte_windows_make_up_the_file(root: Root, text: str, limit: int) -> None:
    write(root, text)
    content, offset = "", 0
    for start in range(0, max(len(text.encode()), 1), max(limit, 4)):
        window = read_window(root, "file", offset=start, limit=limit)
        assert window.start_byte == offset
        assert not window.content_lossy
        content, offset = content + window.content, window.end_byte
    assert content == text


@given(pieces=lines_with_long_ones, line_count=st.integers(min_value=1, max_value=4))
def test_going_on_where_told_makes_up_the_file(
    root: Root, pieces: list[str], line_count: int
) -> None:
    text = "".join(pieces).replace("L", LONG)
    write(root, text)
    window: FileWindow | None = read_window(root, "file", end_line=line_count)
    content, end_byte = "", 0
    while window is not None:
        assert window.start_byte == end_byte
        assert window.start_line == text.encode()[:end_byte].count(b"\n") + 1
        content, end_byte = content + window.content, window.end_byte
        window = following(root, window, line_count)
    assert content == text


@given(text=texts, start=st.integers(1, 30), count=st.integers(1, 30))
def test_line_windows_are_the_lines_of_the_file(
    root: Root, text: str, start: int, count: int
) -> None:
    write(root, text)
    lines = [line for line in text.replace("\n", "\n\0").split("\0") if line]
    window = read_window(root, "file", start_line=start, end_line=start + count - 1)

    assert window.total_lines == len(lines)
    if not window.truncated:
        assert window.content == "".join(lines[start - 1 : start - 1 + count])
