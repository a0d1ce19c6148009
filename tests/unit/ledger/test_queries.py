import re
from pathlib import Path

from workspace_server import ledger
from workspace_server.ledger.queries import QUERIES, parse_queries

_SOURCES = Path(ledger.__path__[0])


def test_a_statement_is_what_stands_below_its_name_and_purpose() -> None:
    text = (
        "-- A page.\n\n-- name: one\n-- The first.\nSELECT 1;\n\n"
        "-- name: two\n-- Next.\nSELECT\n2;\n"
    )
    assert parse_queries(text) == {"one": "SELECT 1;", "two": "SELECT\n2;"}


def test_each_statement_has_a_name_and_a_purpose() -> None:
    text = (_SOURCES / "queries.sql").read_text()
    assert len(QUERIES) == text.count("-- name: ")


def test_each_statement_is_used_and_each_used_one_is_there() -> None:
    sources = "".join(file.read_text() for file in _SOURCES.glob("*.py"))
    used = set(re.findall(r'(?:\.read|\.run|QUERIES)[(\[]\s*"(\w+)"', sources))
    assert used == set(QUERIES)
