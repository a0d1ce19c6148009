"""What is known of a process now: from its supervisor while that lives, else from the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox import Stream
from workspace_server.domain.process import Process, ProcessEnd, ProcessState
from workspace_server.process.supervisor_messages import SupervisorProcess


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of a process. What is not known is None."""

    process_id: str
    operation_id: str
    root: str
    state: ProcessState
    argv: tuple[str, ...]
    tty: bool
    end: ProcessEnd | None
    elapsed_ms: int | None = None
    idle_ms: int | None = None  # since its last output
    totals: Mapping[Stream, int] | None = None  # bytes printed so far
    ended_streams: frozenset[Stream] | None = None
    descendants: int | None = None  # living
    descendants_ended: int | None = None
    cleanup_failed: bool = False
    ending: bool = False  # it is being ended, with all it started
    stdin_open: bool = False
    stdin_accepted: int = 0
    seq: int = 0  # rises with every change of its supervisor

    @property
    def output_total(self) -> int | None:
        """How many bytes both streams have carried so far."""
        return self.total_of(Stream.MERGED)

    def total_of(self, stream: Stream) -> int | None:
        """Return how many bytes that stream has carried so far."""
        return None if self.totals is None else self.totals[stream]

    def stream_ended(self, stream: Stream) -> bool:
        """Whether nothing more will come on that stream."""
        if self.ended_streams is not None:
            return stream in self.ended_streams
        return self.state not in (ProcessState.PENDING, ProcessState.RUNNING)


def from_supervisor(view: SupervisorProcess) -> Snapshot:
    """Return the snapshot that a supervisor's view is."""
    return Snapshot(
        process_id=view.process_id,
        operation_id=view.operation_id,
        root=view.group,
        state=view.state,
        argv=view.argv,
        tty=view.tty,
        end=view.end,
        elapsed_ms=view.elapsed_ms,
        idle_ms=view.idle_ms,
        totals=view.totals,
        ended_streams=view.ended_streams,
        descendants=view.descendants,
        descendants_ended=view.descendants_ended,
        cleanup_failed=view.cleanup_failed,
        ending=view.ending,
        stdin_open=view.stdin_open,
        stdin_accepted=view.stdin_accepted,
        seq=view.seq,
    )


def from_ledger(process: Process) -> Snapshot:
    """Return what the ledger keeps of a process whose supervisor has nothing more to say."""
    ended = process.end.ended_at if process.end else None
    return Snapshot(
        process_id=process.process_id,
        operation_id=process.operation_id,
        root=process.root,
        state=process.state,
        argv=process.argv,
        tty=process.tty,
        end=process.end,
        elapsed_ms=int((ended - process.created_at).total_seconds() * 1000) if ended else None,
    )
