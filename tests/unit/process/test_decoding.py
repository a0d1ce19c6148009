import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace_server.process.decoding import decode_prefix, drop_partial_head


@pytest.mark.guarantee("field-07")
@given(text=st.text(), cuts=st.lists(st.integers(min_value=1, max_value=7)))
def test_text_read_in_any_pieces_is_the_text(text: str, cuts: list[int]) -> None:
    data, position, read = text.encode(), 0, ""
    for size in [*cuts, len(data) + 4]:
        end = min(len(data), position + max(size, 4))
        decoded = decode_prefix(data[position:end], final=end == len(data))
        read += decoded.text
        position += decoded.used_bytes
    assert read == text


@pytest.mark.guarantee("field-07")
def test_the_begin_of_a_character_is_left_for_the_next_read() -> None:
    euro = "€".encode()
    decoded = decode_prefix(b"a" + euro[:2], final=False)
    assert (decoded.text, decoded.used_bytes, decoded.lossy) == ("a", 1, False)


def test_at_the_end_a_broken_character_becomes_a_replacement_mark() -> None:
    decoded = decode_prefix(b"a\xe2\x82", final=True)
    assert (decoded.text, decoded.used_bytes, decoded.lossy) == ("a\ufffd", 3, True)


@given(st.binary(max_size=20))
def test_any_bytes_are_used_up_but_for_three(data: bytes) -> None:
    assert len(data) - decode_prefix(data, final=False).used_bytes <= 3


def test_the_rest_of_a_cut_character_is_dropped_from_a_head() -> None:
    assert drop_partial_head("€a".encode()[1:]) == 2
    assert drop_partial_head(b"abc") == 0
