"""Ending a command and all that it started: signal, grace, kill, and a look whether all is gone."""

import signal
from collections.abc import Callable
from typing import TypeAlias

from sandbox.supervisor.family import Identity
from sandbox.supervisor.loop import Loop, Timer

POLL_SECONDS = 0.02
KILL_SECONDS = 2.0  # how long the killed get to be gone

Family: TypeAlias = Callable[[], set[Identity]]


class Ending:
    """One ending under way. `finished` is called once, with whether some of it may live on."""

    def __init__(
        self,
        loop: Loop,
        *,
        family: Family,
        termination: str,
        reason: str,
        finished: Callable[[bool], None],
    ) -> None:
        self._loop = loop
        self._family = family
        self._finished = finished
        self.termination = termination
        self.reason = reason
        self.seen: set[Identity] = set()  # all that was signalled
        self._grace: Timer | None = None
        self._kill_rounds: int | None = None  # None: not yet killing

    def begin(self, number: int, grace_seconds: float) -> None:
        """Signal everything; what is left after the grace is killed."""
        self._send(number)
        if number == signal.SIGKILL:
            self._kill_rounds = 0
        else:
            self._grace = self._loop.after(grace_seconds, self.kill)
        self._loop.after(0, self._look)

    def kill(self) -> None:
        """End the grace now."""
        if self._grace is not None:
            self._grace.cancel()
        if self._kill_rounds is None:
            self._kill_rounds = 0

    def _look(self) -> None:
        living = self._family()
        if not living:
            self._finish(may_live=False)
        elif self._kill_rounds is None:
            self._loop.after(POLL_SECONDS, self._look)
        elif self._kill_rounds * POLL_SECONDS > KILL_SECONDS:
            self._finish(may_live=True)
        else:
            self._kill_rounds += 1
            self._send(signal.SIGKILL)  # again: a fork may have been faster
            self._loop.after(POLL_SECONDS, self._look)

    def _send(self, number: int) -> None:
        for identity in self._family():
            self.seen.add(identity)
            identity.send(number)

    def _finish(self, *, may_live: bool) -> None:
        if self._grace is not None:
            self._grace.cancel()
        self._finished(may_live)
