"""Bringing an operation that nobody works on any more to where its outcome is known."""

from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.tools.tool import Call
from workspace_server.workspace.lease import HolderKind


async def settled(call: Call, operation: Operation) -> Operation:
    """Return the operation as it is known now, which its row may be behind of.

    A patch whose end could not be recorded is settled by the disk, under the lease; a command by
    asking its supervisor. What is under way in this server is left to go on.
    """
    match operation.kind:
        case OperationKind.COMMAND:
            return await call.services.commands.settle(operation)
        case OperationKind.PATCH:
            return await _settled_patch(call, operation)


async def _settled_patch(call: Call, operation: Operation) -> Operation:
    services, operation_id = call.services, operation.operation_id
    if operation.status is not OperationStatus.PENDING or services.in_flight.is_under_way(
        operation_id
    ):
        return operation
    await services.leases.acquire(operation.root, kind=HolderKind.PATCH, operation_id=operation_id)
    try:
        await services.patches.settle(operation_id)
    finally:
        services.leases.release(operation.root, operation_id)
    row = await services.ledger.operations.by_id(operation_id)
    assert row is not None
    return row
