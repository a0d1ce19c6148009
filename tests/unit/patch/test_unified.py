import pytest

from workspace_server.domain.errors import InvalidPatch, PathEscape
from workspace_server.patch.model import FileOperation, Hunk, UpdateFile
from workspace_server.patch.unified import parse_unified

_NAMES = ("--- a/f", "+++ b/f")


def _parsed(*lines: str) -> FileOperation:
    (operation,) = parse_unified(lines, is_cut=False)
    return operation


def _hunk(*lines: str) -> Hunk:
    operation = _parsed(*_NAMES, *lines)
    assert isinstance(operation, UpdateFile)
    return operation.hunks[0]


def _refused(*lines: str) -> InvalidPatch:
    with pytest.raises(InvalidPatch) as refused:
        parse_unified(lines, is_cut=False)
    return refused.value


def test_bodies_are_counted_and_headers_not_believed() -> None:
    hunk = _hunk("@@ -4,1 +4,9 @@", " a", "-b", "+c", "+d")
    assert (len(hunk.old), len(hunk.new), hunk.stated_start) == (2, 3, 4)


def test_true_counts_tell_that_blank_lines_at_the_end_are_separators() -> None:
    hunk = _hunk("@@ -1 +1 @@", "-b", "+c", "", "")
    assert (len(hunk.lines), hunk.loose_blanks) == (2, 0)


def test_true_counts_tell_that_blank_lines_at_the_end_are_context() -> None:
    hunk = _hunk("@@ -1,2 +1,2 @@", "-b", "+c", "")
    assert (len(hunk.lines), hunk.loose_blanks) == (3, 0)


def test_without_counts_blank_lines_at_the_end_may_be_either() -> None:
    hunk = _hunk("@@", "-b", "+c", "", "")
    assert (len(hunk.lines), hunk.loose_blanks) == (4, 2)


def test_a_marker_takes_the_line_end_off_and_names_the_end_of_the_file() -> None:
    hunk = _hunk("@@ -1 +1 @@", "-b\r", "\\ Pas de fin de ligne", "+c")
    assert [line.terminator for line in hunk.lines] == ["\r", "\n"]
    assert hunk.at_end


def test_true_counts_let_prose_follow_that_looks_like_a_hunk() -> None:
    assert len(_hunk("@@ -1 +1 @@", "-b", "+c", "", "It does:", "- this", "+ that").lines) == 2


def test_without_counts_such_prose_is_refused() -> None:
    error = _refused(*_NAMES, "@@", "-b", "+c", "", "It does:", "- this")
    assert error.details["line"] == 7


@pytest.mark.parametrize(
    "lines",
    [
        ("@@ -1 +1 @@", "-a", "+b"),
        (*_NAMES,),
        (*_NAMES, "", "diff --git a/g b/g", "new mode 100755"),
        ("--- a/f", "@@ -1 +1 @@", "-a", "+b"),
        ("--- /dev/null", "+++ /dev/null", "@@ -1 +1 @@", "-a", "+b"),
        ("diff --git a/f b/f",),
        ("diff --git a/f b/f", "new mode 040000"),
        (*_NAMES, "@@ -1 +1 @@", "\\ No newline at end of file", "+b"),
        (*_NAMES, "@@ -1 +1,3 @@", "-a", "+b", "\\ No newline at end of file", "+c"),
        (*_NAMES, "@@ -1 +1 @@", "-a", "+b", "", "lost", "-c", "+d"),
        (*_NAMES, "@@", "-a", "+b", "text that follows directly"),
        (*_NAMES, "@@ -1 +1 @@", "-a", "+b", "", "text", "@@ -3 +3 @@", "-c", "+d"),
        (*_NAMES, "@@ -1 +1 @@", "-a", "+b", "Binary files x and y differ"),
        ("--- /dev/null", "+++ b/f", "@@ -0,0 +1,2 @@", "+a", " b"),
        ("--- a/f", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-a", " b"),
    ],
)
def test_what_would_lose_or_guess_something_is_refused(lines: tuple[str, ...]) -> None:
    assert _refused(*lines).recovery


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    assert "UTF-8" in _refused('--- "a/\\344"', '+++ "b/\\344"', "@@", "-a").message


def test_a_rename_out_of_the_workspace_is_an_escape() -> None:
    with pytest.raises(PathEscape):
        _parsed("diff --git a/f b/f", "rename from f", "rename to ../f")


def test_a_cut_last_line_gets_back_the_carriage_return_of_the_others() -> None:
    lines = (*_NAMES, "@@ -1,2 +1,2 @@", " a\r", "-b", "\\ No newline at end of file", "+c")
    (operation,) = parse_unified(lines, is_cut=True)
    assert isinstance(operation, UpdateFile)
    assert operation.hunks[0].new[-1].terminator == "\r\n"
