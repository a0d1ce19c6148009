"""Operations under way: tasks of the server's own, which no client's departure ends."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from workspace_server.domain.errors import Unavailable


@dataclass
class _Outcome:
    finished: anyio.Event = field(default_factory=anyio.Event)
    error: Exception | None = None


class InFlight:
    """Runs operations to their end, and lets others wait for that."""

    def __init__(self, group: TaskGroup) -> None:
        self._group = group
        self._outcomes: dict[str, _Outcome] = {}
        self._closing = False

    async def run(self, operation_id: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` to its end; raise what it raises.

        Cancelling the caller does not cancel the work. Raises Unavailable once the server drains.
        """
        if self._closing:
            raise Unavailable("The server is shutting down; nothing was started.")
        outcome = self._outcomes[operation_id] = _Outcome()
        self._group.start_soon(self._finish, operation_id, outcome, work)
        await outcome.finished.wait()
        if outcome.error is not None:
            raise outcome.error

    def is_under_way(self, operation_id: str) -> bool:
        """Whether this server is working on the operation now."""
        return operation_id in self._outcomes

    async def wait_finished(self, operation_id: str) -> None:
        """Return when this server no longer works on the operation; at once if it never did."""
        outcome = self._outcomes.get(operation_id)
        if outcome is not None:
            await outcome.finished.wait()

    async def drain(self, budget_seconds: float) -> None:
        """Take no more work and let what runs end, for at most `budget_seconds`."""
        self._closing = True
        with anyio.move_on_after(budget_seconds):
            for outcome in list(self._outcomes.values()):
                await outcome.finished.wait()

    async def _finish(
        self, operation_id: str, outcome: _Outcome, work: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            await work()
        except Exception as error:
            outcome.error = error
        finally:
            del self._outcomes[operation_id]
            outcome.finished.set()
