import re
import time

import pytest

from workspace_server.domain.errors import InvalidArguments, PathEscape
from workspace_server.workspace.glob_pattern import MAX_GLOB_CHARACTERS, parse_glob


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.py", "a.py"),
        ("*.py", "deep/down/a.py"),
        ("*.py", ".hidden/.a.py"),
        ("a?c", "abc"),
        ("src/*.py", "src/a.py"),
        ("./src//*.py", "src/a.py"),
        ("src/**", "src/a/b.py"),
        ("src/", "src/a/b.py"),
        (".", "src/a"),
        ("**", "src/a"),
        ("**/a.py", "a.py"),
        ("src/**/a.py", "src/a.py"),
        ("src/**/a.py", "src/x/y/a.py"),
        ("**/x/**/y", "q/x/p/x/y"),
        ("a**b", "aXXb"),
        ("*a*b*", "xaxbx"),
        ("*ab", "aab"),
        ("[a-c]x", "bx"),
        ("[!a-c]x", "dx"),
        ("[^a-c]x", "dx"),
        ("[]]", "]"),
        ("[a-]", "-"),
        (r"[\]x]", "]"),
        (r"\*.py", "*.py"),
        ("{a,b}.py", "b.py"),
        ("src/{a,b/{c,d}}.py", "src/b/d.py"),
        ("{src,docs}/**", "docs/a/b"),
        ("a{,b}", "a"),
        (r"\{a\}", "{a}"),
        ("a}", "a}"),
        ("*.{ts,tsx}", "x/a.tsx"),
        ("ä?", "ä€"),
        ("a\nb*", "a\nbc"),
    ],
)
def test_a_glob_fits(glob: str, path: str) -> None:
    assert parse_glob(glob).matches(path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*.py", "a.pyc"),
        ("src/*.py", "src/x/a.py"),
        ("src/*.py", "deep/src/a.py"),
        ("src/**", "src"),
        ("src/**", "srcs/a"),
        ("a?c", "ac"),
        ("[a-c]x", "dx"),
        ("[!a-c]x", "ax"),
        ("{a,b}.py", "c.py"),
        (r"\*.py", "a.py"),
        ("A.py", "a.py"),
        ("a.py", "aXpy"),
    ],
)
def test_a_glob_does_not_fit(glob: str, path: str) -> None:
    assert not parse_glob(glob).matches(path)


@pytest.mark.parametrize(
    "glob", ["", "[a", "{a,b", "a\\", "[z-a]", "[[:alpha:]]", "x" * (MAX_GLOB_CHARACTERS + 1)]
)
def test_a_malformed_glob_is_refused(glob: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        parse_glob(glob)
    assert caught.value.details == {"field": "glob"}


def test_braces_stand_for_a_bounded_number_of_alternatives() -> None:
    with pytest.raises(InvalidArguments, match="alternatives"):
        parse_glob("{a,b}" * 7)
    assert parse_glob("{a,b}" * 6).matches("abbaab")


@pytest.mark.parametrize("glob", ["/etc/*", "../*", "src/../../x", "{..,src}/x", "{/etc,a}/*"])
def test_a_glob_that_leads_out_is_refused(glob: str) -> None:
    with pytest.raises(PathEscape):
        parse_glob(glob)


@pytest.mark.parametrize(
    ("glob", "folder", "may_hold"),
    [
        ("src/*.py", "src", True),
        ("src/*.py", "docs", False),
        ("src/*.py", "src/x", False),
        ("src/**", "src/x/y", True),
        ("*.py", "any", True),
        ("{src,docs}/a", "docs", True),
    ],
)
def test_only_folders_that_may_hold_a_match_are_entered(
    glob: str, folder: str, may_hold: bool
) -> None:
    assert parse_glob(glob).may_match_below(folder) is may_hold


def test_a_hostile_glob_takes_no_longer_than_others() -> None:
    """Each of these would keep a backtracking matcher busy for years."""
    started = time.monotonic()
    for glob in ("*a" * 200 + "*b", "**/a/" * 60 + "b", "*" + "[a]*" * 60 + "b"):
        assert not parse_glob(glob).matches("/".join(["a" * 250] + ["a"] * 100))
    assert time.monotonic() - started < 2


def test_every_character_stands_for_itself_in_a_set() -> None:
    for character in map(chr, range(33, 127)):
        if character not in "[]!^\\{},/":
            assert parse_glob(f"[{character}]").matches(character), re.escape(character)
            assert not parse_glob(f"[{character}]").matches("0" if character != "0" else "1")
