"""The tools that act on a process: write_stdin, process_resize, terminate_process."""

import signal
from typing import Annotated, Literal

from pydantic import Field

from workspace_server.domain.errors import CleanupFailed, InvalidArguments
from workspace_server.tools.exec_command import OutputBytes
from workspace_server.tools.process_view import ProcessView, process_view, view_text
from workspace_server.tools.tool import MAX_WAIT_MS, Annotations, Call, Tool
from workspace_server.tools.waiting import (
    ProcessArguments,
    ended,
    gone,
    steerable,
    view_after_wait,
    wait,
    wait_for_answer,
)

CLEANUP_SECONDS = 5.0  # beyond the grace: for killing what is left, and seeing it gone


class WriteStdinArguments(ProcessArguments):
    """What to type."""

    data: str | None = Field(default=None, description="Text; end a line with \\n yourself.")
    eof: bool = Field(default=False, description="End the input; on a terminal: Ctrl-D.")
    offset: (
        Annotated[
            int,
            Field(ge=0, description="stdin_accepted before this; a repeat writes nothing twice."),
        ]
        | None
    ) = None
    wait_ms: Annotated[
        int, Field(ge=0, le=MAX_WAIT_MS, description="Wait this long for what it prints.")
    ] = 1_000
    output_bytes: OutputBytes = 16 * 1024


async def write_stdin(call: Call, arguments: WriteStdinArguments) -> ProcessView:
    """Feed input and return what the process printed then."""
    if arguments.data is None and not arguments.eof:
        raise InvalidArguments(
            "There is nothing to write.",
            recovery="Give data, eof or both; read_process reads without writing.",
            details={"field": "data"},
        )
    before = await steerable(call, arguments.process_id, "write_stdin")
    await call.services.control.write(
        before,
        data=(arguments.data or "").encode("utf-8", "surrogatepass"),
        eof=arguments.eof,
        offset=arguments.offset,
    )
    cursor = before.output_total or 0
    ended_by = await wait_for_answer(
        call, before.process_id, cursor=cursor, wait_ms=arguments.wait_ms
    )
    view = await view_after_wait(
        call,
        before.process_id,
        wait_ms=0,
        condition=ended,
        cursor=cursor,
        output_bytes=arguments.output_bytes,
    )
    return view.model_copy(update={"wait_ended_by": ended_by})


class ProcessResizeArguments(ProcessArguments):
    """The new size of its terminal."""

    rows: Annotated[int, Field(ge=1, le=1000)]
    cols: Annotated[int, Field(ge=1, le=1000)]


async def process_resize(call: Call, arguments: ProcessResizeArguments) -> ProcessView:
    """Resize the terminal of a process."""
    snapshot = await steerable(call, arguments.process_id, "process_resize")
    return process_view(
        await call.services.control.resize(snapshot, rows=arguments.rows, cols=arguments.cols)
    )


class TerminateProcessArguments(ProcessArguments):
    """How to end it."""

    signal: Literal[
        "TERM", "INT", "HUP", "QUIT", "KILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGKILL"
    ] = "TERM"
    grace_ms: Annotated[
        int, Field(ge=0, le=30_000, description="Then whatever is left is killed.")
    ] = 5_000


async def terminate_process(call: Call, arguments: TerminateProcessArguments) -> ProcessView:
    """End a process and all that it started."""
    snapshot = await steerable(call, arguments.process_id, "terminate_process")
    await call.services.control.terminate(
        snapshot,
        signal_number=signal.Signals[f"SIG{arguments.signal.removeprefix('SIG')}"].value,
        grace_ms=arguments.grace_ms,
    )
    wait_ms = arguments.grace_ms + int(CLEANUP_SECONDS * 1000)
    ended_now, ended_by = await wait(call, snapshot.process_id, wait_ms=wait_ms, condition=gone)
    if ended_by == "deadline" or ended_now.cleanup_failed:
        raise CleanupFailed(
            "It could not be confirmed that all of the process has ended.",
            operation_id=snapshot.operation_id,
            process_id=snapshot.process_id,
        )
    return process_view(ended_now)


WRITE_STDIN = Tool(
    name="write_stdin",
    title="Type into a process",
    description=(
        'Send text to a process that was started with tty: true or stdin: "", and get what it '
        "prints until it pauses. Control keys are characters: \\u0003 is Ctrl-C."
    ),
    arguments=WriteStdinArguments,
    result=ProcessView,
    annotations=Annotations(read_only=False, destructive=True, open_world=True),
    run=write_stdin,
    text=view_text,
    names_workspace=False,
)

PROCESS_RESIZE = Tool(
    name="process_resize",
    title="Resize a terminal",
    description="Give the terminal of a process another size.",
    arguments=ProcessResizeArguments,
    result=ProcessView,
    annotations=Annotations(read_only=False, idempotent=True),
    run=process_resize,
    text=view_text,
    names_workspace=False,
)

TERMINATE_PROCESS = Tool(
    name="terminate_process",
    title="End a process",
    description=(
        "Send a signal to a process and all that it started; after grace_ms whatever is left is "
        "killed. Tells what ended it and how many others were ended with it."
    ),
    arguments=TerminateProcessArguments,
    result=ProcessView,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    run=terminate_process,
    text=view_text,
    names_workspace=False,
)
