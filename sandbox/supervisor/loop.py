"""One thread that waits for descriptors and for moments."""

import heapq
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
Callback: TypeAlias = Callable[[], object]  # what it returns is nobody's business


@dataclass(order=True)
class Timer:
    """A callback at a moment, which can be called off."""

    due: float
    number: int
    callback: Callback = field(compare=False)
    is_off: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Call it off; it may have fired already."""
        self.is_off = True


class Loop:
    """Runs callbacks until it is stopped. A callback must not block."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[Timer] = []
        self._numbers = count()
        self._running = False

    def watch(self, descriptor: int, events: int, callback: Callback) -> None:
        """Call back whenever the descriptor is ready; replaces what was watched for before."""
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, events, callback)
        else:
            self._selector.register(descriptor, events, callback)

    def forget(self, descriptor: int) -> None:
        """Watch the descriptor no more; do so before it is closed."""
        if descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def after(self, seconds: float, callback: Callback) -> Timer:
        """Call back once, in `seconds`."""
        timer = Timer(time.monotonic() + seconds, next(self._numbers), callback)
        heapq.heappush(self._timers, timer)
        return timer

    def run(self) -> None:
        """Wait and call back, until `stop`."""
        self._running = True
        while self._running:
            for key, _ in self._selector.select(self._until_next()):
                # What was forgotten by an earlier callback of this round is not called.
                if self._selector.get_map().get(key.fd) is key:
                    key.data()
            self._fire_due()

    def stop(self) -> None:
        """Return from `run` after this round."""
        self._running = False

    def _until_next(self) -> float | None:
        while self._timers and self._timers[0].is_off:
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0].due - time.monotonic()) if self._timers else None

    def _fire_due(self) -> None:
        now = time.monotonic()
        while self._timers and (self._timers[0].is_off or self._timers[0].due <= now):
            timer = heapq.heappop(self._timers)
            if not timer.is_off:
                timer.callback()
