"""Every code is met over real stdio, in both eras; those that other files meet are listed there."""

import ast
import os
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.contract.conftest import Connect
from tests.support.client import ERAS, Agent, Place, agent_at, update
from tests.support.faulty_server import SECRET
from workspace_server.domain.errors import error_classes

Faulty: TypeAlias = Callable[[str], AbstractAsyncContextManager[Agent]]


@pytest.fixture(params=ERAS)
def faulty(request: pytest.FixtureRequest, place: Place) -> Faulty:
    """Connect to a server with a fault."""

    def connect(fault: str) -> AbstractAsyncContextManager[Agent]:
        module = ("tests.support.faulty_server", fault)
        return agent_at(place, era=request.param, module=module)

    return connect


def test_each_code_is_met_in_this_folder() -> None:
    met = {
        node.value
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant)
    }
    assert {cls.code for cls in error_classes()} - met == set()


async def test_a_defect_is_internal_and_its_cause_stays_private(faulty: Faulty) -> None:
    async with faulty("defect") as agent:
        reply = await agent.reply("find")
        assert await agent.call("workspace_info")
    assert reply.structured_content is not None
    assert reply.structured_content["error"]["code"] == "INTERNAL"
    assert SECRET not in reply.model_dump_json()


async def test_a_result_that_does_not_fit_is_invalid_and_stays_private(faulty: Faulty) -> None:
    async with faulty("bad-result") as agent:
        reply = await agent.reply("find")
    assert reply.structured_content is not None
    assert reply.structured_content["error"]["code"] == "INVALID_RESULT"
    assert SECRET not in reply.model_dump_json()


async def test_a_process_that_cannot_be_ended_is_said_to_live(faulty: Faulty) -> None:
    async with faulty("unkillable") as agent:
        view = await agent.call("exec_command", command=["sleep", "60"], wait_ms=0)
        error = await agent.fails("terminate_process", process_id=view["process_id"], grace_ms=0)
    assert error["code"] == "CLEANUP_FAILED"
    assert error["process_id"] == view["process_id"]


@pytest.mark.guarantee("field-34")
async def test_when_the_pool_is_full_the_answer_is_busy_and_the_ledger_still_answers(
    faulty: Faulty,
) -> None:
    async with faulty("full-pool") as agent:
        error = await agent.fails("read", path="a.txt")
        listed = await agent.call("operation_list")
    assert (error["code"], error["retryable"]) == ("BUSY", True)
    assert listed["operations"] == []


async def test_a_file_that_refuses_is_named_and_left_as_it_is(
    connect: Connect, place: Place
) -> None:
    (place.root / "a.txt").chmod(0o444)
    async with connect() as agent:
        error = await agent.fails("apply_patch", patch=update("a.txt", "two", "zwei"))
    assert error["code"] == "FILE_OPERATION_FAILED"
    assert (place.root / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_binary_file_is_not_patched_by_lines(connect: Connect, place: Place) -> None:
    (place.root / "blob").write_bytes(b"\0two\n")
    async with connect() as agent:
        error = await agent.fails("apply_patch", patch=update("blob", "two", "zwei"))
    assert error["code"] == "NOT_TEXT"


async def test_a_result_beyond_what_a_reply_may_carry_is_refused(
    connect: Connect, place: Place
) -> None:
    folder = place.root / ("d" * 200)
    folder.mkdir()
    for number in range(6000):
        (folder / f"{number:06d}").touch()
    async with connect() as agent:
        error = await agent.fails("find", limit=10_000)
    assert error["code"] == "RESULT_TOO_LARGE"


async def test_a_cursor_beyond_the_output_is_invalid(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["echo", "x"])
        error = await agent.fails("read_process", process_id=view["process_id"], cursor=99)
    assert error["code"] == "INVALID_CURSOR"


@pytest.mark.slow
async def test_without_a_ledger_nothing_is_started(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        with closing(sqlite3.connect(place.state / "ledger.sqlite3")) as outsider:
            outsider.execute("BEGIN IMMEDIATE")
            error = await agent.fails("exec_command", shell="echo ran > ran.txt")
        ran = await agent.call("exec_command", command=["true"])
    assert (error["code"], error["retryable"]) == ("LEDGER_UNAVAILABLE", True)
    assert not (place.root / "ran.txt").exists()
    assert ran["exit_code"] == 0


async def test_input_that_nobody_reads_is_refused_when_enough_waits(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["sleep", "60"], stdin="", wait_ms=0)
        process_id = view["process_id"]
        written = [
            await agent.reply("write_stdin", process_id=process_id, data="x" * 200_000, wait_ms=0)
            for _ in range(8)
        ]
        await agent.call("terminate_process", process_id=process_id, signal="KILL")
    refused = [reply.structured_content for reply in written if reply.is_error]
    assert refused
    assert all(failure and failure["error"]["code"] == "BUSY" for failure in refused)


async def test_a_supervisor_that_died_leaves_its_processes_lost(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="echo begun; sleep 60", wait_ms=300)
        os.kill(supervisor_pid(place), 9)
        ended = await agent.call("process_status", process_id=view["process_id"], wait_ms=10_000)
        output = await agent.call("read_process", process_id=view["process_id"])
        applied = await agent.call("apply_patch", patch=update("a.txt", "two", "zwei"))
    assert (ended["state"], ended["termination"]) == ("exited", "lost")
    assert "exit_code" not in ended
    assert output["chunk"] == "begun\n"
    assert applied["status"] == "applied"


def supervisor_pid(place: Place) -> int:
    """Return the pid of the supervisor of a place."""
    folder = os.fsencode(place.state / "supervisor")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if folder in words and b"sandbox.supervisor" in words:
                return int(entry.name)
    raise AssertionError("there is no supervisor")


async def test_without_a_supervisor_input_is_not_said_to_have_arrived(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["cat"], stdin="", wait_ms=0)
        address = place.state / "supervisor" / "socket"
        address.unlink()
        address.mkdir()  # so that none can be started in its place
        os.kill(supervisor_pid(place), 9)
        error = await agent.fails("write_stdin", process_id=view["process_id"], data="x")
        address.rmdir()
        ended = await agent.call("process_status", process_id=view["process_id"], wait_ms=10_000)
    assert (error["code"], error["retryable"]) == ("UNAVAILABLE", False)
    assert ended["termination"] == "lost"
