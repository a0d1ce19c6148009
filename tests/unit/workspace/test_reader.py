import hashlib
import os
import tracemalloc
from pathlib import Path

import pytest

from workspace_server.domain.errors import FileNotFound, InvalidArguments, SpecialFileRejected
from workspace_server.domain.version import full_version
from workspace_server.workspace import window_capture
from workspace_server.workspace.reader import FileWindow, read_window
from workspace_server.workspace.root import Root
from workspace_server.workspace.text_scan import Encoding, Newline
from workspace_server.workspace.window_capture import DEFAULT_BYTES, MAX_BYTES, MAX_LINES


def lines(count: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, count + 1))


def test_a_small_file_is_shown_whole(folder: Path, root: Root) -> None:
    content = "eins\nzwei ä\n".encode()
    (folder / "a").write_bytes(content)
    (folder / "a").chmod(0o755)

    assert read_window(root, "./a") == FileWindow(
        path="a",
        content="eins\nzwei ä\n",
        version=full_version(content),
        size_bytes=13,
        start_line=1,
        end_line=2,
        total_lines=2,
        start_byte=0,
        end_byte=13,
        encoding=Encoding.UTF_8,
        newline=Newline.LF,
        truncated=False,
        next_line=None,
        next_offset=None,
        content_lossy=False,
        binary=False,
        executable=True,
    )


def test_an_empty_file_has_no_lines(folder: Path, root: Root) -> None:
    (folder / "a").touch()
    window = read_window(root, "a")

    assert (window.content, window.total_lines, window.start_line, window.end_line) == ("", 0, 1, 0)
    assert (window.version, window.newline) == (full_version(b""), Newline.NONE)
    assert not window.truncated


def test_lines_are_cut_out_as_asked(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(lines(10))
    window = read_window(root, "a", start_line=3, end_line=4)

    assert window.content == "line 3\nline 4\n"
    assert (window.start_line, window.end_line, window.total_lines) == (3, 4, 10)
    assert (window.start_byte, window.end_byte) == (14, 28)
    assert (window.truncated, window.next_line, window.next_offset) == (False, 5, None)
    assert window.version == full_version(lines(10))


def test_an_end_line_alone_reads_from_the_start(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(lines(10))

    assert read_window(root, "a", end_line=1).content == "line 1\n"


def test_the_last_line_need_not_end(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"one\ntwo")
    window = read_window(root, "a", start_line=2, end_line=9)

    assert (window.content, window.end_line, window.total_lines) == ("two", 2, 2)
    assert (window.truncated, window.next_line) == (False, None)


def test_without_an_end_a_thousand_lines_are_shown(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(lines(1500))
    window = read_window(root, "a", start_line=2)

    assert (window.start_line, window.end_line, window.total_lines) == (2, 1001, 1500)
    assert (window.truncated, window.next_line) == (True, 1002)


def test_without_an_end_the_window_closes_with_a_line_before_32_kib(
    folder: Path, root: Root
) -> None:
    (folder / "a").write_bytes((b"x" * 999 + b"\n") * 100)
    window = read_window(root, "a")

    assert (window.end_line, window.end_byte) == (32, 32_000)
    assert (window.truncated, window.next_line, window.next_offset) == (True, 33, None)


@pytest.mark.guarantee("field-79")
def test_an_overlong_line_is_cut_and_goes_on_by_bytes(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"x" * 50_000 + b"\nnext\n")
    first = read_window(root, "a")
    assert (first.end_line, first.end_byte) == (1, DEFAULT_BYTES)
    assert (first.truncated, first.next_line, first.next_offset) == (True, None, DEFAULT_BYTES)

    rest = read_window(root, "a", offset=first.next_offset)
    assert first.content + rest.content == "x" * 50_000 + "\nnext\n"
    assert (rest.start_line, rest.end_line, rest.truncated) == (1, 2, False)


def test_asked_lines_are_bounded_too(folder: Path, root: Root) -> None:
    (folder / "long").write_bytes((b"x" * 99 + b"\n") * 5000)
    (folder / "many").write_bytes(b"\n" * (MAX_LINES + 10))
    long = read_window(root, "long", end_line=5000)
    many = read_window(root, "many", end_line=MAX_LINES + 10, line_numbers=True)

    assert long.end_byte == MAX_BYTES // 100 * 100
    assert (long.truncated, long.next_line) == (True, MAX_BYTES // 100 + 1)
    assert (many.end_line, many.truncated, many.next_line) == (MAX_LINES, True, MAX_LINES + 1)


@pytest.mark.parametrize("start", [11, 12, 10_000])
def test_a_start_beyond_the_end_is_an_empty_window(folder: Path, root: Root, start: int) -> None:
    (folder / "a").write_bytes(lines(10))
    window = read_window(root, "a", start_line=start)

    assert (window.content, window.start_line, window.end_line) == ("", start, start - 1)
    assert (window.total_lines, window.start_byte, window.end_byte) == (10, 71, 71)
    assert (window.truncated, window.next_line, window.next_offset) == (False, None, None)


@pytest.mark.parametrize("offset", [71, 72, 80, 10_000])
def test_an_offset_beyond_the_end_is_an_empty_window(folder: Path, root: Root, offset: int) -> None:
    (folder / "a").write_bytes(lines(10))
    window = read_window(root, "a", offset=offset)

    assert (window.content, window.start_byte, window.end_byte) == ("", 71, 71)
    assert (window.start_line, window.end_line, window.truncated) == (11, 10, False)


def test_bytes_are_cut_out_as_asked(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(lines(10))
    window = read_window(root, "a", offset=5, limit=6)

    assert (window.content, window.start_byte, window.end_byte) == ("1\nline", 5, 11)
    assert (window.start_line, window.end_line) == (1, 2)
    assert (window.truncated, window.next_line, window.next_offset) == (True, None, 11)


def test_a_limit_alone_reads_from_the_start(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(lines(10))

    assert read_window(root, "a", limit=6).content == "line 1"


@pytest.mark.parametrize("text", ["aä€😀z", "😀😀😀", "éé"])
@pytest.mark.parametrize("offset", range(5))
@pytest.mark.parametrize("limit", range(1, 8))
def test_a_byte_window_never_cuts_a_character(
    folder: Path, root: Root, text: str, offset: int, limit: int
) -> None:
    (folder / "a").write_bytes(text.encode())
    window = read_window(root, "a", offset=offset, limit=limit)

    assert not window.content_lossy
    assert window.content in text
    assert window.start_byte <= offset
    assert window.content.encode() == text.encode()[window.start_byte : window.end_byte]


def test_a_wrong_byte_is_shown_as_replaced_and_told(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"caf\xe9\nplain\n")
    window = read_window(root, "a")
    second = read_window(root, "a", start_line=2)

    assert (window.content, window.content_lossy) == ("caf\ufffd\nplain\n", True)
    assert window.encoding is Encoding.UNKNOWN
    assert (second.content, second.content_lossy) == ("plain\n", False)
    assert second.encoding is Encoding.UNKNOWN


def test_a_character_that_the_end_cuts_off_is_no_utf_8(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes("ä".encode()[:1])

    assert read_window(root, "a").encoding is Encoding.UNKNOWN


def test_stray_continuation_bytes_are_read_through(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"\x80" * 20)
    window = read_window(root, "a", offset=7, limit=5)

    assert (window.start_byte, window.end_byte, window.content_lossy) == (7, 12, True)


def test_a_byte_order_mark_is_told_and_not_shown(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    window = read_window(root, "a")

    assert (window.encoding, window.newline) == (Encoding.UTF_8_BOM, Newline.CRLF)
    assert (window.content, window.start_byte) == ("one\r\ntwo\r\n", 0)


@pytest.mark.parametrize("encoding", [Encoding.UTF_16_LE, Encoding.UTF_16_BE])
def test_utf_16_is_read_by_its_mark(folder: Path, root: Root, encoding: Encoding) -> None:
    # U+0A0A and U+0D0A hold the bytes of a line end without being one.
    text = "\ufeffone\r\n\u0a0a\u0d0a😀two\nend"
    (folder / "a").write_bytes(text.encode(encoding))
    whole = read_window(root, "a")
    second = read_window(root, "a", start_line=2, end_line=2)

    assert (whole.content, whole.encoding) == (text[1:], encoding)
    assert (whole.newline, whole.total_lines, whole.end_line) == (Newline.MIXED, 3, 3)
    assert second.content == "\u0a0a\u0d0a😀two\n"
    for offset in range(2, 30):
        assert read_window(root, "a", offset=offset, limit=4).content in text


def test_a_nul_at_the_beginning_makes_a_file_binary(folder: Path, root: Root) -> None:
    content = b"\x7fELF\0\n" * 100
    (folder / "a").write_bytes(content)
    window = read_window(root, "a")

    assert (window.binary, window.content, window.encoding) == (True, "", Encoding.BINARY)
    assert (window.version, window.size_bytes) == (full_version(content), 600)
    assert (window.total_lines, window.truncated, window.next_offset) == (0, False, None)


def test_a_nul_after_8_kib_is_a_character_like_others(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"x" * 8192 + b"\0")

    assert not read_window(root, "a").binary


@pytest.mark.parametrize(
    ("content", "newline"),
    [
        (b"a\nb\n", Newline.LF),
        (b"a\r\nb\r\n", Newline.CRLF),
        (b"a\r\nb\n", Newline.MIXED),
        (b"a\rb\r", Newline.NONE),
        ("a\u2028b\x0bc\x0c".encode(), Newline.NONE),
    ],
)
def test_only_line_feeds_end_lines(
    folder: Path, root: Root, content: bytes, newline: Newline
) -> None:
    (folder / "a").write_bytes(content)
    window = read_window(root, "a")

    assert window.newline is newline
    assert window.content == content.decode()
    assert window.total_lines == max(content.count(b"\n"), 1)


def test_lines_are_numbered_as_in_the_file(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"one\ntwo\n\nfour")

    assert read_window(root, "a", start_line=2, line_numbers=True).content == (
        "    2\ttwo\n    3\t\n    4\tfour"
    )
    assert read_window(root, "a", end_line=1, line_numbers=True).content == "    1\tone\n"
    assert read_window(root, "a", start_line=9, line_numbers=True).content == ""


@pytest.mark.parametrize(
    "window",
    [
        {"start_line": 0},
        {"start_line": 3, "end_line": 2},
        {"end_line": 0},
        {"offset": -1},
        {"limit": 0},
        {"limit": MAX_BYTES + 1},
        {"start_line": 1, "offset": 0},
        {"end_line": 1, "limit": 1},
    ],
)
def test_a_window_out_of_bounds_is_refused(
    folder: Path, root: Root, window: dict[str, int]
) -> None:
    (folder / "a").write_bytes(b"a")

    with pytest.raises(InvalidArguments) as caught:
        read_window(root, "a", **window)  # type: ignore[arg-type]
    assert caught.value.recovery is not None


def test_what_is_no_file_is_refused(folder: Path, root: Root) -> None:
    (folder / "src").mkdir()

    with pytest.raises(FileNotFound):
        read_window(root, "none")
    with pytest.raises(SpecialFileRejected):
        read_window(root, "src")


@pytest.mark.parametrize("block_bytes", [2, 4, 64])
def test_borders_between_blocks_leave_no_trace(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    content = ("ä€\r\n😀\r\n" * 9).encode() + b"end"
    (folder / "a").write_bytes(content)
    whole = [read_window(root, "a"), read_window(root, "a", start_line=5, end_line=7)]
    whole.append(read_window(root, "a", offset=70, limit=20))

    monkeypatch.setattr(window_capture, "_BLOCK_BYTES", block_bytes)
    assert read_window(root, "a") == whole[0]
    assert read_window(root, "a", start_line=5, end_line=7) == whole[1]
    assert read_window(root, "a", offset=70, limit=20) == whole[2]
    assert whole[0].newline is Newline.CRLF


def test_a_file_that_grows_while_it_is_read_is_read_to_its_old_end(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"abc")
    really_read = os.read

    def growing(descriptor: int, count: int) -> bytes:
        with open(folder / "a", "ab") as file:
            file.write(b"more")
        return really_read(descriptor, count)

    monkeypatch.setattr(os, "read", growing)
    assert read_window(root, "a").content == "abc"


@pytest.mark.slow
@pytest.mark.guarantee("field-79")
def test_memory_does_not_grow_with_the_file(folder: Path, root: Root) -> None:
    size_bytes = 64 * 1024 * 1024
    line = b"x" * 1023 + b"\n"
    with open(folder / "a", "wb") as file:
        for _ in range(size_bytes // len(line)):
            file.write(line)
    tracemalloc.start()
    window = read_window(root, "a", start_line=60_000, end_line=60_001)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert window.content.encode() == line * 2
    assert window.version == f"sha256:{hashlib.sha256(line * (size_bytes // 1024)).hexdigest()}"
    assert peak_bytes < 8 * 1024 * 1024
