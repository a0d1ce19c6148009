"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Starts at a fixed moment; both its times move together, and only by `advance`."""

    def __init__(self, start: datetime = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 1000.0

    def now(self) -> datetime:
        """Return the time of day that was set."""
        return self._now

    def monotonic(self) -> float:
        """Return seconds that only `advance` adds to."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Let that much time pass at once."""
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
