"""A second reading of hunks, by an independent parser, from a copy with true counts."""

from collections.abc import Iterator, Sequence
from io import StringIO

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from workspace_server.domain.errors import InvalidPatch
from workspace_server.patch.model import Hunk, LineKind, PatchLine

_MARKER = "\\ No newline at end of file\n"


def check_hunks(hunks: Sequence[Hunk]) -> None:
    """Raise InvalidPatch unless the second reading finds the very same lines in each hunk."""
    try:
        files = PatchSet(StringIO("".join(_written(hunks)), newline="\n"))
    except UnidiffParseError as error:
        raise _disagreement(hunks[0]) from error
    found = files[0] if len(files) == 1 else ()
    if len(found) != len(hunks):
        raise _disagreement(hunks[0])
    for hunk, reading in zip(hunks, found, strict=True):
        lines = [f"{line.line_type}{line.value}" for line in reading]
        if lines != list(_body(hunk)) or not reading.is_valid():
            raise _disagreement(hunk)


def _written(hunks: Sequence[Hunk]) -> Iterator[str]:
    yield "--- a/file\n+++ b/file\n"
    for hunk in hunks:
        start = hunk.stated_start or 1
        old = hunk.count(LineKind.CONTEXT) + hunk.count(LineKind.REMOVED)
        new = hunk.count(LineKind.CONTEXT) + hunk.count(LineKind.ADDED)
        yield f"@@ -{start},{old} +{start},{new} @@\n"
        yield from _body(hunk)


def _body(hunk: Hunk) -> Iterator[str]:
    for line in hunk.lines:
        yield f"{line.kind.value}{line.text}{_carriage_return(line)}\n"
        if not line.is_ended:
            yield _MARKER


def _carriage_return(line: PatchLine) -> str:
    return "\r" if line.terminator.startswith("\r") else ""


def _disagreement(hunk: Hunk) -> InvalidPatch:
    return InvalidPatch(
        f"The hunk at line {hunk.patch_line} of the patch can be read in more than one way.",
        recovery="Write the hunk anew, with true line counts in its '@@' header.",
        details={"line": hunk.patch_line},
    )
