"""Ending a command and all that it started: signal, grace, kill, and a look whether all is gone."""

import signal
from collections.abc import Callable
from typing import TypeAlias

from sandbox.supervisor.family import Identity
from sandbox.supervisor.loop import Loop, Timer

POLL_SECONDS = 0.02
LONGEST_POLL_SECONDS = 0.5  # a long grace must not keep the machine busy with looking
KILL_SECONDS = 2.0  # how long the killed get to be gone

Family: TypeAlias = Callable[[], set[Identity]]


class Ending:
    """One ending under way. `finished` is called once, with what may live on."""

    def __init__(
        self,
        loop: Loop,
        *,
        family: Family,
        termination: str,
        reason: str,
        finished: Callable[[set[Identity]], None],
    ) -> None:
        self._loop = loop
        self._family = family
        self._finished = finished
        self.termination = termination
        self.reason = reason
        self.seen: set[Identity] = set()  # all that it was about
        self._grace: Timer | None = None
        self._next_look: Timer | None = None
        self._wait_seconds = POLL_SECONDS
        self._kill_rounds: int | None = None  # None: not yet killing

    def begin(self, number: int, grace_seconds: float) -> None:
        """Signal everything; what is left after the grace is killed."""
        self._send(number)
        self._send(signal.SIGCONT)  # what was stopped could not heed the signal
        self._set_grace(number, grace_seconds)
        self.look_soon()

    def look_soon(self) -> None:
        """Look now whether all is gone: something has just ended."""
        self._look_in(0)

    def again(self, number: int, grace_seconds: float) -> None:
        """Send another signal while the first is not heeded; the grace counts anew."""
        if self._kill_rounds is not None:
            return
        if self._grace is not None:
            self._grace.cancel()
        self._send(number)
        self._set_grace(number, grace_seconds)

    def _set_grace(self, number: int, grace_seconds: float) -> None:
        if number == signal.SIGKILL:
            self._kill()
        else:
            self._grace = self._loop.after(grace_seconds, self._kill)

    def _kill(self) -> None:
        self._kill_rounds = 0
        self.look_soon()

    def _look(self) -> None:
        living = self._family()
        self.seen |= living
        if not living:
            self._finish(living)
        elif self._kill_rounds is None:
            self._look_in(self._wait_seconds)
            self._wait_seconds = min(self._wait_seconds * 1.5, LONGEST_POLL_SECONDS)
        elif self._kill_rounds * POLL_SECONDS > KILL_SECONDS:
            self._finish(living)
        else:
            self._kill_rounds += 1
            _send_to(living, signal.SIGKILL)  # again: a fork may have been faster
            self._look_in(POLL_SECONDS)

    def _look_in(self, seconds: float) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        self._next_look = self._loop.after(seconds, self._look)

    def _send(self, number: int) -> None:
        living = self._family()
        self.seen |= living
        _send_to(living, number)

    def _finish(self, living: set[Identity]) -> None:
        if self._grace is not None:
            self._grace.cancel()
        if self._next_look is not None:
            self._next_look.cancel()
        self._finished(living)


def _send_to(identities: set[Identity], number: int) -> None:
    for identity in identities:
        identity.send(number)
