"""Blocking file work, in a bounded pool of threads of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from workspace_server.domain.errors import Busy
from workspace_server.workspace.root import Root

THREADS = 16
MAX_WAITING = 256  # calls in line for a thread; more are refused at once

T = TypeVar("T")


class Files:
    """Runs file work apart from the event loop, the ledger and the transports."""

    def __init__(self, threads: int = THREADS) -> None:
        self._limiter = anyio.CapacityLimiter(threads)

    @property
    def limiter(self) -> anyio.CapacityLimiter:
        """The pool's limit, for work that has opened its root already."""
        return self._limiter

    async def read(self, root: str, work: Callable[[Root], T]) -> T:
        """Run `work` on the opened root; when the caller is cancelled its result is dropped.

        Raises Busy when more than 256 calls wait for one of the threads.
        """
        return await self.compute(lambda: _with_root(root, work))

    async def compute(self, work: Callable[[], T]) -> T:
        """Run what would keep the event loop for too long; else as `read`."""
        if self._limiter.statistics().tasks_waiting >= MAX_WAITING:
            raise Busy("Too many file operations are under way.", retry_after_ms=500)
        return await anyio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)


def _with_root(root: str, work: Callable[[Root], T]) -> T:
    opened = Root.open(Path(root))
    try:
        return work(opened)
    finally:
        opened.close()
