"""How much memory a server takes, with every process it started."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Resident memory; `pss` counts a shared page only in part, so it adds up truthfully."""

    processes: int
    rss_kib: int
    pss_kib: int


def memory_of(pid: int, *, marked: str) -> Memory:
    """Sum over `pid`, its descendants, and every process whose command line names `marked`."""
    pids = descendants(pid) | {other for other in running() if marked in command_line(other)}
    pids.discard(os.getpid())  # our own arguments may name the folder too
    sizes = [size for size in map(sizes_kib, pids) if size]
    return Memory(
        processes=len(sizes),
        rss_kib=sum(size.get("Rss", 0) for size in sizes),
        pss_kib=sum(size.get("Pss", 0) for size in sizes),
    )


def running() -> Iterator[int]:
    """Yield the ids of all processes."""
    return (int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def descendants(pid: int) -> set[int]:
    """Return `pid` and everything that descends from it, at this moment."""
    found = {pid}
    parents = {child: parent_of(child) for child in running()}
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found


def parent_of(pid: int) -> int | None:
    """Return the parent of a process; None if it is gone."""
    with contextlib.suppress(OSError):
        # The name before the last bracket may hold anything, blanks and brackets too.
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return None


def command_line(pid: int) -> str:
    """Return how a process was started; empty if it is gone."""
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    return ""


def sizes_kib(pid: int) -> dict[str, int]:
    """Return the sizes the kernel adds up for a process; nothing if it is gone."""
    with contextlib.suppress(OSError):
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()[1:]
        return {name: int(size.split()[0]) for name, _, size in (li.partition(":") for li in lines)}
    return {}
