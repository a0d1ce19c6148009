"""Globs as patterns over path components, matched without backtracking.

A component's pattern takes time in proportion to its length and the name's, whoever wrote it: a
library's regular expressions for `*a*a*a*a*b` would stop the whole server for hours.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from workspace_server.domain.errors import InvalidArguments, PathEscape

MAX_GLOB_CHARACTERS = 512
MAX_ALTERNATIVES = 64

_ANY_DEPTH = "**"
_ANY_NAME = "*"
_TOKEN = re.compile(
    r"(?P<star>\*+)|(?P<any>\?)|\[(?P<negated>[!^]?)(?P<set>\]?(?:\\.|[^\]\\])*)\]"
    r"|\\(?P<escaped>.)|(?P<plain>[^*?\[\\]+)",
    re.DOTALL,
)
_SET_ITEM = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", re.DOTALL)
_BRACE = re.compile(r"\\.|[{},]", re.DOTALL)


class MalformedPattern(ValueError):
    """The text is no pattern: an open bracket or brace, a range upside down, a lone backslash."""


@dataclass(frozen=True, kw_only=True)
class PathPattern:
    """A pattern for whole paths; a component that is None stands for any number of folders."""

    components: tuple[re.Pattern[str] | None, ...]

    @classmethod
    def parse(cls, components: Sequence[str]) -> "PathPattern":
        """Return the pattern of these components; raises MalformedPattern."""
        if components[-1] == _ANY_DEPTH:  # whatever lies inside, not the folder itself
            components = (*components, _ANY_NAME)
        return cls(
            components=tuple(
                None if each == _ANY_DEPTH else re.compile(name_expression(each), re.DOTALL)
                for each in components
            )
        )

    def matches(self, parts: Sequence[str]) -> bool:
        """Tell whether the pattern fits the path with these components."""
        return len(self.components) in self._reached(parts)

    def may_match_below(self, parts: Sequence[str]) -> bool:
        """Tell whether the pattern could fit something inside the folder with these components."""
        return any(position < len(self.components) for position in self._reached(parts))

    def _reached(self, parts: Sequence[str]) -> set[int]:
        """Return the positions in the pattern at which one can be after these components."""
        positions = self._with_skipped({0})
        for part in parts:
            positions = self._with_skipped(self._stepped(positions, part))
        return positions

    def _stepped(self, positions: set[int], part: str) -> set[int]:
        stepped = set()
        for position in positions:
            if position < len(self.components):
                component = self.components[position]
                if component is None:
                    stepped.add(position)
                elif component.fullmatch(part):
                    stepped.add(position + 1)
        return stepped

    def _with_skipped(self, positions: set[int]) -> set[int]:
        """Add what is reached when a `**` stands for no folder at all."""
        for position in sorted(positions):
            following = position
            while following < len(self.components) and self.components[following] is None:
                following += 1
                positions.add(following)
        return positions


@dataclass(frozen=True, kw_only=True)
class Glob:
    """What a client asks for: a path fits if it fits one of the alternatives."""

    alternatives: tuple[PathPattern, ...]

    def matches(self, path: str) -> bool:
        """Tell whether the file at `path` is asked for."""
        parts = path.split("/")
        return any(each.matches(parts) for each in self.alternatives)

    def may_match_below(self, folder: str) -> bool:
        """Tell whether something inside `folder` could be asked for."""
        parts = folder.split("/")
        return any(each.may_match_below(parts) for each in self.alternatives)


def parse_glob(text: str) -> Glob:
    """Return the glob that `text` spells: `*`, `?`, `[a-z]`, `**`, `{a,b}`, and `\\` before each.

    Without a slash it fits a name at any depth, with one at the end all inside a folder. Raises
    InvalidArguments if malformed, PathEscape if it is absolute or holds `..`.
    """
    if not 0 < len(text) <= MAX_GLOB_CHARACTERS:
        raise _invalid(f"has {len(text)} characters; 1 to {MAX_GLOB_CHARACTERS} are allowed")
    try:
        spelled = list(islice(_alternatives(text), MAX_ALTERNATIVES + 1))
        if len(spelled) > MAX_ALTERNATIVES:
            raise MalformedPattern(f"stands for more than {MAX_ALTERNATIVES} alternatives")
        return Glob(alternatives=tuple(_path_pattern(each) for each in spelled))
    except MalformedPattern as error:
        raise _invalid(str(error)) from error


def name_expression(text: str) -> str:
    """Return the regular expression of one component; raises MalformedPattern."""
    pieces, position = [""], 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise MalformedPattern(f"has an open bracket or a lone backslash in {text!r}")
        if token["star"]:
            pieces.append("")
        else:
            pieces[-1] += _one_token(token)
        position = token.end()
    return _joined(pieces)


def _joined(pieces: list[str]) -> str:
    """Return the expression of fixed pieces with a `*` between each two."""
    first, *middle = pieces
    if not middle:
        return first
    # The first place where a piece fits is as good as any later one, so it is never given up.
    fixed = "".join(f"(?>.*?{piece})" for piece in middle[:-1])
    return f"{first}{fixed}.*{middle[-1]}"


def _one_token(token: re.Match[str]) -> str:
    if token["any"]:
        return "."
    if token["set"] is not None:
        return _character_set(token["set"], negated=bool(token["negated"]))
    return re.escape(token["escaped"] or token["plain"])


def _character_set(items: str, *, negated: bool) -> str:
    if "[:" in items:
        raise MalformedPattern("has a named character class")
    members = "".join(_set_item(*item.groups()) for item in _SET_ITEM.finditer(items))
    expression = f"[{'^' if negated else ''}{members}]"
    try:
        re.compile(expression)
    except re.error as error:
        raise MalformedPattern(f"has an impossible set [{items}]") from error
    return expression


def _set_item(first: str, last: str | None) -> str:
    start = re.escape(first[-1])
    return start if last is None else f"{start}-{re.escape(last[-1])}"


def _path_pattern(text: str) -> PathPattern:
    if text.startswith("/"):
        raise PathEscape("The glob is absolute.")
    components = [each for each in text.split("/") if each not in ("", ".")]
    if ".." in components:
        raise PathEscape("The glob holds '..'.")
    if text.endswith("/") or not components:
        components.append(_ANY_DEPTH)
    elif "/" not in text:
        components.insert(0, _ANY_DEPTH)
    return PathPattern.parse(components)


def _alternatives(text: str) -> Iterator[str]:
    """Yield every text that the braces of `text` stand for, from left to right."""
    borders = _first_braces(text)
    if borders is None:
        yield text
        return
    before, after = text[: borders[0]], text[borders[-1] + 1 :]
    for start, end in pairwise(borders):
        yield from _alternatives(before + text[start + 1 : end] + after)


def _first_braces(text: str) -> list[int] | None:
    """Return where the first brace opens, its commas are and it closes; None without one."""
    borders: list[int] = []
    depth = 0
    for found in _BRACE.finditer(text):
        depth += (found[0] == "{") - (found[0] == "}" and depth > 0)
        opens = found[0] == "{" and not borders
        parts = found[0] == "," and depth == 1
        closes = depth == 0 and bool(borders)
        if opens or parts or closes:
            borders.append(found.start())
        if closes:
            return borders
    if borders:
        raise MalformedPattern("has a brace that is not closed")
    return None


def _invalid(reason: str) -> InvalidArguments:
    return InvalidArguments(
        f"The glob {reason}.",
        recovery="Give a glob like '*.py', 'src/**/*.{ts,tsx}' or 'docs/[a-m]*'.",
        details={"field": "glob"},
    )
