import pytest

from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import Hunk, LineKind, PatchLine
from workspace_server.patch.unified_check import check_hunks


def _hunk(*lines: PatchLine) -> Hunk:
    return Hunk(number=1, patch_line=3, lines=lines)


def test_lines_that_look_like_headers_are_read_as_lines() -> None:
    removed, added = PatchLine(LineKind.REMOVED, "-- x"), PatchLine(LineKind.ADDED, "++ y")
    check_hunks([_hunk(removed, added), _hunk(removed, added._replace(terminator="\r"))])


@pytest.mark.parametrize("text", ["a\n", "a\n@@ -1 +1 @@", "a\n--- b"])
def test_lines_that_would_be_read_otherwise_are_refused(text: str) -> None:
    with pytest.raises(InvalidPatch, match="line 3"):
        check_hunks([_hunk(PatchLine(LineKind.ADDED, text))])
