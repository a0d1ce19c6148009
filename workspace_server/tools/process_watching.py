"""The tools that follow a process: process_status, process_list, read_process."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from sandbox import Stream
from workspace_server.domain.errors import InvalidCursor
from workspace_server.domain.ids import IdKind
from workspace_server.domain.process import ProcessState
from workspace_server.ledger.processes import ProcessFilter
from workspace_server.process.output import OutputChunk
from workspace_server.process.snapshot import Snapshot
from workspace_server.tools.operations import checked_cursor
from workspace_server.tools.process_view import ProcessView, process_view, state_word, view_text
from workspace_server.tools.tool import MAX_WAIT_MS, Annotations, Arguments, Call, Result, Tool
from workspace_server.tools.waiting import ProcessArguments, ended, known, wait

PAGE = 50
SHOWN_COMMAND = 200  # characters

WaitMs = Annotated[int, Field(ge=0, le=MAX_WAIT_MS)]


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
    command: str = Field(description="At most 200 characters of it.")
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


def _shown(argv: Sequence[str]) -> str:
    text = shlex.join(argv)
    return text if len(text) <= SHOWN_COMMAND else f"{text[:SHOWN_COMMAND]}…"


def _entry(snapshot: Snapshot) -> ProcessEntry:
    return ProcessEntry(
        process_id=snapshot.process_id,
        operation_id=snapshot.operation_id,
        command=_shown(snapshot.argv),
        state=snapshot.state.value,
        exit_code=snapshot.end.exit_code if snapshot.end else None,
        elapsed_ms=snapshot.elapsed_ms,
    )


class ReadProcessArguments(ProcessArguments):
    """From where to read, and how much."""

    cursor: Annotated[int, Field(ge=0, description="In bytes of the stream.")] = 0
    limit: Annotated[int, Field(ge=4, le=256 * 1024, description="In bytes.")] = 16 * 1024
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
    chunk = _or_told_as_lost(chunk, arguments.cursor, snapshot.total_of(stream) or 0)
    if arguments.cursor > chunk.total:
        raise InvalidCursor(
            f"The cursor {arguments.cursor} lies beyond the {chunk.total} bytes printed so far.",
            recovery="Read on from a cursor that read_process returned.",
        )
    return _read_result(snapshot, stream, chunk)


def _or_told_as_lost(chunk: OutputChunk, cursor: int, printed: int) -> OutputChunk:
    """Return the chunk; where the spool lacks what is known to have been printed, say so."""
    if chunk.text or chunk.total >= printed or cursor >= printed:
        return chunk
    return replace(
        chunk, cursor=printed, lost=printed - cursor, retained_from=printed, total=printed
    )


def _has_more(snapshot: Snapshot, stream: Stream, cursor: int) -> bool:
    return (snapshot.total_of(stream) or 0) > cursor or snapshot.stream_ended(stream)


def _read_result(snapshot: Snapshot, stream: Stream, chunk: OutputChunk) -> ReadProcessResult:
    return ReadProcessResult(
        process_id=snapshot.process_id,
        state=state_word(snapshot.state),
        exit_code=snapshot.end.exit_code if snapshot.end else None,
        chunk=chunk.text,
        cursor=chunk.cursor,
        eof=snapshot.stream_ended(stream) and chunk.cursor >= chunk.total,
        output_lost=chunk.lost,
        retained_from=chunk.retained_from,
        output_total=chunk.total,
        content_lossy=chunk.lossy or None,
    )


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
