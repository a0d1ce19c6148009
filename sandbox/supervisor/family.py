"""Which processes belong to a command, and signals that can reach no other."""

import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "WORKSPACE_SERVER_PROCESS_ID"  # a variable that every command and its children carry
_PROC = Path("/proc")


@dataclass(frozen=True)
class Identity:
    """One process for as long as the machine runs: a pid alone may be given out again."""

    pid: int
    start_time: int  # clock ticks since boot, from /proc/PID/stat

    def send(self, number: int) -> bool:
        """Send a signal to this very process; False if it is no more."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if identity_of(self.pid) != self:
                return False
            signal.pidfd_send_signal(descriptor, number)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True


@dataclass(frozen=True, kw_only=True)
class _Row:
    identity: Identity
    parent: int
    session: int
    is_zombie: bool


def boot_id() -> str:
    """Return what changes with every start of the machine."""
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def identity_of(pid: int) -> Identity | None:
    """Return who has that pid now."""
    row = _row(pid)
    return row.identity if row else None


def identities_of(pids: Iterable[int]) -> set[Identity]:
    """Return who has these pids now, and lives."""
    rows = (_row(pid) for pid in pids)
    return {row.identity for row in rows if row is not None and not row.is_zombie}


def family_of(
    process_id: str, *, leader: int | None, known: Iterable[Identity], ours_only: bool = True
) -> set[Identity]:
    """Return the living processes of a command, its leader included.

    They carry its mark, or are in the session of `leader` (None once that has been reaped, for
    then its number may be somebody else's), or were `known` to belong, or are children of these.
    Whatever a supervisor started stays beneath it, since it adopts orphans; what an earlier one
    left is found only by looking at every process of the machine, with `ours_only` False.
    """
    rows = _living()
    if ours_only:
        ours = _with_children({os.getpid()}, rows)
        rows = {pid: row for pid, row in rows.items() if pid in ours}
    mark = f"{MARK}={process_id}".encode()
    known_now = set(known)
    members = {
        pid
        for pid, row in rows.items()
        if row.identity in known_now
        or (leader is not None and row.session == leader)
        or _carries(pid, mark)
    }
    return {rows[pid].identity for pid in _with_children(members, rows)}


def children_of(parent: int) -> set[int]:
    """Return the children of a process, the dead that it has not reaped included."""
    return {row.identity.pid for row in _rows() if row.parent == parent}


def _with_children(members: set[int], rows: Mapping[int, _Row]) -> set[int]:
    found = set(members)
    while more := {pid for pid, row in rows.items() if row.parent in found} - found:
        found |= more
    return found


def _living() -> dict[int, _Row]:
    """Return every process but this one and the dead that nobody has reaped."""
    own_pid = os.getpid()
    return {
        row.identity.pid: row
        for row in _rows()
        if not row.is_zombie and row.identity.pid != own_pid
    }


def _rows() -> Iterator[_Row]:
    for name in os.listdir(_PROC):
        if name.isdigit() and (row := _row(int(name))) is not None:
            yield row


def _row(pid: int) -> _Row | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, parentheses too.
    fields = text[text.rindex(")") + 2 :].split()
    return _Row(
        identity=Identity(pid, int(fields[19])),
        parent=int(fields[1]),
        session=int(fields[3]),
        is_zombie=fields[0] in "ZX",
    )


def _carries(pid: int, mark: bytes) -> bool:
    with suppress(OSError):
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return False
