"""The record of a process: synced lines, each written when what it says is so."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC

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
            os.write(descriptor, line)
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
        except FileNotFoundError:
            return ()
        return [json.loads(line) for line in lines if line]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
