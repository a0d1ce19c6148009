"""A diff between two texts turns the one into the other, or is refused; nothing in between."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.patches import patched, v4a
from workspace_server.domain.errors import InvalidPatch

_REFUSED = None
_WHOLE = 1_000  # lines of context: the hunk is the file
_WORDS = st.sampled_from(
    ["a", "b", "", " ", "-- x", "++ x", "@@ -1 +1 @@", "\\", "\t", "c\x0cd", "e\u2028f", "g\rh"]
)
_ODD_LINES = st.builds(str.__add__, _WORDS, st.sampled_from(["\n", "\r\n"]))
_LINES = st.builds(str.__add__, _WORDS, st.just("\n"))


def _files(lines: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    last = _WORDS.filter(bool)
    return st.builds(
        lambda mark, body, end: _split(mark + "".join(body) + end),
        st.sampled_from(["", "", "\ufeff"]),
        st.lists(lines, max_size=12),
        st.sampled_from(["", ""]) | last,
    )


def _split(text: str) -> list[str]:
    """Return the lines with their ends; only LF ends one."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def _diff(before: Sequence[str], after: Sequence[str], context: int) -> str:
    return "".join(_written(unified_diff(before, after, "a/f", "b/f", n=context)))


def _written(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _made(diff: str, content: bytes) -> bytes | None:
    """Return the new content, or _REFUSED if the diff fits more than one place."""
    try:
        return patched(diff, {"f": content})["f"]
    except InvalidPatch as refused:
        if "several places" in refused.message:
            return _REFUSED
        raise


def _bytes(lines: Sequence[str]) -> bytes:
    return "".join(lines).encode()


@given(_files(_ODD_LINES), _files(_ODD_LINES))
def test_a_diff_that_quotes_the_whole_file_gives_the_other_file(
    before: list[str], after: list[str]
) -> None:
    assume(before and before != after)
    made = patched(_diff(before, after, _WHOLE), {"f": _bytes(before)})
    assert made["f"] == _bytes(after)


@given(_files(_ODD_LINES), _files(_ODD_LINES), st.integers(1, 3))
def test_a_diff_with_little_context_gives_the_other_file_or_is_refused(
    before: list[str], after: list[str], context: int
) -> None:
    assume(before and before != after)
    assert _made(_diff(before, after, context), _bytes(before)) in (_bytes(after), _REFUSED)


@given(st.lists(_LINES, min_size=1, max_size=12), st.lists(_LINES, max_size=12))
def test_a_diff_without_context_gives_the_other_file_or_is_refused(
    before: list[str], after: list[str]
) -> None:
    assume(before != after)
    assert _made(_diff(before, after, 0), _bytes(before)) in (_bytes(after), _REFUSED)


@given(st.lists(_LINES, max_size=4), _files(_ODD_LINES), _files(_ODD_LINES), st.integers(1, 3))
def test_lines_above_that_a_diff_does_not_know_of_stay_as_they_are(
    above: list[str], before: list[str], after: list[str], context: int
) -> None:
    assume(before and before != after and "\ufeff" not in before[0])
    assert _made(_diff(before, after, context), _bytes([*above, *before])) in (
        _bytes([*above, *after]),
        _REFUSED,
    )


@given(st.lists(_LINES, min_size=1, max_size=9), st.lists(_LINES, min_size=1, max_size=9))
def test_a_v4a_hunk_that_quotes_the_whole_file_gives_the_other_file(
    before: list[str], after: list[str]
) -> None:
    assume(before != after and "g\rh\n" not in before)
    removed = [f"-{line[:-1]}" for line in before]
    added = [f"+{line[:-1]}" for line in after]
    made = patched(v4a("*** Update File: f", "@@", *removed, *added), {"f": _bytes(before)})
    assert made["f"] == _bytes(after)
