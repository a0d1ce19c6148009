"""Where the hunks of a file belong: all of them together, in one way only, or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise, takewhile

from workspace_server.patch.anchors import Anchors
from workspace_server.patch.line_search import FixedPlaces, LineSearch, Places
from workspace_server.patch.model import Hunk, LineKind, PatchLine

_CANDIDATES = 20  # places that a refusal lists


class Misfit(StrEnum):
    """Why a hunk could not be placed."""

    NOT_FOUND = "not found"
    SEVERAL_PLACES = "several places"
    OUT_OF_ORDER = "overlaps another hunk or comes before it"
    ANCHOR_NOT_FOUND = "anchor not found"
    NO_CONTEXT = "no line says where to insert"
    LINES_MOVED = "no context, and the file's lines have moved"


@dataclass(frozen=True, kw_only=True)
class PlacedHunk:
    """A hunk and the line, from 0, where its block starts in the file."""

    hunk: Hunk  # without the blank lines that turned out to be separators
    start: int
    matched: str

    @property
    def end(self) -> int:
        """The line after the block."""
        return self.start + len(self.hunk.old)


@dataclass(frozen=True, kw_only=True)
class MisplacedHunk:
    """A hunk that fits nowhere, or in more than one place."""

    hunk: Hunk
    misfit: Misfit
    candidates: tuple[int, ...] = ()  # lines from 0


class PlacementFailed(Exception):
    """Some hunks of a file have no place, or no single one."""

    def __init__(self, hunks: Sequence[MisplacedHunk]) -> None:
        super().__init__()
        self.hunks = hunks


@dataclass(frozen=True, kw_only=True)
class _Located:
    """A hunk and the places that it could have, were it alone."""

    hunk: Hunk
    places: Places
    matched: str = "exact"


def place(hunks: Sequence[Hunk], texts: Sequence[str]) -> tuple[PlacedHunk, ...]:
    """Place all hunks in the lines `texts`; return them in the order of the file.

    In the order of the patch and without overlap, else sharing context lines, else in any order if
    each has one place. Raises PlacementFailed where that leaves no way, or more than one.
    """
    candidates = _Candidates(hunks, texts)
    found = [candidates.of(hunk) for hunk in hunks]
    located = [each for each in found if isinstance(each, _Located)]
    misplaced = [each for each in found if isinstance(each, MisplacedHunk)]
    if misplaced:
        raise PlacementFailed(misplaced + _ambiguous(located, len(texts)))
    starts = _only_way(located, len(texts))
    placed = [
        PlacedHunk(hunk=each.hunk, start=start, matched=each.matched)
        for each, start in zip(located, starts, strict=True)
    ]
    _check_stated_insertions(placed)
    return tuple(sorted(placed, key=lambda each: each.start))


class _Candidates:
    """Finds the places of one hunk after the other."""

    def __init__(self, hunks: Sequence[Hunk], texts: Sequence[str]) -> None:
        self._size = len(texts)
        wanted = (line.text for hunk in hunks for line in hunk.lines if line.is_old)
        self._search = LineSearch(texts, wanted)
        self._anchors = Anchors(texts)

    def of(self, hunk: Hunk) -> _Located | MisplacedHunk:
        """Return the places of `hunk`: as it stands, else without blank lines that separate."""
        bare = _without_loose_blanks(hunk)
        if not bare.old:
            return self._insertion(bare)
        for reading in (hunk, bare) if hunk.loose_blanks else (hunk,):
            located = self._block(reading)
            if located:
                return located
        has_anchor = not hunk.anchors or self._anchors.position(hunk.anchors) is not None
        misfit = Misfit.NOT_FOUND if has_anchor else Misfit.ANCHOR_NOT_FOUND
        return MisplacedHunk(hunk=bare, misfit=misfit)

    def _block(self, hunk: Hunk) -> _Located | None:
        anchor = self._anchors.position(hunk.anchors)
        if anchor is None:
            return None
        # the block comes after its anchor; only if it does not, the anchor is its first line
        for at_least in (anchor + 1, max(anchor, 0)):
            block = [line.text for line in hunk.old]
            search = self._search.place_at_end if hunk.at_end else self._search.places
            places = search(block, at_least)
            if places.first(0) is not None:
                return _Located(hunk=hunk, places=places)
        return None

    def _insertion(self, hunk: Hunk) -> _Located | MisplacedHunk:
        if hunk.anchors and self._anchors.position(hunk.anchors) is None:
            return MisplacedHunk(hunk=hunk, misfit=Misfit.ANCHOR_NOT_FOUND)
        positions = self._insertion_points(hunk)
        if not positions:
            return MisplacedHunk(hunk=hunk, misfit=Misfit.NO_CONTEXT)
        by_number = hunk.is_stated_insertion and not (hunk.anchors or hunk.at_end or not self._size)
        matched = "line-number" if by_number else "exact"
        return _Located(hunk=hunk, places=FixedPlaces(positions, 0), matched=matched)

    def _insertion_points(self, hunk: Hunk) -> Sequence[int]:
        if hunk.at_end or self._size == 0:
            return [self._size]
        if hunk.anchors:
            return [position + 1 for position in self._anchors.positions_of_last(hunk.anchors)]
        if hunk.is_stated_insertion and (hunk.stated_start or 0) <= self._size:
            return [hunk.stated_start or 0]
        return []


def _without_loose_blanks(hunk: Hunk) -> Hunk:
    if not hunk.loose_blanks:
        return hunk
    return replace(hunk, lines=hunk.lines[: -hunk.loose_blanks], loose_blanks=0)


def _only_way(located: Sequence[_Located], size: int) -> Sequence[int]:
    """Return where the hunks start; raise PlacementFailed unless there is just one way."""
    for shared in ([0] * len(located), _shared_context(located)):
        earliest = _earliest(located, shared)
        if earliest is not None:
            if earliest != _latest(located, shared, size):
                raise PlacementFailed(_ambiguous(located, size))
            return earliest
    starts = _each_alone(located, size)
    if starts is None:
        raise PlacementFailed(_ambiguous(located, size) or _out_of_order(located))
    return starts


def _earliest(located: Sequence[_Located], shared: Sequence[int]) -> list[int] | None:
    """Return the way with each hunk as far up as it goes, or None if there is no way.

    `shared` says how many lines a hunk may have in common with the one before it. If the way with
    each hunk as far down as it goes is the same, there is no other: all lie between the two.
    """
    starts: list[int] = []
    end = 0
    for each, overlap in zip(located, shared, strict=True):
        start = each.places.first(max(end - overlap, 0))
        if start is None:
            return None
        starts.append(start)
        end = start + each.places.length
    return starts


def _latest(located: Sequence[_Located], shared: Sequence[int], size: int) -> list[int]:
    """Return the way with each hunk as far down as it goes; there must be a way."""
    starts: list[int] = []
    end = size
    for each, overlap in zip(reversed(located), reversed([*shared[1:], 0]), strict=True):
        start = each.places.last(end + overlap - each.places.length)
        assert start is not None
        starts.append(start)
        end = start
    return starts[::-1]


def _shared_context(located: Sequence[_Located]) -> list[int]:
    """Return how many context lines each hunk may share with the end of the one before it."""
    return [0] + [
        min(_leading_context(before.hunk.lines[::-1]), _leading_context(after.hunk.lines))
        for before, after in pairwise(located)
    ]


def _leading_context(lines: Sequence[PatchLine]) -> int:
    return sum(1 for _ in takewhile(lambda line: line.kind is LineKind.CONTEXT, lines))


def _each_alone(located: Sequence[_Located], size: int) -> list[int] | None:
    """Return the only place of each hunk, if each has one and no two overlap."""
    starts = [_only_place(each, size) for each in located]
    spans = sorted(
        (start, start + each.places.length)
        for each, start in zip(located, starts, strict=True)
        if start is not None
    )
    if len(spans) < len(located) or any(a[1] > b[0] or a == b for a, b in pairwise(spans)):
        return None
    return [start for start in starts if start is not None]


def _only_place(located: _Located, size: int) -> int | None:
    first = located.places.first(0)
    return first if first == located.places.last(size) else None


def _ambiguous(located: Sequence[_Located], size: int) -> list[MisplacedHunk]:
    """Return the hunks that have more than one place, taken by themselves."""
    return [
        MisplacedHunk(hunk=each.hunk, misfit=Misfit.SEVERAL_PLACES, candidates=_listed(each.places))
        for each in located
        if _only_place(each, size) is None
    ]


def _out_of_order(located: Sequence[_Located]) -> list[MisplacedHunk]:
    """Return the hunks that begin before the end of one that the patch has before them."""
    misplaced: list[MisplacedHunk] = []
    end = 0
    for each in located:
        start = each.places.first(0)
        assert start is not None
        if start < end:
            misfit = MisplacedHunk(hunk=each.hunk, misfit=Misfit.OUT_OF_ORDER, candidates=(start,))
            misplaced.append(misfit)
        end = max(end, start + each.places.length)
    return misplaced


def _listed(places: Places) -> tuple[int, ...]:
    positions: list[int] = []
    position = places.first(0)
    while position is not None and len(positions) < _CANDIDATES:
        positions.append(position)
        position = places.first(position + 1)
    return tuple(positions)


def _check_stated_insertions(placed: Sequence[PlacedHunk]) -> None:
    """Refuse insertions that only a line number places if another hunk's number is not true."""
    insertions = [each.hunk for each in placed if _is_by_number(each.hunk)]
    has_moved = any(
        each.hunk.stated_start not in (None, each.start + 1)
        for each in placed
        if not _is_by_number(each.hunk)
    )
    if insertions and has_moved:
        raise PlacementFailed(
            [MisplacedHunk(hunk=hunk, misfit=Misfit.LINES_MOVED) for hunk in insertions]
        )


def _is_by_number(hunk: Hunk) -> bool:
    return hunk.is_stated_insertion and not hunk.old
