"""What a workspace's profile allows; each refusal is on record."""

from workspace_server.domain.errors import Unauthorized
from workspace_server.tools.tool import Call
from workspace_server.workspace.registry import Workspace


async def authorise_change(call: Call, tool_name: str, workspace: Workspace) -> None:
    """Raise Unauthorized, after it is recorded, unless things may be changed and run there."""
    if workspace.writable:
        return
    await call.services.ledger.events.append(
        "denied",
        call.caller.principal,
        {"tool": tool_name, "root": workspace.root, "profile": workspace.profile},
    )
    raise Unauthorized(f"Workspace {workspace.workspace_id!r} is {workspace.profile}.")
