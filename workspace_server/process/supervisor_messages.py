"""What comes over the supervisor's socket, as values."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from sandbox import Stream
from workspace_server.domain.process import ProcessEnd, ProcessState, Termination

Message: TypeAlias = Mapping[str, Any]  # JSON of the supervisor, whose program is our own


@dataclass(frozen=True, kw_only=True)
class SupervisorProcess:
    """A process as its supervisor sees it."""

    process_id: str
    operation_id: str
    group: str
    argv: tuple[str, ...]
    tty: bool
    state: ProcessState
    start_failure: str  # why nothing was started; empty otherwise
    end: ProcessEnd | None
    elapsed_ms: int | None
    idle_ms: int | None
    totals: Mapping[Stream, int]
    ended_streams: frozenset[Stream]
    descendants: int
    descendants_ended: int
    cleanup_failed: bool
    ending: bool
    stdin_open: bool
    stdin_accepted: int
    seq: int
    heard_at: float  # the clock's monotonic seconds

    def aged(self, milliseconds: int) -> "SupervisorProcess":
        """Return the view as it is so much later, if nothing else has changed."""
        if self.state is not ProcessState.RUNNING:
            return self
        return replace(
            self,
            elapsed_ms=None if self.elapsed_ms is None else self.elapsed_ms + milliseconds,
            idle_ms=None if self.idle_ms is None else self.idle_ms + milliseconds,
        )

    @property
    def is_settled(self) -> bool:
        """Whether nothing of it is left to follow: program, streams and descendants have ended."""
        is_over = self.state is not ProcessState.RUNNING and not self.ending
        return is_over and Stream.MERGED in self.ended_streams and not self.descendants


def write_parameters(process_id: str, *, data: bytes, eof: bool, offset: int | None) -> Message:
    """Return the parameters of a write."""
    return {"process_id": process_id, "data": _text(data), "eof": eof, "offset": offset}


def process_from(view: Message, *, heard_at: float) -> SupervisorProcess:
    """Return the process that a view tells of."""
    ended = {stream for stream in (Stream.STDOUT, Stream.STDERR) if view["eof"][stream]}
    return SupervisorProcess(
        process_id=view["process_id"],
        operation_id=view["operation_id"],
        group=view["group"],
        argv=tuple(view["argv"]),
        tty=view["tty"],
        state=ProcessState(view["state"]),
        start_failure=view["error"]["message"] if view["error"] else "",
        end=_end(view),
        elapsed_ms=view["elapsed_ms"],
        idle_ms=view["idle_ms"],
        totals={Stream(name): total for name, total in view["output"].items()},
        ended_streams=frozenset(ended | ({Stream.MERGED} if len(ended) == 2 else set())),
        descendants=view["descendants"],
        descendants_ended=view["descendants_ended"],
        cleanup_failed=view["cleanup_failed"],
        ending=view["ending"],
        stdin_open=view["stdin"] == "open",
        stdin_accepted=view["stdin_accepted"],
        seq=view["seq"],
        heard_at=heard_at,
    )


def _end(view: Message) -> ProcessEnd | None:
    if view["termination"] is None:
        return None
    return ProcessEnd(
        termination=Termination(view["termination"]),
        exit_code=view["exit_code"],
        signal=view["signal"],
        reason=view["reason"],
        ended_at=datetime.fromisoformat(view["ended_at"]),
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
