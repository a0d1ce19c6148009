import pytest

from tests.support.patches import v4a
from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import AddFile, FileOperation, LineKind, UpdateFile
from workspace_server.patch.v4a import parse_v4a


def _parsed(*lines: str) -> FileOperation:
    (operation,) = parse_v4a(v4a(*lines).splitlines(), first_line=1)
    return operation


def _update(*lines: str) -> UpdateFile:
    operation = _parsed("*** Update File: f", *lines)
    assert isinstance(operation, UpdateFile)
    return operation


def _refused(*lines: str) -> InvalidPatch:
    with pytest.raises(InvalidPatch) as refused:
        _parsed(*lines)
    return refused.value


def test_a_hunk_has_its_lines_by_kind() -> None:
    (hunk,) = _update("@@", " a", "-b", "+c", " d").hunks
    assert [line.text for line in hunk.old] == ["a", "b", "d"]
    assert [line.text for line in hunk.new] == ["a", "c", "d"]
    assert hunk.count(LineKind.ADDED) == 1


def test_the_first_hunk_needs_no_header() -> None:
    assert len(_update("-a", "+b", "@@", "-c", "+d").hunks) == 2


def test_anchors_are_kept_in_order_without_their_decoration() -> None:
    (hunk,) = _update("@@ class A @@", "@@", "@@   def m", "-a").hunks
    assert hunk.anchors == ("class A", "  def m")


def test_line_numbers_in_a_header_are_a_hint_and_no_anchor() -> None:
    (hunk,) = _update("@@ -12,3 +14,3 @@ def m", "-a").hunks
    assert (hunk.anchors, hunk.stated_start) == ((), 12)


def test_blank_lines_at_the_end_may_be_separators() -> None:
    (hunk,) = _update("-a", "", " b", "", "").hunks
    assert hunk.loose_blanks == 2
    assert [line.text for line in hunk.old] == ["a", "", "b", "", ""]


def test_a_padded_marker_inside_an_update_is_content() -> None:
    (hunk,) = _update(" *** Delete File: x", "-a").hunks
    assert hunk.old[0].text == "*** Delete File: x"


def test_an_added_file_may_hold_no_line() -> None:
    operation = _parsed("*** Add File: f")
    assert isinstance(operation, AddFile)
    assert operation.lines == ()


def test_an_empty_line_of_an_added_file_needs_its_plus() -> None:
    error = _refused("*** Add File: f", "+a", "", "+b")
    assert error.details["line"] == 5
    assert "'+' alone" in (error.recovery or "")


def test_a_complaint_names_line_and_expectation() -> None:
    error = _refused("*** Update File: f", "@@", "-a", "b")
    assert error.details == {
        "line": 5,
        "expected": "a line of a hunk, '@@' or the next header",
        "found": "b",
    }


@pytest.mark.parametrize(
    "lines",
    [
        ("*** Update File: f", "@@x", "-a"),
        ("*** Update File: f", "-a", "*** End of File", "-b"),
        ("*** Update File: f", "-a", "*** Move to: g"),
        ("*** Update File: f", "@@ only an anchor"),
        ("*** Update File:f", "-a"),
        ("prose", "*** Update File: f", "-a"),
        ("*** End Patch", "*** Update File: f", "-a"),
    ],
)
def test_what_is_no_v4a_is_refused(lines: tuple[str, ...]) -> None:
    assert isinstance(_refused(*lines).details["line"], int)


def test_a_rename_may_quote_lines_without_changing_them() -> None:
    operation = _update("*** Move to: g", "@@", " a")
    assert operation.move_to == "g"
