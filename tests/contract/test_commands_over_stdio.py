import re
from typing import Any

import anyio
import pytest

from tests.contract.conftest import Connect
from tests.support.client import Place, update


@pytest.mark.guarantee("field-01")
async def test_a_command_that_fails_at_once_tells_all_it_printed(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="echo out; echo err >&2; exit 3")
    assert (view["state"], view["termination"], view["exit_code"]) == ("exited", "exited", 3)
    assert sorted(view["output"].split()) == ["err", "out"]
    assert view["dispatch_status"] == "confirmed"
    assert view["wait_ended_by"] == "exit"


@pytest.mark.guarantee("field-29")
async def test_a_command_killed_by_a_signal_has_no_exit_code(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="kill -KILL $$")
    assert (view["termination"], view["signal"]) == ("signaled", "SIGKILL")
    assert "exit_code" not in view


@pytest.mark.guarantee("command-time-limit")
async def test_a_long_command_runs_on_and_is_polled_to_its_end(connect: Connect) -> None:
    async with connect() as agent:
        started = await agent.call("exec_command", shell="read line; exit 7", stdin="", wait_ms=0)
        running = await agent.call("process_status", process_id=started["process_id"])
        await agent.call("write_stdin", process_id=started["process_id"], data="go\n")
        ended = await agent.call("process_status", process_id=started["process_id"], wait_ms=10_000)
        status = await agent.call("operation_status", operation_id=started["operation_id"])
    assert (started["state"], running["state"]) == ("running", "running")
    assert (ended["state"], ended["exit_code"]) == ("exited", 7)
    assert (status["status"], status["exit_code"]) == ("finished", 7)


async def test_stdout_and_stderr_are_apart_and_a_cursor_continues(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="printf abcdef; printf 123 >&2")
        process = view["process_id"]
        head = await agent.call("read_process", process_id=process, stream="stdout", limit=4)
        rest = await agent.call(
            "read_process", process_id=process, stream="stdout", cursor=head["cursor"]
        )
        errors = await agent.call("read_process", process_id=process, stream="stderr")
    assert (head["chunk"], rest["chunk"], errors["chunk"]) == ("abcd", "ef", "123")
    assert (head["eof"], rest["eof"]) == (False, True)


@pytest.mark.guarantee("field-04")
async def test_long_output_is_shown_in_part_and_says_how_to_get_the_rest(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="seq 1 20000", output_bytes=2000)
        total = view["output_total"]
        cursor = int(re.search(r"cursor=(\d+)", view["output"]).group(1))  # type: ignore[union-attr]
        more = await agent.call("read_process", process_id=view["process_id"], cursor=cursor)
    assert view["output"].startswith("1\n2\n")
    assert view["output"].endswith("20000\n")
    assert total == sum(len(f"{number}\n") for number in range(1, 20001))
    assert more["chunk"]


async def test_a_prompt_on_a_terminal_is_answered(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call(
            "exec_command", shell='read -p "name? " name; echo "hello $name"', tty=True, wait_ms=300
        )
        answer = await agent.call(
            "write_stdin", process_id=view["process_id"], data="Ada\n", wait_ms=5000
        )
        ended = await agent.call("process_status", process_id=view["process_id"], wait_ms=5000)
    assert "name?" in view["output"]
    assert "hello Ada" in answer["output"]
    assert ended["exit_code"] == 0


async def test_a_terminal_can_be_resized_and_pipes_cannot(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="read x; stty size", tty=True, wait_ms=0)
        await agent.call("process_resize", process_id=view["process_id"], rows=33, cols=99)
        answer = await agent.call("write_stdin", process_id=view["process_id"], data="\n")
        await agent.call("process_status", process_id=view["process_id"], wait_ms=5000)
        ended = await agent.fails("process_resize", process_id=view["process_id"], rows=9, cols=9)
        pipes = await agent.call("exec_command", command=["sleep", "60"], wait_ms=0)
        refused = await agent.fails(
            "process_resize", process_id=pipes["process_id"], rows=9, cols=9
        )
        await agent.call("terminate_process", process_id=pipes["process_id"], signal="KILL")
    assert "33 99" in answer["output"]
    assert ended["code"] == "PROCESS_NOT_RUNNING"
    assert refused["code"] == "PROCESS_NOT_TTY"


@pytest.mark.guarantee("field-16")
async def test_writing_where_nothing_reads_has_a_code_of_its_own(connect: Connect) -> None:
    async with connect() as agent:
        ended = await agent.call("exec_command", command=["true"])
        gone = await agent.fails("write_stdin", process_id=ended["process_id"], data="x")
        runs = await agent.call("exec_command", command=["sleep", "60"], wait_ms=0)
        closed = await agent.fails("write_stdin", process_id=runs["process_id"], data="x")
        await agent.call("terminate_process", process_id=runs["process_id"])
    assert gone["code"] == "PROCESS_NOT_RUNNING"
    assert "code 0" in gone["message"]
    assert closed["code"] == "STDIN_CLOSED"


@pytest.mark.guarantee("command-tree-ends")
async def test_terminate_ends_the_whole_tree(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call(
            "exec_command", shell="(trap '' TERM; sleep 60) & sleep 60", wait_ms=200
        )
        ended = await agent.call("terminate_process", process_id=view["process_id"], grace_ms=200)
    assert (ended["state"], ended["termination"]) == ("exited", "terminated")
    assert ended["descendants_ended"] >= 1


@pytest.mark.guarantee("command-time-limit")
async def test_a_time_limit_ends_the_command(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["sleep", "60"], timeout_ms=200)
    assert view["termination"] == "timeout"


@pytest.mark.guarantee("field-18")
@pytest.mark.guarantee("command-end-is-its-own")
async def test_a_child_in_the_background_delays_neither_the_end_nor_the_next_change(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="sleep 60 & echo started")
        applied = await agent.call("apply_patch", patch=update("a.txt", "two", "zwei"))
        await agent.call("terminate_process", process_id=view["process_id"], signal="KILL")
    assert (view["state"], view["exit_code"], view["output"]) == ("exited", 0, "started\n")
    assert view["descendants"] == 1
    assert applied["status"] == "applied"


@pytest.mark.guarantee("command-has-the-workspace")
async def test_while_a_command_runs_a_patch_is_refused_and_told_how_to_wait(
    connect: Connect,
) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["sleep", "60"], wait_ms=0)
        busy = await agent.fails("apply_patch", patch=update("a.txt", "two", "zwei"))
        await agent.call("terminate_process", process_id=view["process_id"])
        applied = await agent.call("apply_patch", patch=update("a.txt", "two", "zwei"))
    assert busy["code"] == "WORKSPACE_BUSY"
    assert busy["retryable"]
    assert busy["process_id"] == view["process_id"]
    assert applied["status"] == "applied"


@pytest.mark.guarantee("field-45")
@pytest.mark.guarantee("command-started-once")
async def test_a_command_is_run_once_however_often_it_is_asked_for(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        ask = {"shell": "echo ran >> count.txt", "operation_key": "once"}
        first = await agent.call("exec_command", **ask)
        second = await agent.call("exec_command", **ask)
    assert (place.root / "count.txt").read_text() == "ran\n"
    assert second["replayed"]
    assert second["operation_id"] == first["operation_id"]


@pytest.mark.guarantee("command-not-started-is-certain")
async def test_what_cannot_run_has_its_code(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        none = await agent.fails("exec_command")
        both = await agent.fails("exec_command", command=["true"], shell="true")
        empty = await agent.fails("exec_command", command=[])
        nul = await agent.fails("exec_command", command=["echo", "a\0b"])
        missing = await agent.fails("exec_command", command=["no-such-program"])
        outside = await agent.fails("exec_command", command=["true"], cwd="..")
        status = await agent.call("operation_status", operation_id=missing["operation_id"])
    assert {none["code"], both["code"], empty["code"], nul["code"]} == {"INVALID_COMMAND"}
    assert missing["code"] == "PROCESS_SPAWN_FAILED"
    assert outside["code"] == "PATH_ESCAPE"
    assert status["status"] == "not_started"


async def test_unknown_ids_are_not_found(connect: Connect) -> None:
    async with connect() as agent:
        process = await agent.fails("process_status", process_id="proc-none")
        operation = await agent.fails("operation_status", operation_id="op-none")
        neither = await agent.fails("operation_status")
        cursor = await agent.fails("operation_list", cursor="nonsense")
    assert process["code"] == "PROCESS_NOT_FOUND"
    assert operation["code"] == neither["code"] == "OPERATION_NOT_FOUND"
    assert cursor["code"] == "INVALID_CURSOR"


@pytest.mark.guarantee("field-33")
async def test_a_command_cannot_eat_frames_or_add_to_them(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", shell="cat; echo '{}' >/proc/self/fd/1")
        assert await agent.call("workspace_info")
    assert view["exit_code"] == 0


@pytest.mark.guarantee("command-environment")
async def test_no_secret_of_the_server_reaches_a_command(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["env"], env={"MINE": "yes"})
    assert "MINE=yes" in view["output"]
    assert "PYTEST_CURRENT_TEST" not in view["output"]


async def test_input_given_at_the_start_ends_on_pipes_and_stays_open_on_a_terminal(
    connect: Connect,
) -> None:
    async with connect() as agent:
        piped = await agent.call("exec_command", command=["cat"], stdin="fed\n")
        typed = await agent.call(
            "exec_command", shell='read a; read b; echo "$a+$b"', stdin="1\n", tty=True, wait_ms=200
        )
        answer = await agent.call(
            "write_stdin", process_id=typed["process_id"], data="2\n", wait_ms=5000
        )
    assert (piped["output"], piped["exit_code"]) == ("fed\n", 0)
    assert typed["state"] == "running"
    assert "1+2" in answer["output"]


@pytest.mark.guarantee("field-46")
async def test_twins_of_a_command_in_flight_run_it_once(connect: Connect, place: Place) -> None:
    results: list[dict[str, Any]] = []
    async with connect() as agent, anyio.create_task_group() as tasks:

        async def twin() -> None:
            ask = {"shell": "echo ran >> count.txt; sleep 0.5", "operation_key": "once"}
            results.append(await agent.call("exec_command", **ask))

        for _ in range(6):
            tasks.start_soon(twin)
    assert (place.root / "count.txt").read_text() == "ran\n"
    assert {result["exit_code"] for result in results} == {0}
    assert sum("replayed" not in result for result in results) == 1
