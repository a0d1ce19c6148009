"""What lies in a folder, as a value that can be compared whole."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

Tree: TypeAlias = Mapping[str, tuple[int, bytes | None]]


def names_in(folder: Path) -> set[str]:
    """Return the names of what lies directly in `folder`."""
    return {entry.name for entry in folder.iterdir()}


def tree_of(folder: Path) -> Tree:
    """Return mode and content (None for a folder) of all that lies beneath `folder`."""
    return {
        entry.relative_to(folder).as_posix(): (
            stat.S_IMODE(entry.lstat().st_mode),
            None if entry.is_dir() else entry.read_bytes(),
        )
        for entry in folder.rglob("*")
    }


def mode_of(path: Path) -> int:
    """Return the permission bits of what lies at `path`."""
    return stat.S_IMODE(path.stat().st_mode)
