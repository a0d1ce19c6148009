"""The parts of the server that tools work with."""

from collections.abc import Mapping
from dataclasses import dataclass

from workspace_server.domain.clock import Clock
from workspace_server.ledger.ledger import Ledger
from workspace_server.patch.applier import PatchApplier
from workspace_server.process.commands import Commands
from workspace_server.process.control import Control
from workspace_server.process.output import Outputs
from workspace_server.tools.in_flight import InFlight
from workspace_server.workspace.files import Files
from workspace_server.workspace.lease import Leases


@dataclass(frozen=True, kw_only=True)
class Services:
    """Everything a handler may use; built once, in the composition root."""

    clock: Clock
    environment: Mapping[str, str]  # what the server was started with
    ledger: Ledger
    files: Files
    leases: Leases
    patches: PatchApplier
    commands: Commands
    control: Control
    outputs: Outputs
    in_flight: InFlight
