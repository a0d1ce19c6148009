"""The list of promises and the tests that prove them name each other."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCUMENT = TESTS.parent / "docs" / "guarantees.md"
LINE = re.compile(r"^- \*\*([a-z0-9-]+)\*\*: (.*(?:\n  \S.*)*)", re.MULTILINE)
NOT_PROMISED = "\n## Not promised\n"

pytestmark = pytest.mark.guarantee("guarantees-have-tests")


def test_each_promise_is_made_once() -> None:
    counts = Counter(name for name, _ in _lines())
    assert [name for name, count in counts.items() if count > 1] == []


def test_each_line_has_the_form_that_is_looked_for() -> None:
    promised, _, _ = DOCUMENT.read_text("utf-8").partition(NOT_PROMISED)
    assert len(re.findall(r"^[-*+] ", promised, re.MULTILINE)) == len(list(_lines()))


def test_field_cases_have_two_digits() -> None:
    names = [name for name, _ in _lines() if name.startswith("field")]
    assert [name for name in names if not re.fullmatch(r"field-[0-9]{2}", name)] == []


def test_no_test_claims_a_promise_that_is_not_made() -> None:
    promised = {name for name, _ in _lines()}
    assert {name: where for name, where in _claims() if name not in promised} == {}


def test_each_promise_has_a_test_or_cannot_be_broken() -> None:
    proved = {name for name, _ in _claims()}
    unproved = [name for name, text in _lines() if name not in proved and not _reason(text)]
    assert unproved == []


def _lines() -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each promise."""
    for found in LINE.finditer(DOCUMENT.read_text("utf-8")):
        yield found[1], found[2]


def _reason(text: str) -> str:
    """Return why this cannot happen, if that is what the line says."""
    _, _, reason = text.partition("cannot happen:")
    return reason.strip()


def _claims() -> Iterator[tuple[str, str]]:
    """Yield what the marks of all tests name, and where; nothing is imported."""
    for file in TESTS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.guarantee":
                (argument,) = node.args
                assert isinstance(argument, ast.Constant), f"{file}:{node.lineno}"
                yield str(argument.value), f"{file.relative_to(TESTS)}:{node.lineno}"
