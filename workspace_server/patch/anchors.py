"""Anchor lines: the `@@ class Parser` that says after which line a block must come."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property


class Anchors:
    """The lines of a file as anchors: what matters of them is the text, not the indentation."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def position(self, anchors: Sequence[str]) -> int | None:
        """Return the line (from 0) where the earliest chain of the anchors ends; None if none."""
        position = -1
        for anchor in anchors:
            found = self._next(anchor, position + 1)
            if found is None:
                return None
            position = found
        return position

    def positions_of_last(self, anchors: Sequence[str]) -> list[int]:
        """Return every line (from 0) that can be the last of the anchors, in order."""
        before = self.position(anchors[:-1])
        if before is None:
            return []
        return [position for position in self._all(anchors[-1]) if position > before]

    def _next(self, anchor: str, at_least: int) -> int | None:
        positions = self._all(anchor)
        at = bisect_left(positions, at_least)
        return positions[at] if at < len(positions) else None

    def _all(self, anchor: str) -> Sequence[int]:
        """Return the lines that are the anchor, or the single line that begins with it."""
        text = anchor.strip()
        positions = self._positions.get(text)
        return positions if positions is not None else self._only_line_that_begins_with(text)

    def _only_line_that_begins_with(self, text: str) -> Sequence[int]:
        at = bisect_left(self._sorted, text)
        longer = [line for line in self._sorted[at : at + 2] if line.startswith(text)]
        positions = self._positions[longer[0]] if len(longer) == 1 else []
        return positions if len(positions) == 1 else []

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, line in enumerate(self._texts):
            positions.setdefault(line.strip(), []).append(position)
        return positions

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._positions)
