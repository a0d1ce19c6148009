"""What an attack found once: hostile names, commands, folders and frames."""

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import anyio
import pytest

from tests.contract.conftest import Connect
from tests.contract.test_command_line import run
from tests.support.client import Place, update
from tests.support.raw_server import RawServer, raw_server


@contextmanager
def swapping(folder: Path, outside: Path) -> Iterator[None]:
    """Exchange a folder with a link to `outside`, again and again."""
    stopped = threading.Event()

    def swap() -> None:
        while not stopped.is_set():
            folder.rename(folder.with_name("aside"))
            folder.symlink_to(outside)
            time.sleep(0.0005)
            folder.unlink()
            folder.with_name("aside").rename(folder)
            time.sleep(0.0005)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        stopped.set()
        swapper.join()


@pytest.mark.guarantee("files-stay-beneath-the-root")
async def test_no_command_runs_outside_though_its_folder_is_swapped_for_a_link(
    connect: Connect, place: Place
) -> None:
    outside = place.root.parent / "outside"
    outside.mkdir()
    (place.root / "inner").mkdir()
    ask = {"command": ["/bin/pwd", "-P"], "cwd": "inner"}
    async with connect() as agent:
        with swapping(place.root / "inner", outside):
            replies = [await agent.reply("exec_command", **ask) for _ in range(60)]
    printed = [
        str(reply.structured_content["output"])
        for reply in replies
        if not reply.is_error and reply.structured_content
    ]
    assert printed
    assert f"{outside}\n" not in printed


@pytest.mark.guarantee("command-tree-ends")
async def test_a_descendant_that_dropped_every_mark_is_ended_too(
    connect: Connect, place: Place
) -> None:
    script = "(env -i setsid /bin/sh -c 'echo $$ > pid; exec sleep 60' >/dev/null 2>&1 &); sleep 60"
    async with connect() as agent:
        view = await agent.call("exec_command", shell=script, wait_ms=500)
        ended = await agent.call("terminate_process", process_id=view["process_id"])
    assert ended["descendants_ended"] >= 1
    assert not Path("/proc", (place.root / "pid").read_text().strip()).exists()


async def test_a_patch_of_many_files_is_answered_and_can_be_looked_up(
    connect: Connect, place: Place
) -> None:
    adds = "".join(f"*** Add File: {'d' * 200}/{n:04d}\n+x\n" for n in range(2000))
    patch = f"*** Begin Patch\n{adds}*** End Patch\n"
    async with connect() as agent:
        applied = await agent.call("apply_patch", patch=patch, operation_key="k")
        again = await agent.call("apply_patch", patch=patch, operation_key="k")
        status = await agent.call("operation_status", operation_key="k")
    assert (len(applied["files"]), applied["files_not_listed"]) == (200, 1800)
    assert again["replayed"]
    assert (status["status"], status["disk_matches"]) == ("applied", True)


async def test_commands_as_long_as_they_may_be_can_be_listed(connect: Connect) -> None:
    async with connect() as agent:
        for _ in range(3):
            await agent.call("exec_command", command=["/bin/true", "x" * 131_000])
        listed = await agent.call("process_list")
    assert all(len(each["command"]) <= 201 for each in listed["processes"])


@pytest.mark.guarantee("files-read-only-profile")
async def test_a_read_only_server_steers_no_process_of_an_earlier_one(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["cat"], stdin="", wait_ms=0)
    process = {"process_id": view["process_id"]}
    async with connect("--read-only") as agent:
        seen = await agent.call("process_status", **process)
        typed = await agent.fails("write_stdin", data="x\n", **process)
        ended = await agent.fails("terminate_process", **process)
    assert seen["state"] == "running"
    assert typed["code"] == ended["code"] == "UNAUTHORIZED"


async def test_a_retry_that_waits_longer_is_the_same_request(
    connect: Connect, place: Place
) -> None:
    ask = {"shell": "echo ran >> count.txt; sleep 0.5", "operation_key": "k"}
    async with connect() as agent:
        first = await agent.call("exec_command", wait_ms=0, **ask)
        second = await agent.call("exec_command", wait_ms=20_000, output_bytes=2048, **ask)
    assert (second["replayed"], second["exit_code"]) == (True, 0)
    assert second["operation_id"] == first["operation_id"]
    assert (place.root / "count.txt").read_text() == "ran\n"


async def test_a_file_whose_name_ends_in_a_blank_is_the_one_that_is_changed(
    connect: Connect, place: Place
) -> None:
    (place.root / "name ").write_text("one\n")
    async with connect() as agent:
        await agent.call("apply_patch", patch=update("name ", "one", "two"))
        (place.root / "name").write_text("one\n")
        unclear = await agent.reply("apply_patch", patch=update("name ", "two", "three"))
    assert (place.root / "name").read_text() == "one\n"
    assert unclear.is_error or (place.root / "name ").read_text() == "three\n"


@pytest.mark.guarantee("ledger-before-the-deed")
async def test_a_server_whose_ledger_was_removed_changes_nothing_more(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        await agent.call("apply_patch", patch=update("a.txt", "one", "eins"))
        shutil.rmtree(place.state)
        patch = await agent.fails("apply_patch", patch=update("a.txt", "two", "zwei"))
        command = await agent.fails("exec_command", shell="echo ran > ran.txt")
    assert patch["code"] == command["code"] == "LEDGER_UNAVAILABLE"
    assert patch["details"]["reason"] == "removed"
    assert (place.root / "a.txt").read_text() == "eins\ntwo\nthree\n"
    assert not (place.root / "ran.txt").exists()


async def test_a_record_that_is_none_keeps_no_command_from_running(
    connect: Connect, place: Place
) -> None:
    processes = place.state / "supervisor" / "processes"
    processes.mkdir(parents=True)
    (processes / "stray").touch()
    for name, text in (("proc-a", "{}\n"), ("proc-b", "123\n"), ("proc-c", '{"event": "x"}\n')):
        (processes / name).mkdir()
        (processes / name / "record").write_text(text)
    async with connect() as agent:
        view = await agent.call("exec_command", command=["echo", "on"])
    assert view["output"] == "on\n"


async def test_a_folder_of_somebody_is_not_taken_for_a_state_folder(place: Place) -> None:
    (place.root.parent / "precious").mkdir(mode=0o755)
    folder = place.root.parent / "precious"
    (folder / "letter.txt").write_text("dear")
    ended = run("serve", str(place.root), "--state-dir", str(folder))
    assert ended.returncode == 1
    assert "none of a state folder" in ended.stderr
    assert folder.stat().st_mode & 0o777 == 0o755
    assert [each.name for each in folder.iterdir()] == ["letter.txt"]


async def test_what_an_agent_prints_does_not_steer_the_operators_terminal(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        await agent.call("exec_command", command=["echo", "\x1b[2J\x07\u202e"])
    for command in ("log", "ps"):
        printed = run(command, "--state-dir", str(place.state)).stdout
        assert "\\u001b" in printed
        assert not {"\x1b", "\x07", "\u202e"} & set(printed)


async def test_an_error_that_a_client_sends_is_not_sent_back(place: Place) -> None:
    async with raw_server(place) as server:
        waiting = await server.send_call("exec_command", command=["sleep", "0.3"])
        spoof = {"jsonrpc": "2.0", "id": waiting, "error": {"code": -1, "message": "spoof"}}
        await server.send_frame(spoof)
        answer = await server.answer_to(waiting)
    assert answer["result"]["structuredContent"]["exit_code"] == 0


@pytest.mark.parametrize("text", ['"\\ud800"', "1" * 5000, "[" * 100_000])
async def test_a_frame_that_cannot_be_taken_is_answered_to_its_sender(
    place: Place, text: str
) -> None:
    async with raw_server(place) as server:
        frame = f'{{"jsonrpc": "2.0", "id": 900, "method": "ping", "params": {{"x": {text}}}}}'
        await server.send_text(frame)
        with anyio.fail_after(5):
            answer = await server.next_answer()
    assert answer["id"] in (900, None)
    assert "error" in answer or "result" in answer


@pytest.mark.slow
async def test_the_record_of_a_command_catches_up_after_the_ledger_was_locked(
    place: Place,
) -> None:
    async with raw_server(place) as server:
        view = await server.call("exec_command", shell="sleep 0.3; exit 7", wait_ms=0)
        with closing(sqlite3.connect(place.state / "ledger.sqlite3")) as outsider:
            outsider.execute("BEGIN IMMEDIATE")
            await server.call("process_status", process_id=view["process_id"], wait_ms=5000)
            await anyio.sleep(5.5)  # longer than the server waits for the lock
            behind = await status_in_list(server)
        with anyio.fail_after(10):
            while await status_in_list(server) != "finished":  # noqa: ASYNC110 - it is asked for
                await anyio.sleep(0.2)
    assert behind != "finished"  # so that there was something to catch up with


async def status_in_list(server: RawServer) -> str:
    """Return what the newest row says, which nobody asks the supervisor about."""
    listed = await server.call("operation_list", limit=1)
    status: str = listed["operations"][0]["status"]
    return status
