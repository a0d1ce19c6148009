"""Chapter one: look around, change files, and meet somebody else's change."""

from demo.agent import Agent
from demo.changes import CODE, FUNCTION_AND_TEST, MISTAKE, REPAIR, REPAIRED, TEST
from demo.narrator import expect, expect_in
from demo.stage import ENVIRONMENT, Stage, pytest

WAIT_MS = 20_000


async def play(stage: Stage, agent: Agent) -> None:
    """Add a function with a mistake, see its test fail, repair it."""
    await look_around(stage, agent)
    version = await add_function(stage, agent)
    await see_it_fail(stage, agent)
    await repair(stage, agent, stale_version=version)


async def look_around(stage: Stage, agent: Agent) -> None:
    info = await agent.call("workspace_info")
    expect(info.field("profile"), "workspace-write", "the profile")
    expect(info.field("git", "changed"), 0, "the number of changed files")
    found = await agent.call("find", glob="tests/**/test_*.py")
    expect_in("tests/test_basic.py", "\n".join(map(str, found.items("paths"))), "the listing")
    code = await agent.call("read", path=CODE, start_line=1, end_line=40)
    expect_in("def _posixify", code.field("content"), "the source")
    stage.narrator.tell(
        f"looked around: branch {info.text('git', 'branch')}, {found.number('total')} test files, "
        f"read {CODE} at version {code.text('version')}"
    )


async def add_function(stage: Stage, agent: Agent) -> str:
    """Preview and apply the V4A patch; return the version of the code after it."""
    before = stage.project.text(CODE)
    preview = await agent.call("apply_patch", patch=FUNCTION_AND_TEST, check_only=True)
    expect(preview.field("status"), "checked", "the status of the preview")
    expect(stage.project.text(CODE), before, "the file after a preview")
    stage.narrator.tell("previewed a V4A patch over two files: it would apply, nothing is written")
    applied = await agent.call("apply_patch", patch=FUNCTION_AND_TEST)
    expect(applied.field("status"), "applied", "the status of the patch")
    expect_in("def readable_size", stage.project.text(CODE), "the file on disk")
    stage.narrator.tell(f"applied it as {applied.text('operation_id')}")
    return (await agent.call("read", path=CODE)).text("version")


async def see_it_fail(stage: Stage, agent: Agent) -> None:
    run = await agent.call(
        "exec_command", command=pytest("-q", TEST), env=ENVIRONMENT, wait_ms=WAIT_MS
    )
    expect(run.field("exit_code"), 1, "the exit code of the failing test")
    expect_in("10.0 KiB", run.field("output"), "the output of the failing test")
    stage.narrator.tell("ran its test: exit code 1, there is a mistake in the new function")


async def repair(stage: Stage, agent: Agent, *, stale_version: str) -> None:
    """Meet a conflict with somebody else's edit, read again, and repair."""
    stage.project.append(CODE, "\n# written by somebody else meanwhile\n")
    failure = await agent.refusal(
        "VERSION_CONFLICT", "apply_patch", patch=REPAIR, expected_versions={CODE: stale_version}
    )
    expect_in(MISTAKE, stage.project.text(CODE), "the file after the conflict")
    operation_id = failure.text("error", "operation_id")
    record = await agent.call("operation_status", operation_id=operation_id)
    expect(record.field("status"), "rejected", "the status of the conflict on record")
    stage.narrator.tell("somebody edited the file meanwhile: VERSION_CONFLICT, nothing is written")
    version = (await agent.call("read", path=CODE)).text("version")
    applied = await agent.call("apply_patch", patch=REPAIR, expected_versions={CODE: version})
    expect(applied.field("status"), "applied", "the status of the repair")
    expect_in(REPAIRED, stage.project.text(CODE), "the file on disk")
    expect_in("# written by somebody else", stage.project.text(CODE), "the other's edit")
    stage.narrator.tell(
        "read it again and repaired the mistake by unified diff, keeping both edits"
    )
