"""What is known of a process now: from its supervisor while that lives, else from the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox import Stream
from workspace_server.domain.process import ProcessEnd, ProcessState


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
