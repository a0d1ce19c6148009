"""The catalogue as an MCP server: what every MCP transport serves."""

from typing import Any

from mcp import MCPError
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from workspace_server.gateway import Gateway
from workspace_server.tools.schemas import input_schema, output_schema
from workspace_server.tools.tool import Annotations, AnyTool, Caller

INSTRUCTIONS = """\
Hands on a repository: read and find files, change them with apply_patch, run commands with \
exec_command. Paths are relative to the workspace root.

Every change and every command is an operation with an id, recorded before it starts. Give \
mutations an operation_key of your own: after a lost reply, a timeout or a restart, call again \
with the same key and arguments. You get the first outcome (replayed: true); nothing is done \
twice. Or look it up: operation_status(operation_key=...).

Failures carry error.code, error.recovery (what to do next) and error.retryable (whether the very \
same call may succeed later). Branch on the code. A transport error says nothing about whether \
the change was made: look it up.

apply_patch takes V4A (*** Begin Patch) or a unified diff; all files are changed or none. Give \
expected_versions from read to be sure nobody changed a file meanwhile: VERSION_CONFLICT means \
read again and make the patch anew.

exec_command returns when the command ends or wait_ms is over; it runs on under its process_id. \
Poll process_status(wait_ms=50000) until state is exited; a non-zero exit_code is a result, not a \
failure of the call. read_process continues at the cursor you hold. A running command keeps the \
workspace for itself: patches answer WORKSPACE_BUSY until it ends.
"""


def build_server(gateway: Gateway, caller: Caller, version: str) -> Server[Any]:
    """Return an MCP server that passes calls of this caller to the gateway."""
    published = {tool.name: _published(tool) for tool in gateway.tools}

    async def list_tools(
        context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=list(published.values()))

    async def call_tool(
        context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        if params.name not in published:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        reply = await gateway.call(caller, params.name, params.arguments or {})
        return CallToolResult(
            content=[TextContent(type="text", text=block) for block in reply.text],
            structured_content=dict(reply.structure),
            is_error=reply.is_error,
        )

    return Server(
        "workspace-server",
        version=version,
        title="Workspace server",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _published(tool: AnyTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=output_schema(tool),
        annotations=_annotations(tool.annotations),
    )


def _annotations(hints: Annotations) -> ToolAnnotations:
    """Return the hints; the protocol gives those on changes a meaning only where one is made."""
    if hints.read_only:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=hints.destructive,
        idempotent_hint=hints.idempotent,
        open_world_hint=hints.open_world,
    )
