"""Run commands and keep them: Linux, synchronous, light to start."""

from sandbox.errors import SpawnFailed, SupervisorUnavailable
from sandbox.supervisor.spool import SpoolChunk, SpoolReader, Stream
from sandbox.supervisor.start import connect, connect_or_start

__all__ = [
    "SpawnFailed",
    "SpoolChunk",
    "SpoolReader",
    "Stream",
    "SupervisorUnavailable",
    "connect",
    "connect_or_start",
]
