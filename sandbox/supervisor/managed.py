"""A command from its order to its end: streams, input, exit and descendants, each a fact apart."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from sandbox.errors import SpawnFailed
from sandbox.supervisor.child import Child, spawn
from sandbox.supervisor.ending import Ending
from sandbox.supervisor.family import Identity, boot_id, family_of
from sandbox.supervisor.feed import Feed, InputRefused
from sandbox.supervisor.loop import READ, Loop, Timer
from sandbox.supervisor.order import Order, Terminal
from sandbox.supervisor.record import Record
from sandbox.supervisor.spool import SpoolWriter, Stream

READ_BYTES = 64 * 1024
DRAIN_BYTES = 1024 * 1024  # as much as the largest pipe holds
TIMEOUT_GRACE_SECONDS = 2.0
RETRY_SECONDS = 1.0
QUIET_MS = 20  # what is printed after that is told at once
LOOK_SECONDS = 2.0  # how often the living descendants of an ended command are counted


@dataclass(frozen=True, kw_only=True)
class End:
    """How a command ended."""

    termination: str
    exit_code: int | None
    signal: int | None
    reason: str | None
    ended_at: str


class Managed:
    """A command that this supervisor was ordered to start.

    `changed` is called with what has changed and whether that should be told at once;
    `has_orphans` tells whether any process was left to this supervisor by its parent, and
    `strays` which of them can be of no other command, though they bear no mark of it.
    """

    def __init__(
        self,
        loop: Loop,
        order: Order,
        folder: Path,
        *,
        changed: Callable[["Managed", bool], None],
        has_orphans: Callable[[], bool],
        strays: Callable[[], set[Identity]],
    ) -> None:
        self.order = order
        self.started_at = now()
        self.end: End | None = None
        self.failure: SpawnFailed | None = None
        self.feed: Feed | None = None
        self.open_streams: set[Stream] = set()
        self.descendants: set[Identity] = set()
        self.descendants_ended = 0
        self.cleanup_failed = False
        self.elapsed_seconds: float | None = None  # set at the end
        self._began = self._printed = time.monotonic()
        self._loop = loop
        self._record = Record(folder)
        self._spool = SpoolWriter(folder / "output", order.output_limit_bytes)
        self._changed = changed
        self._has_orphans = has_orphans
        self._strays = strays
        self._child: Child | None = None
        self._ending: Ending | None = None
        self._timeout: Timer | None = None
        self._looking: Timer | None = None

    @property
    def is_running(self) -> bool:
        """Whether its program has not ended yet."""
        return self._child is not None and self.end is None

    @property
    def is_settled(self) -> bool:
        """Whether nothing of it is left to follow: program, streams and descendants have ended."""
        return not self.is_running and not self.open_streams and not self.descendants

    @property
    def is_ending(self) -> bool:
        """Whether it is being ended."""
        return self._ending is not None

    @property
    def pid(self) -> int | None:
        """Its program's pid, while that is not reaped."""
        return self._child.identity.pid if self._child and self.is_running else None

    @property
    def totals(self) -> dict[Stream, int]:
        """Bytes printed so far, by stream."""
        return self._spool.totals

    @property
    def elapsed_ms(self) -> int:
        """How long it has run."""
        seconds = self.elapsed_seconds
        return int(1000 * (time.monotonic() - self._began if seconds is None else seconds))

    @property
    def idle_ms(self) -> int:
        """How long it has printed nothing."""
        return int(1000 * (time.monotonic() - self._printed))

    def intend(self) -> None:
        """Record that it is about to be started; raise OSError if that cannot be recorded."""
        order = self.order
        self._record.append(
            "spawning",
            operation_id=order.operation_id,
            process_id=order.process_id,
            group=order.group,
            argv=order.argv,
            tty=order.tty is not None,
            started_at=self.started_at,
            boot_id=boot_id(),
        )

    def start(self) -> None:
        """Start it, and record what came of it."""
        try:
            self._child = spawn(self.order)
        except SpawnFailed as failure:
            self.failure = failure
            self._note("not_started", errno=failure.errno, message=failure.message)
            self._spool.close()
            return
        except Exception:  # a defect of ours: whether it runs is not known
            self._give_up()
            raise
        self._follow(self._child)
        identity = self._child.identity
        self._note("running", pid=identity.pid, start_time=identity.start_time)

    def end_by(
        self, number: int, grace_seconds: float, *, reason: str, termination: str = "terminated"
    ) -> None:
        """Begin to end it and all that it started; another time, with another signal."""
        if self._ending is not None:
            self._ending.again(number, grace_seconds)
            return
        if not self.is_running and not self.descendants:
            return
        self.cleanup_failed = False
        self._ending = Ending(
            self._loop,
            family=self._family,
            termination=termination,
            reason=reason,
            finished=self._ending_finished,
        )
        self._ending.begin(number, grace_seconds)

    def resize(self, size: Terminal) -> None:
        """Set the size of its terminal."""
        from sandbox.supervisor.terminal import resize

        assert self._child is not None
        resize(self._child.outputs[Stream.STDOUT], size)

    def write(self, data: bytes, *, eof: bool, offset: int | None) -> None:
        """Feed its input; raise InputRefused."""
        if not self.is_running:
            raise InputRefused("not_running", "it has ended")
        if self.feed is None:
            raise InputRefused("stdin_closed", "it was given no input")
        self.feed.write(data, eof=eof, offset=offset)

    def look_for_descendants(self) -> None:
        """Count again what it left behind, after something ended."""
        if self._ending is not None:
            self._ending.look_soon()
            return
        if self.end is not None and self.descendants:
            self._set_descendants(self._family())

    def _follow(self, child: Child) -> None:
        self.open_streams = set(child.outputs)
        for stream, descriptor in child.outputs.items():
            self._loop.watch(descriptor, READ, partial(self._read_some, stream))
        self._loop.watch(child.pidfd, READ, self._program_ended)
        if child.stdin is not None:
            self._open_feed(child.stdin)
        if self.order.timeout_ms is not None:
            self._timeout = self._loop.after(self.order.timeout_ms / 1000, self._time_is_over)

    def _give_up(self) -> None:
        """End what may have been started but cannot be followed; it is never started again."""
        for identity in family_of(self.order.process_id, leader=None, known=()):
            identity.send(signal.SIGKILL)
        self.elapsed_seconds = time.monotonic() - self._began
        self.end = End(
            termination="lost",
            exit_code=None,
            signal=None,
            reason="its supervisor could not follow it",
            ended_at=now(),
        )
        self._record_end()
        self._spool.close()

    def _open_feed(self, descriptor: int) -> None:
        if self.order.tty is None:
            self.feed = Feed(self._loop, descriptor, end_mark=None)
        else:
            from sandbox.supervisor.terminal import end_of_input

            self.feed = Feed(self._loop, os.dup(descriptor), end_mark=end_of_input(descriptor))
        if self.order.stdin is not None:
            self.feed.begin(self.order.stdin)

    def _read_some(self, stream: Stream) -> int:
        """Take what is there, up to a bound; return how much it was."""
        assert self._child is not None
        try:
            data = os.read(self._child.outputs[stream], READ_BYTES)
        except BlockingIOError:
            return 0
        except OSError:  # a terminal whose programs have all ended says EIO
            data = b""
        if not data:
            self._close_stream(stream)
            return 0
        was_quiet = not self.totals[Stream.MERGED] or self.idle_ms > QUIET_MS
        self._spool.append(stream, data)
        self._printed = time.monotonic()
        self._changed(self, was_quiet)
        return len(data)

    def _close_stream(self, stream: Stream) -> None:
        assert self._child is not None
        descriptor = self._child.outputs[stream]
        self.open_streams.discard(stream)
        self._loop.forget(descriptor)
        os.close(descriptor)
        if not self.open_streams:
            self._spool.close()
        if self.end is not None:
            self._changed(self, True)

    def _program_ended(self) -> None:
        """Take over its last output, then its status, and publish both."""
        assert self._child is not None
        child = self._child
        self._loop.forget(child.pidfd)
        # Before it is reaped: until then its number, which names its session, is no one else's.
        left = self._family() if self._has_orphans() else set()
        self._drain()
        status = os.waitid(os.P_PIDFD, child.pidfd, os.WEXITED)
        os.close(child.pidfd)
        assert status is not None
        self.elapsed_seconds = time.monotonic() - self._began
        self.end = self._end_of(status)
        self._record_end()
        self._let_go()
        if self._ending is not None:
            self._ending.look_soon()
        self._set_descendants(left - {child.identity})
        self._changed(self, True)

    def _drain(self) -> None:
        for stream in list(self.open_streams):
            missing = DRAIN_BYTES
            while stream in self.open_streams and missing > 0 and (got := self._read_some(stream)):
                missing -= got

    def _end_of(self, status: os.waitid_result) -> End:
        exited = status.si_code == os.CLD_EXITED
        if self._ending is not None:
            termination, reason = self._ending.termination, self._ending.reason
        else:
            termination, reason = "exited" if exited else "signaled", None
        return End(
            termination=termination,
            exit_code=status.si_status if exited else None,
            signal=None if exited else status.si_status,
            reason=reason,
            ended_at=now(),
        )

    def _record_end(self) -> None:
        assert self.end is not None
        self._note(
            "exited",
            termination=self.end.termination,
            exit_code=self.end.exit_code,
            signal=self.end.signal,
            reason=self.end.reason,
            ended_at=self.end.ended_at,
            elapsed_ms=self.elapsed_ms,
            output=self.totals,
        )

    def _note(self, event: str, **facts: object) -> None:
        """Record what has happened; what the disk refuses now is tried again until it is taken."""
        try:
            self._record.append(event, **facts)
        except OSError:
            self._loop.after(RETRY_SECONDS, lambda: self._note(event, **facts))

    def _let_go(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        if self.feed is not None:
            self.feed.close()

    def _time_is_over(self) -> None:
        self.end_by(
            signal.SIGTERM,
            TIMEOUT_GRACE_SECONDS,
            reason=f"it ran longer than {self.order.timeout_ms} ms",
            termination="timeout",
        )

    def _family(self) -> set[Identity]:
        """Return what lives of it; a program that has ended counts until it is reaped."""
        leader = self.pid
        known = self.descendants | self._strays() | (self._ending.seen if self._ending else set())
        family = family_of(self.order.process_id, leader=leader, known=known)
        if self._child is not None and self.is_running:
            family.add(self._child.identity)
        return family

    def _set_descendants(self, living: set[Identity]) -> None:
        changed = len(living) != len(self.descendants)
        self.descendants = living
        if self._looking is not None:
            self._looking.cancel()
        if living:
            self._looking = self._loop.after(LOOK_SECONDS, self.look_for_descendants)
        if changed:
            self._changed(self, True)

    def _ending_finished(self, living: set[Identity]) -> None:
        assert self._ending is not None
        assert self._child is not None
        self.descendants_ended += len(self._ending.seen - living - {self._child.identity})
        self.cleanup_failed = bool(living)
        self._ending = None
        self._note(
            "ended",
            descendants_ended=self.descendants_ended,
            cleanup_failed=self.cleanup_failed,
        )
        self._set_descendants(living - {self._child.identity})
        self._changed(self, True)


def now() -> str:
    """Return the time of day as RFC 3339 in UTC."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")
