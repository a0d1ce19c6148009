"""Chapter three: lose a reply, lose the server, and lose nothing by it."""

import contextlib
import re

import anyio
from anyio import to_thread
from mcp import MCPError

from demo.agent import Agent, Output, connected
from demo.changes import NOTE, NOTE_LINE, NOTES
from demo.narrator import Deviation, expect, expect_in
from demo.running import last_line
from demo.stage import ENVIRONMENT, Stage, pytest
from workspace_server.domain.json_value import JsonObject

KEY = "release-note-1"
NOTE_CALL: JsonObject = {"patch": NOTE, "operation_key": KEY}
EARLY_OUTPUT_BYTES = 40_000  # of more than 200,000: the server dies while tests still run


async def lose_reply(stage: Stage) -> None:
    """Kill the server as soon as the change is on disk, before its answer is read."""
    async with connected(stage.server) as agent, anyio.create_task_group() as tasks:
        tasks.start_soon(patch_without_answer, agent)
        await to_thread.run_sync(stage.project.wait_text, NOTES, NOTE_LINE)
        stage.server.kill()
        tasks.cancel_scope.cancel()
    stage.narrator.tell(
        "sent a patch with a key; kill -9 as it reached the disk: the agent has no reply"
    )


async def patch_without_answer(agent: Agent) -> None:
    """Send the patch; nobody waits for what comes back."""
    with contextlib.suppress(MCPError):
        await agent.call("apply_patch", **NOTE_CALL)


async def find_out(stage: Stage, agent: Agent) -> None:
    """On a new server: ask what became of the key, and try the same again."""
    record = await agent.call("operation_status", operation_key=KEY)
    expect(record.field("status"), "applied", "the status of the patch with the lost reply")
    expect(record.field("disk_matches"), True, "whether the disk matches the record")
    operation_id = record.text("operation_id")
    stage.narrator.tell(f"asked a new server by the key: applied, as {operation_id}")
    again = await agent.call("apply_patch", **NOTE_CALL)
    expect(again.field("replayed"), True, "whether the retry was replayed")
    expect(again.field("operation_id"), operation_id, "the id of the retry")
    expect(stage.project.text(NOTES).count(NOTE_LINE), 1, "how often the line was added")
    stage.narrator.tell("tried the same again: replayed, the same id, the line is there once")


async def lose_server(stage: Stage, agent: Agent) -> tuple[str, Output]:
    """Kill the server while tests run; return their process and what was read before."""
    started = await agent.call("exec_command", command=pytest("-v"), env=ENVIRONMENT, wait_ms=0)
    process_id = started.text("process_id")
    early = await agent.read_until(process_id, total_bytes=EARLY_OUTPUT_BYTES)
    stage.server.kill()
    stage.narrator.tell(f"started all tests again; kill -9 after {early.cursor:,} bytes of output")
    return process_id, early


async def read_on(stage: Stage, agent: Agent, process_id: str, early: Output) -> None:
    """On a new server: the same process, its output from the old cursor, its true end."""
    view = await agent.call("process_status", process_id=process_id)
    expect(view.field("state"), "running", "the state right after the restart")
    stage.narrator.tell("a new server: the same process_id, and the tests still run")
    late = await agent.read_all(process_id, cursor=early.cursor)
    end = await agent.wait_end(process_id)
    expect(end.field("exit_code"), 0, "the exit code of the tests")
    whole = early.text + late.text
    expect(len(whole.encode()), late.total_bytes, "the bytes read in two halves")
    expect_each_test_once(whole)
    stage.narrator.tell(
        f"read on from the old cursor to exit code 0: {late.total_bytes:,} bytes, "
        f"none lost or doubled, {last_line(whole)}"
    )


def expect_each_test_once(output: str) -> None:
    """Compare the lines of single tests with what pytest counted itself."""
    counted = re.search(r"(\d+) passed", last_line(output))
    if counted is None:
        raise Deviation(f"the last line of pytest: expected a count, found {last_line(output)!r}")
    expect(len(re.findall(r" PASSED +\[", output)), int(counted[1]), "the number of passed tests")
    expect_in("100%]", output, "the output")
