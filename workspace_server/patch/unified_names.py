"""The file names in the headers of unified diffs, and which path they may mean."""

import re

from workspace_server.patch.model import PathName
from workspace_server.patch.syntax import workspace_path

_PREFIX = re.compile(r"[abciow]/(?=.)")  # git's, with and without diff.mnemonicPrefix
_DATE = re.compile(
    r"\s+(?P<date>\d{4}-\d\d-\d\d|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d)"
    r"[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d{4}| \d{4}|Z)?\s*$"
)
_EPOCH = ("1970-01-01", "1969-12-31")  # how GNU diff -N dates a file that does not exist
_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def header_name(text: str) -> str | None:
    """Return the name after `--- ` or `+++ `; None for /dev/null or GNU's way to say it."""
    text = text.removesuffix("\r")
    quoted = _QUOTED.match(text)
    if quoted:
        return unquoted(quoted[0])
    name = text.partition("\t")[0]
    date = _DATE.search(text)
    if date:
        name = text[: date.start()]
    is_absent = name.rstrip() == "/dev/null" or (date and date["date"] in _EPOCH)
    return None if is_absent else name.rstrip()


def unquoted(text: str) -> str:
    """Return what a C-quoted name stands for; any other name as it is."""
    quoted = _QUOTED.fullmatch(text)
    if not quoted:
        return text
    body = quoted[1].encode("utf-8", "surrogateescape").decode("latin-1")
    return _ESCAPE.sub(_meaning, body).encode("latin-1").decode("utf-8", "surrogateescape")


def _meaning(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return chr(_LETTERS[code]) if code in _LETTERS else code


def git_names(text: str) -> tuple[str, str] | None:
    """Return the two names of a `diff --git` line if they are the same but for a prefix."""
    text = text.strip()
    quoted = _QUOTED.match(text)
    middle = quoted.end() if quoted else len(text) // 2
    old, new = unquoted(text[:middle]), unquoted(text[middle + 1 :])
    is_pair = text[middle : middle + 1] == " " and _common(old, new) is not None
    return (old, new) if is_pair else None


def has_prefixes(old: str, new: str) -> bool:
    """Tell whether the two names of one file differ just in their prefix."""
    return old != new and old[1:] == new[1:] and bool(_PREFIX.match(old) and _PREFIX.match(new))


def added_path(name: str, *, prefixed: bool | None) -> str:
    """Return the path of a file that appears; `prefixed` is None if nothing says so."""
    is_cut = prefixed if prefixed is not None else name.startswith("b/")
    return workspace_path(_PREFIX.sub("", name, count=1) if is_cut else name)


def deleted_name(name: str, *, prefixed: bool | None) -> PathName:
    """Return what a file that disappears may be called."""
    cut = _PREFIX.sub("", name, count=1)
    match prefixed:
        case True:
            return PathName(candidates=(workspace_path(cut),))
        case False:
            return PathName(candidates=(workspace_path(name),))
        case None:
            return _either(cut, name)


def updated_name(old: str, new: str, *, prefixed: bool | None) -> PathName:
    """Return what a file with these two names in its header may be called.

    Where the names differ, the new one counts, as long as nothing of the old name exists.
    """
    common = _common(old, new)
    if common is None:
        is_cut = _PREFIX.match(old) and _PREFIX.match(new)
        old, new = (old[2:], new[2:]) if is_cut else (old, new)
        return PathName(candidates=(workspace_path(new),), rival=workspace_path(old))
    if old == new and prefixed is None:
        return _either(new, _PREFIX.sub("", new, count=1))
    return PathName(candidates=(workspace_path(common),))


def _either(first: str, second: str) -> PathName:
    return PathName(candidates=tuple(dict.fromkeys(map(workspace_path, (first, second)))))


def _common(old: str, new: str) -> str | None:
    """Return the name that both sides have, but for a prefix; None if there is none."""
    if old == new:
        return new
    bare_old, bare_new = _PREFIX.sub("", old, count=1), _PREFIX.sub("", new, count=1)
    if _PREFIX.match(old) and _PREFIX.match(new):
        return bare_new if bare_old == bare_new else None
    if old == bare_new or new == bare_old:
        return min(old, new, key=len)
    return None
