"""The records of all commands, on disk: what was ordered, and what a crash left unsaid."""

import logging
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.supervisor.family import Identity, boot_id, family_of
from sandbox.supervisor.managed import now
from sandbox.supervisor.record import Entry, Record, sync_folder
from sandbox.supervisor.spool import SpoolReader, Stream
from sandbox.supervisor.view import View, recorded_view

_log = logging.getLogger(__name__)

_FINAL = ("exited", "not_started")
_KILL_SECONDS = 2.0


class Archive:
    """One folder a command, named by its process id; and the operations fenced off."""

    def __init__(self, folder: Path) -> None:
        self._processes = folder / "processes"
        self._fenced = folder / "fenced"
        self._processes.mkdir(exist_ok=True)
        self._fenced.mkdir(exist_ok=True)
        self._by_operation: dict[str, str] = {}

    def settle(self) -> None:
        """End what a dead supervisor left running, and record that it is lost."""
        for folder in sorted(self._processes.iterdir()):
            entries = Record(folder).entries()
            if not entries:  # it died before the intent was durable: nothing was started
                continue
            if entries[0]["event"] != "spawning":
                _log.warning("%s is no record of ours, and is left alone", folder / "record")
                continue
            self._by_operation[entries[0]["operation_id"]] = folder.name
            if not _has_end(entries):
                _record_lost(Record(folder), folder.name, entries)

    def new_folder(self, operation_id: str, process_id: str) -> Path:
        """Make the folder of a command that is about to be started."""
        folder = self._processes / process_id
        folder.mkdir(exist_ok=True)  # it may be left from a try that could not be recorded
        self._by_operation[operation_id] = process_id
        return folder

    def process_of(self, operation_id: str) -> str | None:
        """Return the process id that was ordered with an operation."""
        return self._by_operation.get(operation_id)

    def view(self, process_id: str) -> View | None:
        """Return what the record says of a command that has ended."""
        folder = self._processes / process_id
        entries = Record(folder).entries()
        if not _has_end(entries):
            return None
        reader = SpoolReader(folder / "output")
        totals = {stream: reader.read(stream, 0, 0).total for stream in Stream}
        return recorded_view(entries, totals)

    def fence(self, operation_id: str) -> None:
        """Make sure, durably, that this operation is never started."""
        (self._fenced / operation_id).touch()
        sync_folder(self._fenced)

    def is_fenced(self, operation_id: str) -> bool:
        """Tell whether the operation must not be started."""
        return (self._fenced / operation_id).exists()


def _has_end(entries: Sequence[Entry]) -> bool:
    return any(entry["event"] in _FINAL for entry in entries)


def _record_lost(record: Record, process_id: str, entries: Sequence[Entry]) -> None:
    found, living = _kill_all(process_id, entries)
    record.append(
        "exited",
        termination="lost",
        exit_code=None,
        signal=None,
        reason="its supervisor was gone; "
        + ("some of it may live on" if living else f"{found} processes of it were ended"),
        ended_at=now(),
    )


def _kill_all(process_id: str, entries: Sequence[Entry]) -> tuple[int, bool]:
    """Kill what lives of a command that nobody watches any more.

    Return how many processes that were, and whether some may live on.
    """
    ended: set[Identity] = set()
    deadline = time.monotonic() + _KILL_SECONDS
    known = _recorded(entries)
    while living := family_of(process_id, leader=None, known=known, ours_only=False):
        for identity in living:
            identity.send(signal.SIGKILL)
        ended |= living
        if time.monotonic() > deadline:
            return len(ended), True
        time.sleep(0.01)
    return len(ended), False


def _recorded(entries: Sequence[Entry]) -> set[Identity]:
    """Return the program's identity, if it was recorded and the machine was not started since."""
    with suppress(StopIteration):
        running = next(entry for entry in entries if entry["event"] == "running")
        if entries[0]["boot_id"] == boot_id():
            return {Identity(running["pid"], running["start_time"])}
    return set()
