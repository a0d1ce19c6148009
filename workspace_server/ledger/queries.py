"""The statements of queries.sql, by name."""

import re
from collections.abc import Mapping
from pathlib import Path

_HEAD = re.compile(r"^-- name: (?P<name>\w+)\n-- (?P<purpose>.+)\n", re.MULTILINE)


def parse_queries(text: str) -> Mapping[str, str]:
    """Return each statement of `text` by the name in the comment above it."""
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {
        head["name"]: text[head.end() : end].strip() for head, end in zip(heads, ends, strict=True)
    }


QUERIES = parse_queries(Path(__file__).with_name("queries.sql").read_text(encoding="utf-8"))
