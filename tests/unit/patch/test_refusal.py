import json
from collections.abc import Mapping, Sequence

import pytest

from tests.support.patches import planned, v4a
from workspace_server.domain.errors import InvalidPatch
from workspace_server.domain.json_value import JsonValue

_FILE = b"".join(b"line %d\n" % number for number in range(1, 201))


def _refused(content: bytes, *lines: str) -> InvalidPatch:
    with pytest.raises(InvalidPatch) as refused:
        planned(v4a("*** Update File: f", *lines), {"f": content})
    return refused.value


def _hunks(error: InvalidPatch) -> Sequence[Mapping[str, JsonValue]]:
    hunks = error.details["hunks"]
    assert isinstance(hunks, list)
    return hunks


@pytest.mark.guarantee("patch-refusal-shows-the-way")
def test_a_hunk_that_is_not_found_shows_the_nearest_lines() -> None:
    error = _refused(_FILE, " line 49", "-line fifty", "+x", " line 51")
    (hunk,) = _hunks(error)
    assert hunk["reason"] == "not found"
    assert hunk["looked_for"] == ["line 49", "line fifty", "line 51"]
    assert hunk["nearest"] == {
        "start_line": 46,
        "end_line": 54,
        "lines": [f"line {number}" for number in range(46, 55)],
    }
    assert "nearest" in (error.recovery or "")


def test_a_line_with_a_slip_is_found_by_its_likeness() -> None:
    (hunk,) = _hunks(
        _refused(b"x\n" * 60 + b"def parse_header(text):\n", "-def parse_heade(text):")
    )
    nearest = hunk["nearest"]
    assert isinstance(nearest, dict)
    assert nearest["end_line"] == 61


def test_several_places_are_told_by_their_line_numbers() -> None:
    error = _refused(b"a\nx\na\n", "-a")
    (hunk,) = _hunks(error)
    assert (hunk["reason"], hunk["candidates"]) == ("several places", [1, 3])
    assert "context" in (error.recovery or "")


def test_a_hunk_whose_result_is_there_already_is_told_so() -> None:
    (hunk,) = _hunks(_refused(b"a\nnew\nb\n", " a", "-old", "+new"))
    assert hunk["already_applied"] is True


def test_an_anchor_that_is_missing_is_named() -> None:
    (hunk,) = _hunks(_refused(_FILE, "@@ class X", "-line 1"))
    assert (hunk["reason"], hunk["anchors"]) == ("anchor not found", ["class X"])


def test_all_files_are_told_together() -> None:
    text = v4a(
        *("*** Update File: f", "-x", "+y"),
        *("*** Update File: g", "-x", "+y", "@@", "-z"),
    )
    with pytest.raises(InvalidPatch) as refused:
        planned(text, {"f": b"a\n", "g": b"b\n"})
    told = [(hunk["path"], hunk["hunk"], hunk["patch_line"]) for hunk in _hunks(refused.value)]
    assert told == [("f", 1, 3), ("g", 1, 6), ("g", 2, 8)]
    assert "So do 2 more" in refused.value.message


def test_a_later_consequence_does_not_hide_the_hunk_that_failed() -> None:
    text = v4a(
        *("*** Update File: f", "*** Move to: g", "-x", "+y"),
        *("*** Update File: g", "-y", "+z"),
    )
    with pytest.raises(InvalidPatch, match="Hunk 1 of f"):
        planned(text, {"f": b"a\n"})


@pytest.mark.parametrize("line", ["x" * 1_000, "ü" * 200, "\x01" * 300, "\udcff" * 300])
def test_details_keep_their_bound_whatever_the_lines_are(line: str) -> None:
    content = (f"{line}\n" * 50).encode("utf-8", "surrogateescape") + _FILE
    hunk = ("@@", *[f" {line}"] * 40, "-other", "+x")
    error = _refused(content, *hunk * 30)
    details = json.dumps(error.details, ensure_ascii=False).encode()
    assert len(details) < 6 * 1024
    listed = len(_hunks(error))
    assert listed > 1
    assert error.details["hunks_not_listed"] == 30 - listed
