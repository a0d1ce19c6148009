"""The lease: one holder may change a workspace; the others wait in order."""

from collections import deque
from dataclasses import dataclass, field, replace
from enum import StrEnum

import anyio

from workspace_server.domain.clock import Clock
from workspace_server.domain.errors import WorkspaceBusy

MAX_WAIT_SECONDS = 10.0


class HolderKind(StrEnum):
    """What may hold a lease; the value is the word clients see."""

    PATCH = "patch"  # short: others wait behind it
    COMMAND = "command"  # as long as its process lives: others are refused at once


@dataclass(frozen=True, kw_only=True)
class Holder:
    """Who holds a lease, for how long already, and how to reach it."""

    kind: HolderKind
    operation_id: str
    process_id: str | None
    since: float  # the clock's monotonic seconds


@dataclass
class _Waiter:
    holder: Holder
    granted: anyio.Event = field(default_factory=anyio.Event)
    refused_by: Holder | None = None


@dataclass
class _Queue:
    holder: Holder | None = None
    waiters: deque[_Waiter] = field(default_factory=deque)


class Leases:
    """The leases of all workspaces, by canonical root."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queues: dict[str, _Queue] = {}

    def holder_of(self, root: str) -> Holder | None:
        """Return who holds the lease of `root` now."""
        queue = self._queues.get(root)
        return queue.holder if queue else None

    async def acquire(
        self,
        root: str,
        *,
        kind: HolderKind,
        operation_id: str,
        process_id: str | None = None,
        wait_seconds: float = MAX_WAIT_SECONDS,
        held_seconds: float = 0,
    ) -> Holder:
        """Wait for the lease in order of arrival; raise WorkspaceBusy when it cannot be had.

        Behind a command that is refused at once; behind patches after `wait_seconds`. What held
        it for `held_seconds` already, under an earlier server, is that old.
        """
        wanted = Holder(
            kind=kind,
            operation_id=operation_id,
            process_id=process_id,
            since=self._clock.monotonic() - held_seconds,
        )
        queue = self._queues.setdefault(root, _Queue())
        if queue.holder is None:
            return self._take(queue, wanted)
        if queue.holder.kind is HolderKind.COMMAND:
            raise self._busy(queue.holder)
        return await self._wait(root, queue, wanted, wait_seconds)

    def release(self, root: str, operation_id: str) -> None:
        """Give the lease up, if this operation holds it, and hand it to the next in line."""
        queue = self._queues.get(root)
        if queue is None or queue.holder is None or queue.holder.operation_id != operation_id:
            return
        queue.holder = None
        if queue.waiters:
            waiter = queue.waiters.popleft()
            self._grant(queue, waiter.holder)
            waiter.granted.set()
        else:
            del self._queues[root]

    async def _wait(self, root: str, queue: _Queue, wanted: Holder, wait_seconds: float) -> Holder:
        waiter = _Waiter(wanted)
        queue.waiters.append(waiter)
        try:
            with anyio.move_on_after(wait_seconds):
                await waiter.granted.wait()
        except BaseException:
            self._withdraw(root, queue, waiter)
            raise
        if waiter.refused_by is not None:
            raise self._busy(waiter.refused_by)
        assert queue.holder is not None
        if waiter.granted.is_set():
            return queue.holder
        queue.waiters.remove(waiter)
        raise self._busy(queue.holder)

    def _withdraw(self, root: str, queue: _Queue, waiter: _Waiter) -> None:
        """A cancelled waiter leaves the line; if it was just granted, the next one gets it."""
        if waiter in queue.waiters:
            queue.waiters.remove(waiter)
        elif waiter.refused_by is None:
            self.release(root, waiter.holder.operation_id)

    def _grant(self, queue: _Queue, waited: Holder) -> Holder:
        """Hand the lease to one who has waited: it holds it from now on."""
        return self._take(queue, replace(waited, since=self._clock.monotonic()))

    def _take(self, queue: _Queue, holder: Holder) -> Holder:
        queue.holder = holder
        if holder.kind is HolderKind.COMMAND:
            self._refuse_all(queue, holder)
        return holder

    @staticmethod
    def _refuse_all(queue: _Queue, holder: Holder) -> None:
        while queue.waiters:
            waiter = queue.waiters.popleft()
            waiter.refused_by = holder
            waiter.granted.set()

    def _busy(self, holder: Holder) -> WorkspaceBusy:
        age_ms = int((self._clock.monotonic() - holder.since) * 1000)
        what = f"{holder.kind} {holder.operation_id}, for {age_ms / 1000:.1f} s"
        return WorkspaceBusy(
            f"The workspace is being changed by {what}.",
            recovery=_way_out(holder),
            process_id=holder.process_id,
            details={
                "holder": {
                    "kind": holder.kind.value,
                    "operation_id": holder.operation_id,
                    "process_id": holder.process_id,
                    "age_ms": age_ms,
                }
            },
            retry_after_ms=1000,
        )


def _way_out(holder: Holder) -> str:
    if holder.process_id is None:
        return "Call again in a moment."
    return (
        f'Wait for it: process_status(process_id="{holder.process_id}", wait_ms=50000). '
        f'Or end it: terminate_process(process_id="{holder.process_id}"). Then call again.'
    )
