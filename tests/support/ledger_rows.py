"""Rows for a ledger under test."""

from dataclasses import replace

from tests.support.clock import FakeClock
from workspace_server.domain.ids import IdKind, mint
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationKind
from workspace_server.ledger.ledger import Ledger
from workspace_server.ledger.operations import NewOperation
from workspace_server.ledger.processes import NewProcess

ROOT = "/srv/project"
REQUEST: JsonObject = {"patch": "*** Begin Patch\n*** End Patch\n"}


def new_patch(
    key: str | None = None, *, root: str = ROOT, principal: str = "local"
) -> NewOperation:
    """Return a patch that no ledger knows yet."""
    return NewOperation(
        operation_id=mint(IdKind.OPERATION, FakeClock()),
        kind=OperationKind.PATCH,
        root=root,
        principal=principal,
        fingerprint="sha256:" + "0" * 64,
        request=REQUEST,
        operation_key=key,
    )


def new_command() -> tuple[NewOperation, NewProcess]:
    """Return a command, and its process, that no ledger knows yet."""
    process = NewProcess(
        process_id=mint(IdKind.PROCESS, FakeClock()), argv=("make", "test"), tty=False
    )
    operation = replace(new_patch(), kind=OperationKind.COMMAND, process_id=process.process_id)
    return operation, process


async def begun_patch(ledger: Ledger, key: str | None = None) -> Operation:
    """Return a pending patch."""
    return await ledger.operations.begin(new_patch(key))
