"""Which servers are measured, and how each is asked; a peer is one more entry here."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.client import Reply
from bench.ground import LAST_LINE, OUTPUT_SCRIPT, READ_BYTES, READ_PATH, Edit, Ground
from tests.support.supervisors import stop_supervisor
from workspace_server.domain.json_value import JsonObject


class Measure(StrEnum):
    """What is measured; the value is the row's name."""

    START_UP = "start-up"
    PING = "ping"
    READ = "read"
    EDIT = "edit"
    COMMAND = "command"
    OUTPUT = "output"


DESCRIPTIONS: Mapping[Measure, str] = {
    Measure.START_UP: "spawn to first tools/list answer",
    Measure.PING: "ping",
    Measure.READ: "read of a 10 KB file",
    Measure.EDIT: "durable edit of one line",
    Measure.COMMAND: "`true` to its known exit",
    Measure.OUTPUT: "1 MB of output, to its last line",
}


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool and its arguments."""

    tool: str
    arguments: JsonObject


def at_once(reply: Reply) -> bool:
    """Accept the first reply as the last."""
    return True


@dataclass(frozen=True, kw_only=True)
class Operation:
    """How a server is asked for one thing: a call, and follow-ups until it is finished."""

    call: Callable[[Edit], ToolCall]
    succeeded: Callable[[Reply], bool]
    finished: Callable[[Reply], bool] = at_once
    follow_up: Callable[[Reply], ToolCall] | None = None


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A server to measure. Operations it lacks are not measured."""

    label: str
    command: Callable[[Ground], Sequence[str]]
    operations: Mapping[Measure, Operation]
    clear: Callable[[Ground], None] | None = None  # ends what outlives the server


def v4a_patch(edit: Edit) -> str:
    """Return `edit` as a V4A patch."""
    return (
        f"*** Begin Patch\n*** Update File: {edit.path}\n@@\n"
        f" {edit.line_above}\n-{edit.old_line}\n+{edit.new_line}\n*** End Patch\n"
    )


def has_exited(reply: Reply) -> bool:
    """Whether a process view of ours shows the end."""
    return reply.field("state") == "exited"


def status_of(reply: Reply) -> ToolCall:
    """Return the call that waits for the process of a process view of ours."""
    process_id = reply.field("process_id")
    return ToolCall(tool="process_status", arguments={"process_id": process_id, "wait_ms": WAIT_MS})


WAIT_MS = 20_000

OURS = Profile(
    label="ours",
    command=lambda ground: [
        *(sys.executable, "-m", "workspace_server", "serve", str(ground.root)),
        *("--in-process", "--state-dir", str(ground.state)),
    ],
    clear=lambda ground: stop_supervisor(ground.state),
    operations={
        Measure.READ: Operation(
            call=lambda edit: ToolCall(tool="read", arguments={"path": READ_PATH}),
            succeeded=lambda reply: len(str(reply.field("content"))) == READ_BYTES,
        ),
        Measure.EDIT: Operation(
            call=lambda edit: ToolCall(tool="apply_patch", arguments={"patch": v4a_patch(edit)}),
            succeeded=lambda reply: reply.field("status") == "applied",
        ),
        Measure.COMMAND: Operation(
            call=lambda edit: ToolCall(
                tool="exec_command", arguments={"command": ["true"], "wait_ms": WAIT_MS}
            ),
            finished=has_exited,
            follow_up=status_of,
            succeeded=lambda reply: reply.field("exit_code") == 0,
        ),
        Measure.OUTPUT: Operation(
            call=lambda edit: ToolCall(
                tool="exec_command", arguments={"shell": OUTPUT_SCRIPT, "wait_ms": WAIT_MS}
            ),
            finished=has_exited,
            follow_up=status_of,
            succeeded=lambda reply: reply.field("exit_code") == 0 and LAST_LINE in reply.text,
        ),
    },
)

FLOOR = Profile(
    label="floor",
    command=lambda ground: [sys.executable, "-m", "bench.floor_server", str(ground.root)],
    operations={
        Measure.READ: Operation(
            call=lambda edit: ToolCall(tool="read", arguments={"path": READ_PATH}),
            succeeded=lambda reply: len(str(reply.field("result"))) == READ_BYTES,
        ),
    },
)

PROFILES = (OURS, FLOOR)
