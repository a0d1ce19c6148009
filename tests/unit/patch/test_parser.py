import pytest

from workspace_server.domain.errors import InputTooLarge, InvalidPatch
from workspace_server.patch.model import AddFile, PatchFormat
from workspace_server.patch.parser import MAX_PATCH_BYTES, parse_patch

_V4A = "*** Begin Patch\n*** Add File: f\n+a\n*** End Patch"
_DIFF = "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"


@pytest.mark.parametrize(
    "text",
    [
        _V4A,
        f"\n\n{_V4A}\n\n",
        f"```patch\n{_V4A}\n```",
        f"<<'EOF'\n{_V4A}\nEOF\n",
        f"```bash\napply_patch <<PATCH\n{_V4A}\nPATCH\n```\n",
    ],
)
def test_v4a_is_recognised_in_what_it_is_wrapped_in(text: str) -> None:
    assert parse_patch(text, None).format is PatchFormat.V4A


@pytest.mark.parametrize("text", [_DIFF, f"Done:\n{_DIFF}", f"~~~\n{_DIFF}~~~\n"])
def test_a_unified_diff_is_recognised_among_prose(text: str) -> None:
    assert parse_patch(text, None).format is PatchFormat.UNIFIED


def test_lines_are_counted_from_the_start_of_the_text() -> None:
    with pytest.raises(InvalidPatch) as refused:
        parse_patch("```\n*** Begin Patch\nwhat\n*** End Patch\n```\n", None)
    assert refused.value.details["line"] == 3


def test_a_format_that_is_given_is_not_guessed() -> None:
    with pytest.raises(InvalidPatch, match="no file section"):
        parse_patch(_V4A, PatchFormat.UNIFIED)
    with pytest.raises(InvalidPatch, match="Begin Patch"):
        parse_patch(_DIFF, PatchFormat.V4A)


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "{}"])
def test_what_is_no_patch_is_refused_with_both_languages_named(text: str) -> None:
    with pytest.raises(InvalidPatch) as refused:
        parse_patch(text, None)
    assert "V4A" in (refused.value.recovery or "")
    assert "unified diff" in (refused.value.recovery or "")


def test_a_patch_above_the_limit_is_refused_with_both_numbers() -> None:
    with pytest.raises(InputTooLarge) as refused:
        parse_patch("x" * (MAX_PATCH_BYTES + 1), None)
    assert refused.value.details == {"size": MAX_PATCH_BYTES + 1, "limit": MAX_PATCH_BYTES}


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidPatch, match="surrogate"):
        parse_patch(_V4A.replace("+a", "+\ud83d"), None)


def test_escaped_bytes_that_are_utf_8_together_become_text() -> None:
    (operation,) = parse_patch(_V4A.replace("+a", "+\udcc3\udca9"), None).operations
    assert isinstance(operation, AddFile)
    assert operation.lines[0].text == "é"


def test_paths_are_all_that_is_read_or_written_each_once() -> None:
    text = (
        "--- a/x.orig\n+++ b/x\n@@\n-a\n--- b/y\n+++ b/y\n@@\n-a\n"
        "diff --git a/x b/z\nrename from x\nrename to z\n"
    )
    assert parse_patch(text, None).paths == ("x", "x.orig", "b/y", "y", "z")
