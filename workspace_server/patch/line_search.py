"""Finding blocks of lines in a file, in time that grows with the file and not with the patch."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Protocol

from workspace_server.domain.errors import InvalidPatch

_OTHER = "\0"  # stands for every line that no hunk asks for
_MAX_DIFFERENT_LINES = 0x10FFFF


class Places(Protocol):
    """Where a block of `length` lines may start in a file; positions count from 0."""

    length: int

    def first(self, at_least: int) -> int | None:
        """Return the first place that is not before `at_least`."""

    def last(self, at_most: int) -> int | None:
        """Return the last place that is not after `at_most`."""


class FixedPlaces:
    """Places that are known."""

    def __init__(self, positions: Sequence[int], length: int) -> None:
        self._positions = positions  # sorted
        self.length = length

    def first(self, at_least: int) -> int | None:
        """Return the first place that is not before `at_least`."""
        at = bisect_left(self._positions, at_least)
        return self._positions[at] if at < len(self._positions) else None

    def last(self, at_most: int) -> int | None:
        """Return the last place that is not after `at_most`."""
        at = bisect_right(self._positions, at_most)
        return self._positions[at - 1] if at else None


class LineSearch:
    """A file as a string with one character a line, so that finding a block is finding text.

    `key` says which lines count as the same: those with the same key.
    """

    def __init__(
        self, lines: Iterable[str], wanted: Iterable[str], key: Callable[[str], str] = str
    ) -> None:
        self._key = key
        self._alphabet: dict[str, str] = {}
        for line in wanted:
            self._alphabet.setdefault(key(line), chr(min(len(self._alphabet), 0x10FFFE) + 1))
        if len(self._alphabet) > _MAX_DIFFERENT_LINES:
            raise InvalidPatch(
                f"The patch asks for more than {_MAX_DIFFERENT_LINES} different lines of one file.",
                recovery="Split it into several patches.",
            )
        self.forward = "".join([self._alphabet.get(key(line), _OTHER) for line in lines])

    @cached_property
    def backward(self) -> str:
        """The same from its end: searching forward in it is fast whatever the block is."""
        return self.forward[::-1]

    def places(self, block: Sequence[str], at_least: int = 0) -> Places:
        """Return the places of a block (not empty) of wanted lines, from `at_least` on."""
        code = "".join([self._alphabet[self._key(line)] for line in block])
        return _BlockPlaces(self, code, at_least)

    def place_at_end(self, block: Sequence[str], at_least: int = 0) -> Places:
        """Return the end of the file as the place of `block`, if it stands there."""
        code = "".join([self._alphabet[self._key(line)] for line in block])
        position = len(self.forward) - len(code)
        found = position >= at_least and self.forward.endswith(code)
        return FixedPlaces([position] if found else [], len(code))


class _BlockPlaces:
    def __init__(self, search: LineSearch, code: str, at_least: int) -> None:
        self._search = search
        self._code = code
        self._at_least = at_least
        self.length = len(code)

    def first(self, at_least: int) -> int | None:
        found = self._search.forward.find(self._code, max(at_least, self._at_least))
        return None if found < 0 else found

    def last(self, at_most: int) -> int | None:
        backward = self._search.backward
        found = backward.find(self._code[::-1], max(len(backward) - at_most - self.length, 0))
        position = len(backward) - found - self.length
        return None if found < 0 or position < self._at_least else position
