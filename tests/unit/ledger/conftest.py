"""An open ledger in a folder of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from workspace_server.ledger.ledger import Ledger


@pytest.fixture
def clock() -> FakeClock:
    """Time as the ledger under test sees it."""
    return FakeClock()


@pytest.fixture
async def ledger(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Ledger]:
    """Open a new ledger, and close it after the test."""
    opened = await Ledger.open(tmp_path / "state", clock, busy_timeout_seconds=0.2)
    yield opened
    await opened.close()
