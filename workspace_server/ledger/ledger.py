"""The ledger as a whole: the connection, and what is kept through it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import anyio.to_thread

from workspace_server.domain.clock import Clock
from workspace_server.ledger.blobs import Blobs
from workspace_server.ledger.connection import (
    BUSY_TIMEOUT_SECONDS,
    Connection,
    open_connection,
    open_read_only,
)
from workspace_server.ledger.errors import state_folder_errors
from workspace_server.ledger.events import Events
from workspace_server.ledger.journal import Journal
from workspace_server.ledger.operations import Operations
from workspace_server.ledger.ownership import make_private_folder
from workspace_server.ledger.processes import Processes

FILE_NAME = "ledger.sqlite3"
_BLOBS = "blobs"


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """An open ledger. It must be closed: its threads would keep the process alive."""

    connection: Connection
    operations: Operations
    processes: Processes
    journal: Journal
    events: Events

    @classmethod
    async def open(
        cls,
        state_folder: Path,
        clock: Clock,
        *,
        busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    ) -> Self:
        """Open the ledger of a state folder that the caller owns, making it if it is missing.

        Raises a LedgerNotOpened whose message is for the operator, or LedgerUnavailable.
        """
        blobs = Blobs(state_folder / _BLOBS)
        with state_folder_errors(state_folder):
            await anyio.to_thread.run_sync(make_private_folder, state_folder)
            await anyio.to_thread.run_sync(blobs.make_ready)
            connection = await open_connection(
                state_folder / FILE_NAME, busy_timeout_seconds=busy_timeout_seconds
            )
        return cls._over(connection, blobs, clock)

    @classmethod
    async def open_read_only(cls, state_folder: Path, clock: Clock) -> Self:
        """Open it beside the server that owns it, or without one; raises as `open` does."""
        with state_folder_errors(state_folder):
            connection = await open_read_only(state_folder / FILE_NAME)
        return cls._over(connection, Blobs(state_folder / _BLOBS), clock)

    @classmethod
    def _over(cls, connection: Connection, blobs: Blobs, clock: Clock) -> Self:
        events = Events(connection, clock)
        return cls(
            connection=connection,
            operations=Operations(connection, events, clock),
            processes=Processes(connection, events),
            journal=Journal(connection, events, blobs),
            events=events,
        )

    async def close(self) -> None:
        """Finish what is under way and close; the next start finds everything in order."""
        await self.connection.close()
