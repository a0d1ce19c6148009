"""Ignore rules in git's notation: what one file of them says about a path."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from workspace_server.workspace.glob_pattern import (
    MalformedPattern,
    PathPattern,
    name_expression,
)

_TRAILING_SPACES = re.compile(r"(?<!\\) +$")


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """One line; exactly one of `name` (an expression for names at any depth) and `path` is set."""

    negated: bool
    folders_only: bool
    name: str | None
    path: PathPattern | None


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Neighbouring rules of one kind, tried as one."""

    negated: bool
    folders_only: bool
    names: re.Pattern[str] | None
    paths: tuple[PathPattern, ...]

    def matches(self, parts: Sequence[str], is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        if self.names is not None and self.names.fullmatch(parts[-1]):
            return True
        return any(path.matches(parts) for path in self.paths)


class IgnoreRules:
    """The rules of one file; the last line that fits a path decides."""

    def __init__(self, text: str) -> None:
        rules = [rule for line in text.removeprefix("\ufeff").split("\n") if (rule := _rule(line))]
        grouped = groupby(rules, key=lambda rule: (rule.negated, rule.folders_only))
        self._groups = tuple(_group(list(members)) for _, members in grouped)

    def ignores(self, parts: Sequence[str], *, is_folder: bool) -> bool | None:
        """Tell whether the path is ignored, its components counted from the rules' own folder.

        None: no line says anything about it.
        """
        for group in reversed(self._groups):
            if group.matches(parts, is_folder):
                return not group.negated
        return None


def _group(rules: list[_Rule]) -> _Group:
    names = [f"(?:{rule.name})" for rule in rules if rule.name is not None]
    return _Group(
        negated=rules[0].negated,
        folders_only=rules[0].folders_only,
        names=re.compile("|".join(names), re.DOTALL) if names else None,
        paths=tuple(rule.path for rule in rules if rule.path is not None),
    )


def _rule(line: str) -> _Rule | None:
    """Return the rule of `line`; None for a comment, a blank, and what git would never match."""
    text = _TRAILING_SPACES.sub("", line.removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    pattern = text.removeprefix("!")
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    try:
        return _Rule(
            negated=negated,
            folders_only=folders_only,
            name=None if "/" in pattern else name_expression(pattern),
            path=_path(pattern) if "/" in pattern else None,
        )
    except MalformedPattern:
        return None


def _path(pattern: str) -> PathPattern:
    components = pattern.removeprefix("/").split("/")
    if "" in components:
        raise MalformedPattern("has an empty component")
    return PathPattern.parse(components)
