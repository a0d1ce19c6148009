"""The whole server, killed and started again: every promise must hold over real stdio."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.client import Place
from tests.support.raw_server import RawServer, raw_server
from tests.support.supervisors import stop_supervisor
from tests.support.trees import tree_of

TWO_FILES = """\
*** Begin Patch
*** Update File: a.txt
@@
-two
+zwei
*** Add File: docs/new.md
+fresh
*** End Patch
"""
SLOW_COUNT = "for n in 1 2 3 4 5 6; do echo line $n; sleep 0.3; done; exit 9"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace of one file."""
    place = Place(root=tmp_path / "repository", state=tmp_path / "state")
    lay_out(place)
    yield place
    stop_supervisor(place.state)


def lay_out(place: Place) -> None:
    place.root.mkdir(parents=True)
    (place.root / "a.txt").write_text("one\ntwo\nthree\n")


async def patch_and_maybe_die(place: Place, step: int) -> bool:
    """Send the patch to a server that dies before that step; tell whether it died."""
    async with raw_server(
        place, module="tests.support.dying_server", arguments=[str(step)]
    ) as server:
        request = await server.send_call("apply_patch", patch=TWO_FILES, operation_key="k")
        try:
            await server.answer_to(request)
        except anyio.EndOfStream:
            return True
    return False


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.guarantee("field-43")
@pytest.mark.guarantee("patch-all-or-nothing")
@pytest.mark.guarantee("ledger-tells-the-truth")
async def test_death_at_each_durable_step_leaves_all_or_nothing_and_the_row_says_which(
    tmp_path: Path,
) -> None:
    seen = set()
    for step in count(1):
        place = Place(root=tmp_path / str(step) / "r", state=tmp_path / str(step) / "state")
        lay_out(place)
        before = tree_of(place.root)
        died = await patch_and_maybe_die(place, step)
        async with raw_server(place) as server:
            tree = tree_of(place.root)
            status = await server.call("operation_status", operation_key="k")
            retried = await server.call("apply_patch", patch=TWO_FILES, operation_key="k")
        said = status.get("status") or status["error"]["code"]
        seen.add(said)
        if said == "applied":
            assert tree != before
            assert retried["replayed"] is True
            assert retried["operation_id"] == status["operation_id"]
        else:
            assert tree == before
        assert (place.root / "a.txt").read_text() in ("one\nzwei\nthree\n", "one\ntwo\nthree\n")
        assert not [path for path in place.root.rglob("*") if path.name.endswith(".tmp")]
        if not died:
            break
    assert {"applied", "rejected", "failed_rolled_back", "OPERATION_NOT_FOUND"} >= seen
    assert {"applied", "rejected"} <= seen


async def appeared(file: Path) -> None:
    """Wait for a file that a command makes while no server is there to tell of it."""
    while not file.exists():  # noqa: ASYNC110 - nobody could set an event
        await anyio.sleep(0.05)


async def started(server: RawServer, **arguments: Any) -> dict[str, Any]:
    """Start a command and return at once."""
    return await server.call("exec_command", wait_ms=0, **arguments)


@pytest.mark.guarantee("command-outlives-the-server")
async def test_a_killed_server_loses_no_process_no_byte_and_no_exit_code(place: Place) -> None:
    async with raw_server(place) as server:
        view = await started(server, shell=SLOW_COUNT)
        head = await server.call(
            "read_process", process_id=view["process_id"], wait_ms=5000, limit=7
        )
        await server.kill()
    async with raw_server(place) as server:
        ended = await server.call("process_status", process_id=view["process_id"], wait_ms=20_000)
        rest = await server.call(
            "read_process", process_id=view["process_id"], cursor=head["cursor"]
        )
        status = await server.call("operation_status", operation_id=view["operation_id"])
    assert (ended["state"], ended["exit_code"]) == ("exited", 9)
    assert head["chunk"] + rest["chunk"] == "".join(f"line {n}\n" for n in range(1, 7))
    assert rest["eof"]
    assert status["status"] == "finished"


@pytest.mark.guarantee("command-has-the-workspace")
async def test_a_command_that_outlived_its_server_holds_its_lease_again(place: Place) -> None:
    async with raw_server(place) as server:
        view = await started(server, command=["sleep", "60"])
        await server.kill()
    async with raw_server(place) as server:
        busy = await server.call("apply_patch", patch=TWO_FILES)
        await server.call("terminate_process", process_id=view["process_id"])
        applied = await server.call("apply_patch", patch=TWO_FILES)
    assert busy["error"]["code"] == "WORKSPACE_BUSY"
    assert busy["error"]["process_id"] == view["process_id"]
    assert applied["status"] == "applied"


async def test_a_command_that_ended_meanwhile_holds_no_lease(place: Place) -> None:
    async with raw_server(place) as server:
        view = await started(server, shell="sleep 0.5; echo done > marker")
        await server.kill()
    with anyio.fail_after(10):
        await appeared(place.root / "marker")
    async with raw_server(place) as server:
        applied = await server.call("apply_patch", patch=TWO_FILES)
        ended = await server.call("process_status", process_id=view["process_id"], wait_ms=5000)
    assert applied["status"] == "applied"
    assert ended["exit_code"] == 0


@pytest.mark.guarantee("field-45")
@pytest.mark.guarantee("ledger-same-key-once")
@pytest.mark.guarantee("command-started-once")
async def test_a_retry_by_key_after_a_kill_changes_nothing(place: Place) -> None:
    async with raw_server(place) as server:
        patch = await server.call("apply_patch", patch=TWO_FILES, operation_key="p")
        command = await server.call(
            "exec_command", shell="echo ran >> count.txt", operation_key="c"
        )
        await server.kill()
    before = tree_of(place.root)
    async with raw_server(place) as server:
        patch_again = await server.call("apply_patch", patch=TWO_FILES, operation_key="p")
        command_again = await server.call(
            "exec_command", shell="echo ran >> count.txt", operation_key="c"
        )
    assert tree_of(place.root) == before
    assert patch_again == {**patch, "replayed": True}
    assert command_again["replayed"] is True
    assert command_again["operation_id"] == command["operation_id"]
    assert (place.root / "count.txt").read_text() == "ran\n"


@pytest.mark.guarantee("field-26")
async def test_when_the_client_closes_its_end_the_server_leaves_and_commands_run_on(
    place: Place,
) -> None:
    async with raw_server(place) as server:
        view = await started(server, shell=SLOW_COUNT)
        assert await server.close_input() == 0
    async with raw_server(place) as server:
        ended = await server.call("process_status", process_id=view["process_id"], wait_ms=20_000)
    assert ended["exit_code"] == 9


@pytest.mark.parametrize(("signal_name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
async def test_a_signal_ends_the_server_in_order(place: Place, signal_name: str, code: int) -> None:
    import signal

    async with raw_server(place) as server:
        server.process.send_signal(signal.Signals[signal_name])
        with anyio.fail_after(15):
            assert await server.process.wait() == code


@pytest.mark.guarantee("field-67")
@pytest.mark.guarantee("ledger-one-server")
async def test_a_second_server_on_the_state_folder_is_refused_naming_the_first(
    place: Place,
) -> None:
    async with raw_server(place) as server:
        second = await anyio.run_process(place.argv(), check=False, input=b"")
        applied = await server.call("apply_patch", patch=TWO_FILES)
    assert second.returncode == 1
    assert str(server.process.pid) in second.stderr.decode()
    assert applied["status"] == "applied"
