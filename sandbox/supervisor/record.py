"""The record of a process: synced lines, each written when what it says is so."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC

Entry: TypeAlias = Mapping[str, Any]  # a line of JSON; its "event" says which


class Record:
    """Appends to one record. A line that was torn by a crash is as if never written."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "record"

    def append(self, event: str, **facts: object) -> None:
        """Write one line and sync it; the first one makes the folder durable as well."""
        line = json.dumps({"event": event, **facts}).encode() + b"\n"
        is_new = not self._file.exists()
        descriptor = os.open(self._file, _APPEND, 0o600)
        try:
            whole = _cut_torn_line(descriptor)
            try:
                _write_all(descriptor, line)
            except OSError:
                os.ftruncate(descriptor, whole)
                raise
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self._file.parent)
            sync_folder(self._file.parent.parent)

    def entries(self) -> Sequence[Entry]:
        """Return the whole lines, oldest first."""
        try:
            lines = self._file.read_bytes().split(b"\n")[:-1]
        except (FileNotFoundError, NotADirectoryError):  # or a file that somebody else put there
            return ()
        return [entry for line in lines if (entry := _parse(line)) is not None]


def _parse(line: bytes) -> Entry | None:
    try:
        entry = json.loads(line)
    except ValueError:  # a power cut may leave any bytes where a line was not synced yet
        return None
    return entry if isinstance(entry, dict) and "event" in entry else None


def _cut_torn_line(descriptor: int) -> int:
    """Drop what a crash left of a line, and return the size of the rest."""
    size = os.fstat(descriptor).st_size
    if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
        return size
    whole = os.pread(descriptor, size, 0).rfind(b"\n") + 1
    os.ftruncate(descriptor, whole)
    return whole


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
