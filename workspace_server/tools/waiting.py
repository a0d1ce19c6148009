"""Waiting for a process, within a bound, and the view that a wait ends with."""

import anyio

from workspace_server.domain.errors import ProcessNotFound
from workspace_server.domain.process import ProcessState
from workspace_server.process.commands import Condition
from workspace_server.process.snapshot import Snapshot
from workspace_server.tools.authority import authorise_change
from workspace_server.tools.process_view import ProcessView, WaitEnd, process_view
from workspace_server.tools.tool import Arguments, Call

QUIET_SECONDS = 0.1  # output that pauses this long is taken for an answer


class ProcessArguments(Arguments):
    """Which process."""

    process_id: str


def ended(snapshot: Snapshot) -> bool:
    """Whether the process runs no more, or never will."""
    return snapshot.state in (ProcessState.EXITED, ProcessState.NOT_STARTED)


def gone(snapshot: Snapshot) -> bool:
    """Whether neither it nor anything it started lives, or that could not be brought about."""
    is_over = ended(snapshot) and not snapshot.ending
    return is_over and (not snapshot.descendants or snapshot.cleanup_failed)


def printed_beyond(cursor: int) -> Condition:
    """Return the condition that there is output behind `cursor`, or will never be."""

    def condition(snapshot: Snapshot) -> bool:
        return ended(snapshot) or (snapshot.output_total or 0) > cursor

    return condition


async def known(call: Call, process_id: str) -> Snapshot:
    """Return the process, if it is of a workspace in the caller's view; else ProcessNotFound."""
    snapshot = await call.services.commands.snapshot(process_id)
    if snapshot.root not in call.caller.view.roots:
        raise ProcessNotFound(f"No process {process_id!r} is known.")
    return snapshot


async def steerable(call: Call, process_id: str, tool_name: str) -> Snapshot:
    """Return the process, as `known` does; raise Unauthorized where nothing may be run."""
    snapshot = await known(call, process_id)
    workspace = call.caller.view.at(snapshot.root)
    assert workspace is not None
    await authorise_change(call, tool_name, workspace)
    return snapshot


async def wait(
    call: Call, process_id: str, *, wait_ms: int, condition: Condition
) -> tuple[Snapshot, WaitEnd | None]:
    """Wait until the condition holds, at most `wait_ms`; tell what ended the wait, if it waited."""
    commands = call.services.commands
    with anyio.move_on_after(wait_ms / 1000):
        snapshot = await commands.wait_until(process_id, condition)
        return snapshot, "exit" if ended(snapshot) else "output"
    return await commands.snapshot(process_id), "deadline" if wait_ms else None


async def wait_for_answer(
    call: Call, process_id: str, *, cursor: int, wait_ms: int
) -> WaitEnd | None:
    """Wait for output behind `cursor` and then for a pause in it, at most `wait_ms`."""
    commands = call.services.commands
    with anyio.move_on_after(wait_ms / 1000):
        snapshot = await commands.wait_until(process_id, printed_beyond(cursor))
        while not ended(snapshot):
            seen = snapshot.output_total or 0
            with anyio.move_on_after(QUIET_SECONDS) as pause:
                snapshot = await commands.wait_until(process_id, printed_beyond(seen))
            if pause.cancelled_caught:
                return "idle"
        return "exit"
    return "deadline" if wait_ms else None


async def view_after_wait(
    call: Call,
    process_id: str,
    *,
    wait_ms: int,
    condition: Condition,
    cursor: int,
    output_bytes: int,
) -> ProcessView:
    """Return the view after the wait, with the output from `cursor` on."""
    snapshot, ended_by = await wait(call, process_id, wait_ms=wait_ms, condition=condition)
    output = await call.services.outputs.excerpt(
        process_id, cursor=cursor, budget=output_bytes, final=ended(snapshot)
    )
    return process_view(snapshot, output=output, wait_ended_by=ended_by)
