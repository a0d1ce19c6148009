"""What every test shares: asyncio as the loop."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, the only loop aiosqlite runs on."""
    return "asyncio"
