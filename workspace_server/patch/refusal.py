"""What a client is told of hunks that could not be placed: enough to mend the patch, no more."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from workspace_server.domain.errors import InvalidPatch
from workspace_server.domain.json_value import JsonValue
from workspace_server.patch.line_search import LineSearch
from workspace_server.patch.model import Hunk
from workspace_server.patch.placement import Misfit, MisplacedHunk
from workspace_server.patch.syntax import printable

_BUDGET = 5_600  # bytes of JSON for all hunks together
_HUNKS = 10
_LINE = 160  # characters
_LINES_SHOWN = (40, 24, 12, 6, 0)  # of the file and of the hunk, the most that fits
_MARGIN = 3  # lines shown around the nearest place
_COMPARED = 300  # lines that a likeness is looked for in
_COMMON = 1_000  # a line that is there more often tells nothing

_RECOVERY = {
    Misfit.NOT_FOUND: "Copy context and removed lines from the file as it is now: see nearest in "
    "details, if there is one, or read the file.",
    Misfit.SEVERAL_PLACES: "Add context lines until the hunk fits one place only; in V4A an "
    "'@@ line' before it helps too.",
    Misfit.OUT_OF_ORDER: "Order the hunks as the file has the lines, and quote each line once.",
    Misfit.ANCHOR_NOT_FOUND: "Write after '@@ ' a whole line of the file, or leave it out.",
    Misfit.NO_CONTEXT: "Add at least one context line next to the added ones; to add at the end in "
    "V4A, write '*** End of File' after them.",
    Misfit.LINES_MOVED: "Add context lines to the hunk: its line number is no longer true.",
}


_DONE = "If that is your change, leave the hunk out; else read the file and make it anew."


@dataclass(frozen=True, kw_only=True)
class UnplacedFile:
    """The hunks of one file that could not be placed, and the lines they were tried on."""

    path: str
    texts: Sequence[str]
    hunks: Sequence[MisplacedHunk]


def refusal(files: Sequence[UnplacedFile]) -> InvalidPatch:
    """Return the error that tells every hunk that fails, as far as there is room."""
    failures = [(file, hunk) for file in files for hunk in file.hunks]
    file, first = failures[0]
    others = len(failures) - 1
    also = f" So do {others} more." if others > 1 else " So does one more." if others else ""
    told = _told(failures[:_HUNKS])
    done = _is_done(file, first)
    why = "what it makes is in the file already" if done else first.misfit.value
    return InvalidPatch(
        f"Hunk {first.hunk.number} of {file.path} (line {first.hunk.patch_line} of the patch) "
        f"cannot be placed: {why}.{also}",
        recovery=_DONE if done else _RECOVERY[first.misfit],
        details={"hunks": told, "hunks_not_listed": len(failures) - len(told)},
    )


def _told(failures: Sequence[tuple[UnplacedFile, MisplacedHunk]]) -> list[JsonValue]:
    told: list[JsonValue] = []
    left = _BUDGET
    for number, (file, misplaced) in enumerate(failures):
        # the first may have half of it all, so that there is something of the others
        share = left if number or len(failures) == 1 else left // 2
        for lines in _LINES_SHOWN:
            entry = _entry(file, misplaced, lines)
            size = len(json.dumps(entry, ensure_ascii=False).encode())
            if size <= share:
                told.append(entry)
                left -= size
                break
        else:
            return told
    return told


def _entry(file: UnplacedFile, misplaced: MisplacedHunk, lines: int) -> dict[str, JsonValue]:
    hunk = misplaced.hunk
    entry: dict[str, JsonValue] = {
        "path": file.path,
        "hunk": hunk.number,
        "patch_line": hunk.patch_line,
        "reason": misplaced.misfit.value,
        "looked_for": _shown([line.text for line in hunk.old[: lines // 2]]),
    }
    match misplaced.misfit:
        case Misfit.SEVERAL_PLACES | Misfit.OUT_OF_ORDER:
            entry["candidates"] = [position + 1 for position in misplaced.candidates]
        case Misfit.NOT_FOUND:
            entry |= _nearest(file, hunk, lines)
            if _is_done(file, misplaced):
                entry["already_applied"] = True
        case Misfit.ANCHOR_NOT_FOUND:
            entry["anchors"] = _shown(hunk.anchors)
        case Misfit.NO_CONTEXT | Misfit.LINES_MOVED:
            pass
    return entry


def _nearest(file: UnplacedFile, hunk: Hunk, lines: int) -> dict[str, JsonValue]:
    start = _likely_start(file.texts, hunk)
    if start is None or not lines:
        return {}
    first = max(start - _MARGIN, 0)
    size = min(len(hunk.old) + start - first + _MARGIN, lines)
    shown = file.texts[first : first + size]
    nearest: dict[str, JsonValue] = {
        "start_line": first + 1,
        "end_line": first + len(shown),
        "lines": _shown(shown),
    }
    return {"nearest": nearest}


def _likely_start(texts: Sequence[str], hunk: Hunk) -> int | None:
    """Return the line, from 0, where most lines of the block would be in their place."""
    wanted = [line.text.strip() for line in hunk.old]
    positions: dict[str, list[int]] = {line: [] for line in wanted if line}
    for position, text in enumerate(texts):
        if text.strip() in positions:
            positions[text.strip()].append(position)
    votes = Counter(
        max(position - offset, 0)
        for offset, line in enumerate(wanted)
        if line and len(positions[line]) <= _COMMON
        for position in positions[line]
    )
    if votes:
        return max(votes, key=lambda start: (votes[start], -start))
    return _similar_line(texts, wanted, (hunk.stated_start or 1) - 1)


def _similar_line(texts: Sequence[str], wanted: Sequence[str], around: int) -> int | None:
    """Return where the block would begin if its longest line were the most similar one here."""
    longest = max(wanted, key=len, default="")[:_LINE]
    first = max(min(around, len(texts)) - _COMPARED // 2, 0)
    lines = [text.strip()[:_LINE] for text in texts[first : first + _COMPARED]]
    similar = get_close_matches(longest, lines, n=1) if longest else []
    if similar:
        offset = next(at for at, line in enumerate(wanted) if line.startswith(longest))
        return max(first + lines.index(similar[0]) - offset, 0)
    return 0 if len(texts) <= _LINES_SHOWN[0] else None


def _is_done(file: UnplacedFile, misplaced: MisplacedHunk) -> bool:
    """Tell whether the hunk is not found because the file holds its outcome."""
    new = [line.text for line in misplaced.hunk.new]
    return misplaced.misfit is Misfit.NOT_FOUND and _is_there(file.texts, new)


def _is_there(texts: Sequence[str], block: Sequence[str]) -> bool:
    return bool(block) and LineSearch(texts, block).places(block).first(0) is not None


def _shown(lines: Sequence[str]) -> list[JsonValue]:
    return [printable(line if len(line) <= _LINE else line[: _LINE - 1] + "…") for line in lines]
