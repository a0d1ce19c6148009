"""The tools that follow and steer a process after exec_command has started it."""

import signal
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from sandbox import Stream
from workspace_server.domain.errors import CleanupFailed, InvalidArguments, InvalidCursor
from workspace_server.domain.ids import IdKind
from workspace_server.domain.process import ProcessState
from workspace_server.ledger.processes import ProcessFilter
from workspace_server.process.output import OutputChunk
from workspace_server.process.snapshot import Snapshot
from workspace_server.tools.exec_command import OutputBytes
from workspace_server.tools.operations import checked_cursor
from workspace_server.tools.process_view import ProcessView, process_view, view_text
from workspace_server.tools.tool import MAX_WAIT_MS, Annotations, Arguments, Call, Result, Tool
from workspace_server.tools.waiting import (
    ended,
    gone,
    known,
    view_after_wait,
    wait,
    wait_for_answer,
)

PAGE = 50
CLEANUP_SECONDS = 5.0  # beyond the grace: for killing what is left, and seeing it gone

WaitMs = Annotated[int, Field(ge=0, le=MAX_WAIT_MS)]


class ProcessArguments(Arguments):
    """Which process."""

    process_id: str


class ProcessStatusArguments(ProcessArguments):
    """Which process, and how long to wait for its end."""

    wait_ms: WaitMs = 0


async def process_status(call: Call, arguments: ProcessStatusArguments) -> ProcessView:
    """Tell how a process stands."""
    snapshot = await known(call, arguments.process_id)
    snapshot, ended_by = await wait(
        call, snapshot.process_id, wait_ms=arguments.wait_ms, condition=ended
    )
    return process_view(snapshot, wait_ended_by=ended_by)


class ProcessListArguments(Arguments):
    """Which processes."""

    state: Literal["running", "exited"] | None = None
    mine: bool = Field(default=False, description="Only those of this caller.")
    cursor: str | None = Field(default=None, description="next_cursor of the page before.")


class ProcessEntry(Result):
    """A process in a list."""

    process_id: str
    operation_id: str
    command: list[str]
    state: Literal["pending", "running", "exited", "not_started"]
    exit_code: int | None = None
    elapsed_ms: int | None = None


class ProcessListResult(Result):
    """Processes, newest first."""

    processes: list[ProcessEntry]
    next_cursor: str | None = None


async def process_list(call: Call, arguments: ProcessListArguments) -> ProcessListResult:
    """List processes of the workspaces in view."""
    roots = {call.workspace.root} if call.workspace else call.caller.view.roots
    rows = await call.services.ledger.processes.page(
        ProcessFilter(
            roots=frozenset(roots),
            principal=call.caller.principal if arguments.mine else None,
            state=ProcessState(arguments.state) if arguments.state else None,
            before=checked_cursor(IdKind.PROCESS, arguments.cursor),
            limit=PAGE + 1,
        )
    )
    page = rows[:PAGE]
    snapshots = [await call.services.commands.snapshot(row.process_id) for row in page]
    return ProcessListResult(
        processes=[_entry(snapshot) for snapshot in snapshots],
        next_cursor=page[-1].process_id if len(rows) > len(page) else None,
    )


def _entry(snapshot: Snapshot) -> ProcessEntry:
    return ProcessEntry(
        process_id=snapshot.process_id,
        operation_id=snapshot.operation_id,
        command=list(snapshot.argv),
        state=snapshot.state.value,
        exit_code=snapshot.end.exit_code if snapshot.end else None,
        elapsed_ms=snapshot.elapsed_ms,
    )


class ReadProcessArguments(ProcessArguments):
    """From where to read, and how much."""

    cursor: Annotated[int, Field(ge=0, description="In bytes of the stream.")] = 0
    limit: Annotated[int, Field(ge=1, le=256 * 1024, description="In bytes.")] = 16 * 1024
    stream: Literal["merged", "stdout", "stderr"] = "merged"
    wait_ms: Annotated[
        int, Field(ge=0, le=MAX_WAIT_MS, description="Wait this long for output at the cursor.")
    ] = 0


class ReadProcessResult(Result):
    """A stretch of output."""

    process_id: str
    state: Literal["running", "exited"] | None = None
    exit_code: int | None = None
    chunk: str
    cursor: int = Field(description="Where to go on.")
    eof: bool = Field(description="Nothing more will come on this stream.")
    output_lost: int = Field(description="Bytes dropped between the cursor given and the chunk.")
    retained_from: int
    output_total: int
    content_lossy: bool | None = None


async def read_process(call: Call, arguments: ReadProcessArguments) -> ReadProcessResult:
    """Read output from a cursor on."""
    stream = Stream(arguments.stream)
    snapshot = await known(call, arguments.process_id)
    if arguments.wait_ms:
        snapshot, _ = await wait(
            call,
            snapshot.process_id,
            wait_ms=arguments.wait_ms,
            condition=lambda now: _has_more(now, stream, arguments.cursor),
        )
    chunk = await call.services.outputs.read(
        snapshot.process_id,
        stream=stream,
        cursor=arguments.cursor,
        limit=arguments.limit,
        final=snapshot.stream_ended(stream),
    )
    if arguments.cursor > chunk.total:
        raise InvalidCursor(
            f"The cursor {arguments.cursor} lies beyond the {chunk.total} bytes printed so far.",
            recovery="Read on from a cursor that read_process returned.",
        )
    return _read_result(snapshot, stream, chunk)


def _has_more(snapshot: Snapshot, stream: Stream, cursor: int) -> bool:
    return (snapshot.total_of(stream) or 0) > cursor or snapshot.stream_ended(stream)


def _read_result(snapshot: Snapshot, stream: Stream, chunk: OutputChunk) -> ReadProcessResult:
    return ReadProcessResult(
        process_id=snapshot.process_id,
        state=_state_word(snapshot.state),
        exit_code=snapshot.end.exit_code if snapshot.end else None,
        chunk=chunk.text,
        cursor=chunk.cursor,
        eof=snapshot.stream_ended(stream) and chunk.cursor >= chunk.total,
        output_lost=chunk.lost,
        retained_from=chunk.retained_from,
        output_total=chunk.total,
        content_lossy=chunk.lossy or None,
    )


def _state_word(state: ProcessState) -> Literal["running", "exited"] | None:
    match state:
        case ProcessState.RUNNING:
            return "running"
        case ProcessState.EXITED:
            return "exited"
        case ProcessState.PENDING | ProcessState.NOT_STARTED:
            return None


def _read_text(result: ReadProcessResult) -> Sequence[str]:
    """The output as it is, then one line about it."""
    facts = [f"cursor {result.cursor} of {result.output_total}"]
    if result.output_lost:
        facts.append(f"{result.output_lost} bytes were dropped before this")
    if result.eof:
        facts.append("end of output")
    if result.state:
        facts.append(result.state)
    if result.exit_code is not None:
        facts.append(f"exit code {result.exit_code}")
    return (result.chunk, f"[{result.process_id}: {'; '.join(facts)}]")


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
    before = await known(call, arguments.process_id)
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
    snapshot = await known(call, arguments.process_id)
    return process_view(
        await call.services.control.resize(snapshot, rows=arguments.rows, cols=arguments.cols)
    )


class TerminateProcessArguments(ProcessArguments):
    """How to end it."""

    signal: Literal["TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "USR2"] = "TERM"
    grace_ms: Annotated[
        int, Field(ge=0, le=30_000, description="Then whatever is left is killed.")
    ] = 5_000


async def terminate_process(call: Call, arguments: TerminateProcessArguments) -> ProcessView:
    """End a process and all that it started."""
    snapshot = await known(call, arguments.process_id)
    await call.services.control.terminate(
        snapshot,
        signal_number=signal.Signals[f"SIG{arguments.signal}"].value,
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


PROCESS_STATUS = Tool(
    name="process_status",
    title="Process status",
    description=(
        "How a process stands: running or exited, exit code or signal. With wait_ms it returns at "
        "the end of the process, or when the time is over; waiting never ends the process."
    ),
    arguments=ProcessStatusArguments,
    result=ProcessView,
    annotations=Annotations(read_only=True, idempotent=True),
    run=process_status,
    text=view_text,
    names_workspace=False,
)

PROCESS_LIST = Tool(
    name="process_list",
    title="List processes",
    description="Running and ended processes, newest first, a page of 50 at a time.",
    arguments=ProcessListArguments,
    result=ProcessListResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=process_list,
    names_workspace=False,
)

READ_PROCESS = Tool(
    name="read_process",
    title="Read a process's output",
    description=(
        "Output from a cursor on, in bytes; the next cursor is in the result and stays valid, also "
        "after a restart of the server. With wait_ms it waits for output at the cursor."
    ),
    arguments=ReadProcessArguments,
    result=ReadProcessResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=read_process,
    text=_read_text,
    names_workspace=False,
)

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
