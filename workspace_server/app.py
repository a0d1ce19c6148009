"""The composition root: builds every part, settles what a crash left, opens the transport."""

import logging
import os
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from workspace_server.config import ServerConfig
from workspace_server.domain.clock import Clock, SystemClock, rfc3339
from workspace_server.gateway import Gateway
from workspace_server.ledger.ledger import Ledger
from workspace_server.ledger.ownership import OwnerInfo, own_state_folder
from workspace_server.patch.applier import PatchApplier
from workspace_server.patch.recovery import settle_patches
from workspace_server.process.commands import Commands
from workspace_server.process.control import Control
from workspace_server.process.output import Outputs
from workspace_server.process.supervisor_client import SupervisorClient
from workspace_server.tools.catalogue import CATALOGUE
from workspace_server.tools.in_flight import InFlight
from workspace_server.tools.services import Services
from workspace_server.tools.tool import Caller
from workspace_server.transports.mcp_server import build_server
from workspace_server.transports.stdio import serve, standard_streams
from workspace_server.workspace.files import Files
from workspace_server.workspace.lease import Leases
from workspace_server.workspace.registry import WorkspaceView
from workspace_server.workspace.root import Root

STDIO_PRINCIPAL = "local"
DRAIN_SECONDS = 5.0  # what a patch under way gets at shutdown; commands run on

_log = logging.getLogger(__name__)


async def serve_stdio(config: ServerConfig, environment: Mapping[str, str], version: str) -> int:
    """Serve one client on stdio; return 0 when it closed its end, 128 + N after signal N."""
    stopped_by = 0

    async def stop_on_signal(scope: anyio.CancelScope) -> None:
        nonlocal stopped_by
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                stopped_by = number
                scope.cancel()
                return

    async with open_gateway(config, environment, SystemClock()) as gateway:
        caller = Caller(principal=STDIO_PRINCIPAL, view=WorkspaceView(config.workspaces))
        server = build_server(gateway, caller, version)
        with standard_streams() as wire:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stop_on_signal, tasks.cancel_scope)
                await serve(server, wire)
                tasks.cancel_scope.cancel()
    return 128 + stopped_by if stopped_by else 0


@asynccontextmanager
async def open_gateway(
    config: ServerConfig, environment: Mapping[str, str], clock: Clock
) -> AsyncIterator[Gateway]:
    """Own the state folder, settle what is unfinished, and take calls while the block runs.

    Raises StateFolderOwned, LedgerNotOpened or LedgerUnavailable before anything is changed.
    """
    with own_state_folder(config.state_folder, _owner(clock)):
        ledger = await Ledger.open(config.state_folder, clock)
        try:
            async with anyio.create_task_group() as tasks:
                services = await _services(config, environment, clock, ledger, tasks)
                yield Gateway(CATALOGUE, services)
                with anyio.CancelScope(shield=True):
                    await services.in_flight.drain(DRAIN_SECONDS)
                    await services.commands.close(DRAIN_SECONDS)
                tasks.cancel_scope.cancel()
        finally:
            await ledger.close()


async def _services(
    config: ServerConfig,
    environment: Mapping[str, str],
    clock: Clock,
    ledger: Ledger,
    tasks: TaskGroup,
) -> Services:
    files, leases = Files(), Leases(clock)
    for settled in await settle_patches(ledger, lambda root: Root.open(Path(root))):
        _log.warning("settled %s after an interruption: %s", settled.operation_id, settled.status)
    supervisor = SupervisorClient(config.state_folder / "supervisor", clock)
    in_flight = InFlight(tasks)
    commands = Commands(
        ledger, leases, supervisor, is_under_way=in_flight.is_under_way, clock=clock
    )
    await commands.open(tasks)
    return Services(
        clock=clock,
        environment=environment,
        ledger=ledger,
        files=files,
        leases=leases,
        patches=PatchApplier(ledger, files),
        commands=commands,
        control=Control(supervisor),
        outputs=Outputs(supervisor.spool_folder),
        in_flight=in_flight,
    )


def _owner(clock: Clock) -> OwnerInfo:
    return OwnerInfo(pid=os.getpid(), started_at=rfc3339(clock.now()), command=shlex.join(sys.argv))
