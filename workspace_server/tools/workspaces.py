"""The tool that tells what a workspace is: workspace_info."""

import stat
from typing import Literal

from pydantic import Field

from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.process.environment import RULE
from workspace_server.tools.parsing import MAX_ARGUMENT_BYTES, MAX_PATCH_BYTES
from workspace_server.tools.results import MAX_RESULT_BYTES
from workspace_server.tools.tool import MAX_WAIT_MS, Annotations, Arguments, Call, Result, Tool
from workspace_server.workspace.git_facts import GitFacts, git_facts
from workspace_server.workspace.lease import Holder
from workspace_server.workspace.registry import Workspace
from workspace_server.workspace.root import Root

INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")


class WorkspaceInfoArguments(Arguments):
    """Which workspace; all of them without an id."""


class WorkspaceEntry(Result):
    """A workspace in the list of all."""

    workspace_id: str
    profile: Literal["read-only", "workspace-write"]


class Git(Result):
    """Where the repository stands."""

    branch: str | None = None
    head: str | None = None
    changed: int | None = Field(default=None, description="Changed or untracked files.")


class LeaseHolder(Result):
    """Who is changing the workspace now."""

    kind: Literal["patch", "command"]
    operation_id: str
    process_id: str | None = None
    age_ms: int


class WorkspaceInfoResult(Result):
    """Either the list of workspaces, or one in full."""

    workspaces: list[WorkspaceEntry] | None = None
    workspace_id: str | None = None
    profile: Literal["read-only", "workspace-write"] | None = None
    permissions: dict[str, bool] | None = None
    limits: dict[str, int] | None = None
    isolation: Literal["none"] | None = Field(
        default=None, description="What holds commands in: none means they can do what you can."
    )
    network: Literal["enabled"] | None = None
    approvals: Literal["off"] | None = None
    environment: str | None = None
    git: Git | None = None
    instruction_files: list[str] | None = None
    lease: LeaseHolder | None = None


async def workspace_info(call: Call, arguments: WorkspaceInfoArguments) -> WorkspaceInfoResult:
    """Describe one workspace, or list them."""
    workspaces = call.caller.view.workspaces
    if call.workspace is not None:
        return await _in_full(call, call.workspace)
    if len(workspaces) == 1:
        return await _in_full(call, workspaces[0])
    return WorkspaceInfoResult(
        workspaces=[
            WorkspaceEntry(workspace_id=each.workspace_id, profile=each.profile.value)
            for each in workspaces
        ]
    )


async def _in_full(call: Call, workspace: Workspace) -> WorkspaceInfoResult:
    services = call.services
    git = await services.files.read(workspace.root, lambda root: git_facts(root.path))
    instructions = await services.files.read(workspace.root, _instruction_files)
    holder = services.leases.holder_of(workspace.root)
    return WorkspaceInfoResult(
        workspace_id=workspace.workspace_id,
        profile=workspace.profile.value,
        permissions={"read": True, "patch": workspace.writable, "run": workspace.writable},
        limits={
            "patch_bytes": MAX_PATCH_BYTES,
            "argument_bytes": MAX_ARGUMENT_BYTES,
            "result_bytes": MAX_RESULT_BYTES,
            "wait_ms": MAX_WAIT_MS,
        },
        isolation="none",
        network="enabled",
        approvals="off",
        environment=RULE,
        git=_git(git) if git else None,
        instruction_files=instructions,
        lease=_lease(holder, services.clock.monotonic()) if holder else None,
    )


def _instruction_files(root: Root) -> list[str]:
    return [name for name in INSTRUCTION_FILES if _can_be_read(root, name)]


def _can_be_read(root: Root, name: str) -> bool:
    try:
        status = root.status(name)
    except WorkspaceServerError:  # a link, say: read would refuse it as well
        return False
    return status is not None and stat.S_ISREG(status.st_mode)


def _git(facts: GitFacts) -> Git:
    return Git(branch=facts.branch, head=facts.head, changed=facts.changed)


def _lease(holder: Holder, now: float) -> LeaseHolder:
    return LeaseHolder(
        kind=holder.kind.value,
        operation_id=holder.operation_id,
        process_id=holder.process_id,
        age_ms=int((now - holder.since) * 1000),
    )


WORKSPACE_INFO = Tool(
    name="workspace_info",
    title="Workspace",
    description=(
        "What this workspace is and allows: profile, limits, isolation of commands, git branch "
        "and changes, instruction files to read, and who is changing it now. With several "
        "workspaces and no workspace_id: the list of them."
    ),
    arguments=WorkspaceInfoArguments,
    result=WorkspaceInfoResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=workspace_info,
    names_workspace=False,
)
