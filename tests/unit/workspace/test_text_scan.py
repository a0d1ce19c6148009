import pytest

from workspace_server.workspace.text_scan import (
    Encoding,
    after_nth,
    character_start,
    count_aligned,
    last_aligned_end,
)

NEWLINE = "\n".encode("utf-16-le")
MISLEADING = "\u0a0a\u000a\u0a00".encode("utf-16-le")  # 0a 0a, 0a 00, 00 0a: one line end


def test_only_aligned_pairs_count() -> None:
    assert MISLEADING.count(NEWLINE) == 1
    assert count_aligned(b"\x0a\x0a\x00\x0a", NEWLINE, 2) == 0
    assert count_aligned(MISLEADING, NEWLINE, 2) == 1
    assert count_aligned(NEWLINE * 3, NEWLINE, 2) == 3


def test_the_nth_is_found_or_not() -> None:
    assert after_nth(b"a\nb\n", b"\n", 0, 1) == 0
    assert after_nth(b"a\nb\n", b"\n", 2, 1) == 4
    assert after_nth(b"a\nb\n", b"\n", 3, 1) is None
    assert after_nth(MISLEADING, NEWLINE, 1, 2) == 4


def test_the_last_one_is_found_or_not() -> None:
    assert last_aligned_end(b"a\nb\nc", b"\n", 1) == 4
    assert last_aligned_end(b"abc", b"\n", 1) == 0
    assert last_aligned_end(MISLEADING, NEWLINE, 2) == 4
    assert last_aligned_end(b"\x0a\x00\x0a\x0a\x00\x0a", NEWLINE, 2) == 2


@pytest.mark.parametrize(
    ("position", "start"), [(0, 0), (1, 1), (2, 1), (3, 3), (4, 3), (5, 3), (6, 6), (9, 6)]
)
def test_a_position_within_a_character_moves_to_its_start(position: int, start: int) -> None:
    text = "aä€😀b".encode()  # characters begin at 0, 1, 3, 6 and 10

    assert character_start(text, position, Encoding.UTF_8) == start
    assert character_start(text, len(text), Encoding.UTF_8) == len(text)


def test_a_byte_that_belongs_to_no_character_stays_where_it_is() -> None:
    assert character_start(b"a\x80\x80", 2, Encoding.UNKNOWN) == 2
    assert character_start(b"\x80\x80\x80\x80\x80", 4, Encoding.UNKNOWN) == 4


@pytest.mark.parametrize("encoding", [Encoding.UTF_16_LE, Encoding.UTF_16_BE])
def test_a_surrogate_pair_is_one_character(encoding: Encoding) -> None:
    text = "a😀b".encode(encoding)

    starts = [character_start(text, position, encoding) for position in range(8)]
    assert starts == [0, 0, 2, 2, 2, 2, 6, 6]
