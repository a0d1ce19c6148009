"""What a clock is: time is a parameter, so that rules can be tested without waiting."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time: `now` for records, `monotonic` (seconds) for durations."""

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()


def rfc3339(moment: datetime) -> str:
    """Return `moment` as RFC 3339 in UTC with milliseconds: 2026-01-02T03:04:05.678Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
