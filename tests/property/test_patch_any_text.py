"""Whatever a client sends as a patch, it is planned or refused in words the client can use."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.support.patches import planned
from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.domain.failure import failure_object

_FILES = {"f": b"a\nb\n\nc\nb\n", "g": b"\xef\xbb\xbfx\r\n\xe4\r\ny", "empty": b"", "raw": b"\0"}
_SHAPES = st.sampled_from(
    [
        *("*** Begin Patch", "*** End Patch", "*** Update File: f", "*** Update File: g"),
        *("*** Add File: n", "*** Delete File: raw", "*** Move to: m", "*** End of File"),
        *("diff --git a/f b/f", "--- a/f", "+++ b/f", "--- a/g", "+++ b/g", "--- /dev/null"),
        *("+++ /dev/null", "new file mode 100755", "deleted file mode 100644", "new mode 100755"),
        *("rename from f", "rename to m", "@@", "@@ -1,2 +1,3 @@", "@@ -2,0 +3 @@", "@@ b"),
        *(" a", "-a", "+a", " b", "-b", "+b", "-c", "+ü", " ", "", "-x\r", "+y\r", "-\udce4\r"),
        *("\\ No newline at end of file", "```", "<<EOF", "EOF", "prose", "-- ", "2.39.5"),
    ]
)
_TEXTS = st.lists(_SHAPES, max_size=14).map("\n".join)


def _v4a(lines: Sequence[str]) -> str:
    return "\n".join(("*** Begin Patch", "*** Update File: f", *lines, "*** End Patch"))


def _diff(lines: Sequence[str]) -> str:
    return "\n".join(("--- a/f", "+++ b/f", "@@ -1,2 +1,2 @@", *lines, ""))


@given(
    st.text()
    | _TEXTS
    | st.lists(_SHAPES, max_size=9).map(_v4a)
    | st.lists(_SHAPES, max_size=9).map(_diff)
)
def test_any_text_is_planned_or_refused(text: str) -> None:
    try:
        plan = planned(text, _FILES)
    except WorkspaceServerError as refused:
        _check_failure(refused)
    else:
        assert plan.changes
        assert all(change.before != change.after for change in plan.changes)


def _check_failure(refused: WorkspaceServerError) -> None:
    told = json.dumps(failure_object(refused), ensure_ascii=False)
    assert len(told.encode()) < 8 * 1024
    assert refused.recovery
