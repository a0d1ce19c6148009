"""The tool that runs commands: exec_command."""

import os
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from sandbox import Order, Stdin, Terminal
from workspace_server.domain.errors import (
    InvalidArguments,
    InvalidCommand,
    ProcessSpawnFailed,
)
from workspace_server.domain.failure import stored_failure
from workspace_server.domain.ids import IdKind, mint
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.ledger.processes import NewProcess
from workspace_server.process.commands import Commands
from workspace_server.process.environment import command_environment
from workspace_server.tools.process_view import ProcessView, unknown_dispatch, view_text
from workspace_server.tools.tool import (
    MAX_WAIT_MS,
    Annotations,
    Call,
    Mutation,
    MutationArguments,
    Tool,
)
from workspace_server.tools.waiting import ended, view_after_wait
from workspace_server.workspace.root import Root

LONGEST_ARGUMENT_BYTES = 131_071  # MAX_ARG_STRLEN of Linux, less the NUL
DEFAULT_TIMEOUT_MS = 30 * 60 * 1000
LONGEST_TIMEOUT_MS = 24 * 60 * 60 * 1000
SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"

OutputBytes = Annotated[
    int,
    Field(ge=1024, le=256 * 1024, description="Output beyond this is shown in part."),
]


class ExecCommandArguments(MutationArguments):
    """What to run, and how long to wait for it."""

    command: list[str] | None = Field(
        default=None, description="Program and arguments; no shell reads them."
    )
    shell: str | None = Field(default=None, description="A script for the shell, instead.")
    cwd: str = Field(default=".", description="Relative to the workspace root.")
    env: dict[str, str] | None = Field(default=None, description="Set on top of the usual.")
    stdin: str | None = Field(
        default=None,
        description="Text to feed, then end of input. An empty string keeps the input open for "
        "write_stdin, as a terminal's always is. Without it there is none.",
    )
    tty: bool = Field(default=False, description="Give it a terminal; its input stays open.")
    rows: Annotated[int, Field(ge=1, le=1000)] = 24
    cols: Annotated[int, Field(ge=1, le=1000)] = 80
    timeout_ms: Annotated[
        int, Field(ge=1, le=LONGEST_TIMEOUT_MS, description="Then it is ended.")
    ] = DEFAULT_TIMEOUT_MS
    wait_ms: Annotated[
        int, Field(ge=0, le=MAX_WAIT_MS, description="Then it runs on, and this call returns.")
    ] = 20_000
    output_bytes: OutputBytes = 16 * 1024


@dataclass(frozen=True, kw_only=True)
class _PreparedCommand:
    commands: Commands
    order: Order
    process: NewProcess

    async def perform(self, operation: Operation) -> None:
        await self.commands.start(operation, self.order)


async def prepare(
    call: Call, arguments: ExecCommandArguments, operation_id: str
) -> _PreparedCommand:
    """Check the command; nothing is started."""
    argv = _checked_argv(arguments)
    cwd = await call.services.files.read(
        call.target.root, lambda root: _folder(root, root.parse(arguments.cwd))
    )
    process_id = mint(IdKind.PROCESS, call.services.clock)
    order = Order(
        operation_id=operation_id,
        process_id=process_id,
        group=call.target.root,
        argv=argv,
        cwd=cwd,
        env=command_environment(
            call.services.environment, _checked_environment(arguments), tty=arguments.tty
        ),
        stdin=_stdin(arguments),
        tty=Terminal(rows=arguments.rows, cols=arguments.cols) if arguments.tty else None,
        timeout_ms=arguments.timeout_ms,
        orphan_grace_ms=None,  # it runs on to its end or its time limit
    )
    return _PreparedCommand(
        commands=call.services.commands,
        order=order,
        process=NewProcess(process_id=process_id, argv=argv, tty=arguments.tty),
    )


async def answer(call: Call, arguments: ExecCommandArguments, operation: Operation) -> ProcessView:
    """Wait for the end, and return the view; or raise that nothing was started."""
    commands = call.services.commands
    process_id = operation.process_id
    assert process_id is not None
    if commands.take_lost_reply(operation.operation_id):
        return unknown_dispatch(operation.operation_id, process_id)
    operation = await commands.settle(operation)
    match operation.status:
        case OperationStatus.UNKNOWN | OperationStatus.PENDING:
            return unknown_dispatch(operation.operation_id, process_id)
        case OperationStatus.NOT_STARTED:
            raise _not_started(operation)
        case _:
            return await view_after_wait(
                call,
                process_id,
                wait_ms=arguments.wait_ms,
                condition=ended,
                cursor=0,
                output_bytes=arguments.output_bytes,
            )


def _not_started(operation: Operation) -> Exception:
    if operation.outcome is not None:
        return stored_failure(operation.outcome)
    return ProcessSpawnFailed(
        "The command was never started: the server was interrupted before that.",
        recovery="Nothing was done. Call again with a new operation_key.",
        operation_id=operation.operation_id,
    )


def _checked_argv(arguments: ExecCommandArguments) -> tuple[str, ...]:
    if (arguments.command is None) == (arguments.shell is None):
        raise InvalidCommand("Give exactly one of command and shell.")
    argv = _argv(arguments)
    if not argv or not argv[0]:
        raise InvalidCommand("command is empty.")
    for index, argument in enumerate(argv):
        _check_argument(f"argument {index}", argument)
    return argv


def _argv(arguments: ExecCommandArguments) -> tuple[str, ...]:
    if arguments.shell is None:
        return tuple(arguments.command or ())
    return (SHELL, "-c", arguments.shell)


def _check_argument(what: str, text: str) -> None:
    if "\0" in text:
        raise InvalidCommand(
            f"{what} holds a NUL character at {text.index(chr(0))}.",
            recovery="Remove it: no program can be given one.",
        )
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LONGEST_ARGUMENT_BYTES:
        raise InvalidCommand(
            f"{what} has {size} bytes; the system takes {LONGEST_ARGUMENT_BYTES}.",
            recovery="Put it in a file with apply_patch, or feed it through stdin.",
            details={"size_bytes": size, "limit_bytes": LONGEST_ARGUMENT_BYTES},
        )


def _checked_environment(arguments: ExecCommandArguments) -> dict[str, str]:
    overrides = arguments.env or {}
    for name, value in overrides.items():
        if not name or "=" in name or "\0" in name:
            raise InvalidArguments(
                f"env: {name!r} is no name of a variable.",
                recovery="Name it without '=' and NUL.",
                details={"field": "env"},
            )
        _check_argument(f"env {name}", value)
    return overrides


def _stdin(arguments: ExecCommandArguments) -> Stdin | None:
    if arguments.stdin is None:
        return None
    return Stdin(
        data=arguments.stdin.encode("utf-8", "surrogatepass"),
        keep_open=arguments.tty or not arguments.stdin,
    )


def _folder(root: Root, path: str) -> str:
    """Return the host path of a folder beneath the root; no component of it is a link."""
    os.close(root.open_folder(path))
    return os.path.normpath(os.path.join(root.path, path))


EXEC_COMMAND = Tool(
    name="exec_command",
    title="Run a command",
    description=(
        "Run a program (command) or a shell script (shell) in the workspace. Returns at its end, "
        "or after wait_ms while it runs on under its process_id: then poll process_status. A "
        "non-zero exit_code is a result, not a failure of the call. While it runs it has the "
        "workspace to itself. Output beyond output_bytes is shown in part; read_process has all."
    ),
    arguments=ExecCommandArguments,
    result=ProcessView,
    annotations=Annotations(read_only=False, destructive=True, open_world=True),
    mutation=Mutation(kind=OperationKind.COMMAND, prepare=prepare, answer=answer),
    text=view_text,
)
