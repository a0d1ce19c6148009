import pytest

from tests.support.patches import patched, planned, v4a
from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import LineRange

_NAMES = "--- a/f\n+++ b/f\n"


def _rewritten(content: bytes, *lines: str) -> bytes:
    return patched(v4a("*** Update File: f", *lines), {"f": content})["f"]


@pytest.mark.guarantee("field-73")
@pytest.mark.parametrize("foreign", [b"\xe9", b"\x93\xfa\x96{", b"\xff", b"\xc3("])
@pytest.mark.guarantee("patch-other-bytes-stay")
def test_bytes_that_are_not_utf_8_stay_as_they_are(foreign: bytes) -> None:
    content = b"first\n" + b"line\n" * 998 + foreign + b"\n"
    assert _rewritten(content, "-first", "+second") == content.replace(b"first", b"second")


@pytest.mark.guarantee("field-73")
def test_a_file_in_another_encoding_gets_no_utf_8() -> None:
    with pytest.raises(InvalidPatch, match="two encodings"):
        _rewritten(b"\x82\xa0\nx\n", "-x", "+\u3044")


def test_a_file_may_be_converted_to_utf_8_by_the_patch() -> None:
    diff = _NAMES + "@@ -1 +1 @@\n-caf\udce9\n+café\n"
    assert patched(diff, {"f": b"caf\xe9\n"})["f"] == "café\n".encode()


@pytest.mark.guarantee("field-74")
def test_added_lines_end_like_their_neighbours() -> None:
    content = b"a\nb\nc\r\nd\r\n"
    assert _rewritten(content, " a", "+x", " b", "@@", " c", "+y", " d") == (
        b"a\nx\nb\nc\r\ny\r\nd\r\n"
    )


@pytest.mark.guarantee("field-74")
def test_context_keeps_its_own_line_ends() -> None:
    assert _rewritten(b"a\r\nb\nc\r\n", " a", "-b", "+B", " c") == b"a\r\nB\nc\r\n"


@pytest.mark.guarantee("field-74")
def test_the_mark_stays_before_whatever_is_first() -> None:
    content = b"\xef\xbb\xbfa\r\nb\r\n"
    assert _rewritten(content, "-a", "+A") == b"\xef\xbb\xbfA\r\nb\r\n"
    assert _rewritten(content, "-a") == b"\xef\xbb\xbfb\r\n"
    assert _rewritten(content, "+x", " a") == b"\xef\xbb\xbfx\r\na\r\nb\r\n"


def test_a_line_end_is_changed_where_the_diff_names_both() -> None:
    diff = _NAMES + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+b\n"
    assert patched(diff, {"f": b"a\r\nb\r\n"})["f"] == b"a\r\nb\n"


def test_an_unended_last_line_is_ended_when_lines_follow_it() -> None:
    assert _rewritten(b"a\r\nb", "+c", "*** End of File") == b"a\r\nb\r\nc"
    assert _rewritten(b"a", "+b", "+c", "*** End of File") == b"a\nb\nc"


@pytest.mark.guarantee("patch-other-bytes-stay")
def test_a_file_without_final_newline_stays_without() -> None:
    assert _rewritten(b"a\nb", " a", "-b") == b"a"
    assert _rewritten(b"a\r\nb", "-b", "+c", "+d") == b"a\r\nc\r\nd"


def test_a_lone_carriage_return_at_the_end_is_text() -> None:
    assert _rewritten(b"a\nb\r", "-a", "+A") == b"A\nb\r"
    assert _rewritten(b"a\nb\r", "+c", "*** End of File") == b"a\nb\r\nc"
    assert _rewritten(b"a\r\nb\r", "+c", "*** End of File") == b"a\r\nb\r\nc"


def test_a_line_inserted_by_number_ends_like_its_neighbours() -> None:
    diff = _NAMES + "@@ -1,0 +2 @@\n+x\n"
    assert patched(diff, {"f": b"a\r\nb\r\n"})["f"] == b"a\r\nx\r\nb\r\n"


def test_ranges_are_the_added_lines_of_the_new_file() -> None:
    content = b"".join(b"%d\n" % number for number in range(1, 9))
    lines = ("@@", " 1", "+a", "+b", " 2", "-3", "@@", "-6", "+c")
    (report,) = planned(v4a("*** Update File: f", *lines), {"f": content}).files
    assert report.ranges == (LineRange(start=2, end=3), LineRange(start=7, end=7))
    assert [(hunk.old_start, hunk.new_start) for hunk in report.hunks] == [(1, 1), (6, 7)]
    assert (report.lines_added, report.lines_removed) == (3, 2)


def test_a_hunk_that_shares_context_tells_its_own_start() -> None:
    diff = ("@@", "-a", "+A", " b", " c", "@@", " b", " c", "-d", "+D")
    (report,) = planned(v4a("*** Update File: f", *diff), {"f": b"a\nb\nc\nd\n"}).files
    assert [(hunk.old_start, hunk.new_start) for hunk in report.hunks] == [(1, 1), (2, 2)]
    assert _rewritten(b"a\nb\nc\nd\n", *diff) == b"A\nb\nc\nD\n"
