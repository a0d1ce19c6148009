"""Run commands and keep them: Linux, synchronous, light to start."""

from sandbox.errors import SpawnFailed, SupervisorUnavailable
from sandbox.supervisor.order import Order, Stdin, Terminal, parameters_of
from sandbox.supervisor.spool import SpoolChunk, SpoolReader, Stream
from sandbox.supervisor.start import connect, connect_or_start

__all__ = [
    "Order",
    "SpawnFailed",
    "SpoolChunk",
    "SpoolReader",
    "Stdin",
    "Stream",
    "SupervisorUnavailable",
    "Terminal",
    "connect",
    "connect_or_start",
    "parameters_of",
]
