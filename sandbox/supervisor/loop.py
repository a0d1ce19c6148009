"""One thread that waits for descriptors and for moments."""

import heapq
import selectors
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TypeAlias

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
LONGEST_WAIT_SECONDS = 3600.0  # the system takes no more than some weeks
PAUSE_SECONDS = 0.5
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
    """Runs callbacks until it is stopped. A callback must not block.

    One that fails is logged, and its descriptor rests for a moment: a defect, or a machine that
    is short of something, must not end what owns every command.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._resting: dict[int, selectors.SelectorKey] = {}
        self._timers: list[Timer] = []
        self._numbers = count()
        self._running = False

    def watch(self, descriptor: int, events: int, callback: Callback) -> None:
        """Call back whenever the descriptor is ready; replaces what was watched for before."""
        self._resting.pop(descriptor, None)
        if descriptor in self._selector.get_map():
            self._selector.modify(descriptor, events, callback)
        else:
            self._selector.register(descriptor, events, callback)

    def forget(self, descriptor: int) -> None:
        """Watch the descriptor no more; do so before it is closed."""
        self._resting.pop(descriptor, None)
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
                    self._call(key.data, failed=partial(self._rest, key))
            self._fire_due()

    def stop(self) -> None:
        """Return from `run` after this round."""
        self._running = False

    def _until_next(self) -> float | None:
        while self._timers and self._timers[0].is_off:
            heapq.heappop(self._timers)
        if not self._timers:
            return None
        return min(max(0.0, self._timers[0].due - time.monotonic()), LONGEST_WAIT_SECONDS)

    def _call(self, callback: Callback, *, failed: Callback) -> None:
        try:
            callback()
        except Exception:
            traceback.print_exc()
            failed()

    def _rest(self, key: selectors.SelectorKey) -> None:
        if self._selector.get_map().get(key.fd) is key:
            self._selector.unregister(key.fd)
            self._resting[key.fd] = key
            self.after(PAUSE_SECONDS, partial(self._resume, key))

    def _resume(self, key: selectors.SelectorKey) -> None:
        if self._resting.get(key.fd) is key:
            self.watch(key.fd, key.events, key.data)

    def _fire_due(self) -> None:
        now = time.monotonic()
        while self._timers and (self._timers[0].is_off or self._timers[0].due <= now):
            timer = heapq.heappop(self._timers)
            if not timer.is_off:
                self._call(timer.callback, failed=timer.cancel)
