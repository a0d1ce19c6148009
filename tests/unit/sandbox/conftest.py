"""A supervisor of one's own for each test of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sandbox.session import Session


@pytest.fixture
def supervised(tmp_path: Path) -> Iterator[Session]:
    """Start a supervisor, and end it with all it runs."""
    with Session(tmp_path / "supervisor") as session:
        yield session
