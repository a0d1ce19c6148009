"""A managed process: running or exited, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ProcessState(StrEnum):
    """Where a process stands."""

    PENDING = "pending"  # minted; no process is confirmed
    RUNNING = "running"
    EXITED = "exited"  # it ended, in the way `Termination` names
    NOT_STARTED = "not_started"  # confirmed: nothing was spawned


class Termination(StrEnum):
    """How an exited process ended."""

    EXITED = "exited"  # of itself, with an exit code
    SIGNALED = "signaled"  # by a signal that was not ours
    TIMEOUT = "timeout"  # by its own time limit
    TERMINATED = "terminated"  # on request, or because nobody was left
    SETUP_FAILED = "setup_failed"  # the launcher ran, the command did not
    LOST = "lost"  # its supervisor is gone; no exit code is invented


_S = ProcessState

# The arrows; what has none is final. A short command may end before its start was mirrored.
TRANSITIONS: Mapping[ProcessState, frozenset[ProcessState]] = {
    _S.PENDING: frozenset({_S.RUNNING, _S.EXITED, _S.NOT_STARTED}),
    _S.RUNNING: frozenset({_S.EXITED}),
}


@dataclass(frozen=True, kw_only=True)
class ProcessEnd:
    """How a process ended: an exit code or a signal, never both, neither when lost."""

    termination: Termination
    exit_code: int | None = None
    signal: int | None = None
    reason: str | None = None
    ended_at: datetime


@dataclass(frozen=True, kw_only=True)
class Process:
    """One row of the ledger's processes; a mirror of the supervisor's record."""

    process_id: str
    operation_id: str
    root: str
    state: ProcessState
    argv: tuple[str, ...]
    tty: bool
    created_at: datetime
    end: ProcessEnd | None
