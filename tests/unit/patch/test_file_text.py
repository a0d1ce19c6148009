import pytest

from workspace_server.domain.errors import NotText
from workspace_server.patch.file_text import read_text, shared_start, split_lines, write_text


def test_only_lf_ends_a_line() -> None:
    assert split_lines("a\x0cb\u2028c\x85d\re\nf") == ["a\x0cb\u2028c\x85d\re\n", "f"]


def test_lines_are_compared_without_their_ends() -> None:
    file = read_text("f", b"a\r\nb\nc\r")
    assert file.texts == ["a", "b", "c"]
    assert [file.terminator(at) for at in range(3)] == ["\r\n", "\n", "\r"]


def test_lines_give_back_every_byte() -> None:
    content = b"\xef\xbb\xbfa\r\n\xe4\n\rb"
    file = read_text("f", content)
    assert write_text(file.raw, file.has_mark) == content


def test_the_mark_is_no_part_of_the_first_line() -> None:
    file = read_text("f", b"\xef\xbb\xbfa\n")
    assert (file.texts, file.has_mark) == (["a"], True)
    assert file.with_mark_in_text().texts == ["\ufeffa"]


def test_the_usual_line_end_is_the_one_that_most_lines_have() -> None:
    assert read_text("f", b"a\r\nb\r\nc\n").usual_terminator() == "\r\n"
    assert read_text("f", b"a\nb\nc\r\n").usual_terminator() == "\n"
    assert read_text("f", b"a").usual_terminator() == "\n"


def test_an_emptied_file_keeps_no_mark() -> None:
    assert write_text([], has_mark=True) == b""


@pytest.mark.parametrize("content", [b"a\0b\n", "a\n".encode("utf-16")])
def test_what_is_not_text_has_no_lines(content: bytes) -> None:
    with pytest.raises(NotText):
        read_text("f", content)


def test_shared_start_counts_what_is_the_same() -> None:
    assert shared_start("abc", "abd") == 2
    assert shared_start("ab", "abc") == 2
