import pytest

from tests.support.patches import patched, planned, v4a
from workspace_server.domain.errors import (
    AddFileExists,
    FileNotFound,
    InvalidPatch,
    MoveDestinationExists,
)
from workspace_server.patch.model import ChangeKind, FileImage, FileReport, LineRange
from workspace_server.patch.parser import parse_patch
from workspace_server.patch.planner import plan


def _report(text: str, content: bytes, mode: int = 0o644) -> FileReport:
    image = FileImage(content=content, mode=mode)
    (report,) = plan(parse_patch(text, None), {"f": image, "g": None}).files
    return report


def _mode_after(text: str, mode: int) -> int:
    patch = parse_patch(text, None)
    (change,) = plan(patch, {"f": FileImage(content=b"a\n", mode=mode)}).changes
    assert change.after
    return change.after.mode


@pytest.mark.guarantee("field-76")
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o640, 0o700])
def test_an_update_keeps_the_mode(mode: int) -> None:
    assert _mode_after(v4a("*** Update File: f", "-a", "+b"), mode) == mode


@pytest.mark.guarantee("field-76")
def test_a_move_keeps_the_mode() -> None:
    moved = v4a("*** Update File: f", "*** Move to: g")
    files = {"f": FileImage(content=b"a\n", mode=0o755), "g": None}
    changes = {
        change.path: change.after for change in plan(parse_patch(moved, None), files).changes
    }
    assert changes == {"f": None, "g": FileImage(content=b"a\n", mode=0o755)}


@pytest.mark.parametrize(
    ("before", "header", "after"),
    [(0o600, "100755", 0o700), (0o644, "100755", 0o755), (0o751, "100644", 0o640)],
)
def test_a_diff_changes_who_may_run_a_file_and_nothing_else(
    before: int, header: str, after: int
) -> None:
    assert _mode_after(f"diff --git a/f b/f\nnew mode {header}\n", before) == after


def test_a_mode_change_is_told() -> None:
    report = _report("diff --git a/f b/f\nnew mode 100755\n", b"a\n")
    assert (report.kind, report.mode_changed, report.hunks) == (ChangeKind.UPDATE, True, ())


def test_operations_on_one_path_make_one_change_from_first_to_last() -> None:
    text = v4a(
        *("*** Update File: f", "-a", "+b"),
        *("*** Update File: f", "*** Move to: g", "-b", "+c"),
    )
    plan = planned(text, {"f": b"a\n"})
    assert {change.path: change.after and change.after.content for change in plan.changes} == {
        "f": None,
        "g": b"c\n",
    }
    (report,) = plan.files
    assert (report.kind, report.path, report.moved_from) == (ChangeKind.MOVE, "g", "f")
    assert (report.lines_added, report.lines_removed, len(report.hunks)) == (2, 2, 2)


def test_after_two_updates_one_range_holds_all_that_differs() -> None:
    content = b"".join(b"%d\n" % number for number in range(1, 9))
    text = v4a(
        *("*** Update File: f", "-7", "+x"),
        *("*** Update File: f", " 1", "+y"),
    )
    assert _report(text, content).ranges == (LineRange(start=2, end=8),)


def test_what_is_undone_within_the_patch_is_no_change() -> None:
    text = v4a("*** Add File: n", "+a", "*** Delete File: n")
    with pytest.raises(InvalidPatch, match="changes nothing"):
        planned(text, {})


def test_a_path_that_ends_as_it_began_is_left_out() -> None:
    text = v4a(
        *("*** Delete File: f", "*** Add File: f", "+a"),
        *("*** Add File: n", "+x"),
    )
    assert [change.path for change in planned(text, {"f": b"a\n"}).changes] == ["n"]


def test_a_file_that_is_replaced_is_an_update_of_all_its_lines() -> None:
    report = _report(v4a("*** Delete File: f", "*** Add File: f", "+x"), b"a\nb")
    assert (report.kind, report.lines_added, report.lines_removed) == (ChangeKind.UPDATE, 1, 2)


def test_a_deletion_tells_how_many_lines_go() -> None:
    report = _report(v4a("*** Delete File: f"), b"a\nb")
    assert (report.kind, report.lines_removed) == (ChangeKind.DELETE, 2)


def test_an_update_that_changes_nothing_is_refused() -> None:
    with pytest.raises(InvalidPatch, match="as it is"):
        planned(v4a("*** Update File: f", "-a", "+a"), {"f": b"a\n"})


def test_a_file_that_the_patch_took_away_is_told_so() -> None:
    text = v4a("*** Delete File: f", "*** Update File: f", "-a", "+b")
    with pytest.raises(FileNotFound, match="earlier operation"):
        planned(text, {"f": b"a\n"})


def test_a_file_can_move_where_another_one_was_deleted() -> None:
    text = v4a("*** Delete File: g", "*** Update File: f", "*** Move to: g")
    assert patched(text, {"f": b"a\n", "g": b"b\n"}) == {"g": b"a\n"}


def test_nothing_is_added_or_moved_onto_a_file() -> None:
    with pytest.raises(AddFileExists):
        planned(v4a("*** Add File: f", "+a"), {"f": b"a\n"})
    with pytest.raises(MoveDestinationExists):
        planned(v4a("*** Update File: f", "*** Move to: g"), {"f": b"a\n", "g": b""})


def test_a_diff_can_turn_names_around() -> None:
    text = "".join(
        f"diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n"
        for old, new in (("a", "b"), ("b", "c"), ("c", "a"))
    )
    assert patched(text, {"a": b"1", "b": b"2", "c": b"3"}) == {"b": b"1", "c": b"2", "a": b"3"}


def test_a_diff_deletes_only_what_it_quotes_whole() -> None:
    diff = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert patched(diff, {"f": b"a\r\nb"}) == {}
    with pytest.raises(InvalidPatch, match="line 2") as refused:
        planned(diff, {"f": b"a\nc\n"})
    assert refused.value.details == {"path": "f", "line": 2}


def test_a_quoted_mark_is_a_slip_where_the_file_has_none() -> None:
    text = v4a("*** Update File: f", "-\ufeffa", "+\ufeffb")
    assert patched(text, {"f": b"a\n"}) == {"f": b"b\n"}


def test_a_quoted_mark_is_meant_where_the_file_has_one() -> None:
    text = v4a("*** Update File: f", "-\ufeffa", "+b")
    assert patched(text, {"f": b"\xef\xbb\xbfa\n"}) == {"f": b"b\n"}


def test_a_mark_that_begins_a_later_line_is_quoted_as_text() -> None:
    text = v4a("*** Update File: f", "@@", "-a", "+A", "@@", " \ufeffb", "-c")
    before, after = "a\nx\n\ufeffb\nc\n", "A\nx\n\ufeffb\n"
    assert patched(text, {"f": before.encode()}) == {"f": after.encode()}


def test_no_path_becomes_file_and_folder_at_once() -> None:
    with pytest.raises(InvalidPatch, match="folder"):
        planned(v4a("*** Add File: a", "+x", "*** Add File: a/b/c", "+y"), {})
    text = v4a("*** Delete File: a", "*** Add File: a/b", "+y")
    assert patched(text, {"a": b"x\n"}) == {"a/b": b"y\n"}


def test_a_rename_of_what_is_not_there_creates_nothing() -> None:
    diff = "diff --git a/f b/g\nrename from f\nrename to g\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(FileNotFound):
        planned(diff, {})
