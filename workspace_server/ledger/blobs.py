"""Blobs: contents too big for a row, each a synced file named by its digest."""

import os
import secrets
from pathlib import Path

from workspace_server.domain.version import full_version
from workspace_server.ledger.schema import sync_folder

_DRAFT = ".draft"


class BlobDamaged(Exception):
    """The blob is missing, or no longer what was kept."""


class Blobs:
    """A folder of contents by version. All of it is blocking file work."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make_ready(self) -> None:
        """Make the folder, and clear away what a crash left half written."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for draft in self._folder.glob(f"*{_DRAFT}"):
            draft.unlink()

    def keep(self, content: bytes) -> None:
        """Make `content` durable under its version; raise OSError if the disk refuses."""
        place = self._place_of(full_version(content))
        if not place.exists():
            draft = self._folder / f"{secrets.token_hex(16)}{_DRAFT}"
            try:
                _write_synced(draft, content)
                draft.replace(place)
            finally:
                draft.unlink(missing_ok=True)
        sync_folder(self._folder)

    def content(self, version: str) -> bytes:
        """Return what was kept under `version`; raise BlobDamaged if it cannot be had back."""
        try:
            content = self._place_of(version).read_bytes()
        except OSError as error:
            raise BlobDamaged(f"the blob {version} cannot be read") from error
        if full_version(content) != version:
            raise BlobDamaged(f"the blob {version} was altered")
        return content

    def _place_of(self, version: str) -> Path:
        return self._folder / version.removeprefix("sha256:")


def _write_synced(file: Path, content: bytes) -> None:
    with file.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
