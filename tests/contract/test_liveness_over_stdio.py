"""The server answers, whatever else goes on."""

from pathlib import Path

import anyio
import pytest

from tests.contract.conftest import Connect
from tests.support.client import Place
from tests.support.raw_server import RawServer, raw_server


async def ping(server: RawServer) -> None:
    with anyio.fail_after(2):
        assert "result" in await server.answer_to(await server.send("ping", {}))


@pytest.mark.guarantee("field-35")
async def test_a_ping_is_answered_while_calls_wait(place: Place) -> None:
    async with raw_server(place) as server:
        waiting = await server.send_call("exec_command", command=["sleep", "1.5"])
        for _ in range(20):
            await ping(server)
        answer = await server.answer_to(waiting)
    assert answer["result"]["structuredContent"]["exit_code"] == 0


@pytest.mark.guarantee("field-35")
async def test_a_ping_is_answered_while_a_large_patch_is_read(place: Place) -> None:
    lines = "".join(f"+line {number}\n" for number in range(200_000))
    patch = f"*** Begin Patch\n*** Add File: big.txt\n{lines}*** End Patch\n"
    async with raw_server(place) as server:
        applied = await server.send_call("apply_patch", patch=patch)
        for _ in range(5):
            await ping(server)
        answer = await server.answer_to(applied)
    assert answer["result"]["structuredContent"]["status"] == "applied"


@pytest.mark.guarantee("field-48")
async def test_a_cancel_at_any_moment_leaves_the_session_and_the_ledger_sound(
    place: Place,
) -> None:
    add = "*** Begin Patch\n*** Add File: {0}.txt\n+x\n*** End Patch\n"
    async with raw_server(place) as server:
        for number in range(30):
            request = await server.send_call(
                "apply_patch", patch=add.format(number), operation_key=f"k{number}"
            )
            await anyio.sleep(number / 5000)
            await server.notify("notifications/cancelled", {"requestId": request})
        await ping(server)
        said = {}
        for number in range(30):
            found = await server.call("operation_status", operation_key=f"k{number}", wait_ms=5000)
            said[number] = found.get("status", "absent")
        await ping(server)
    on_disk = {number for number in said if (place.root / f"{number}.txt").exists()}
    assert set(said.values()) <= {"applied", "absent"}
    assert on_disk == {number for number, status in said.items() if status == "applied"}


@pytest.mark.guarantee("field-47")
async def test_giving_up_a_wait_ends_no_command(connect: Connect) -> None:
    async with connect() as agent:
        view = await agent.call("exec_command", command=["sleep", "60"], wait_ms=0)
        with anyio.move_on_after(0.2):
            await agent.call("process_status", process_id=view["process_id"], wait_ms=50_000)
        still = await agent.call("process_status", process_id=view["process_id"])
        await agent.call("terminate_process", process_id=view["process_id"], signal="KILL")
    assert still["state"] == "running"


@pytest.mark.guarantee("patch-all-or-nothing")
async def test_when_the_client_leaves_in_mid_patch_the_patch_is_whole(
    place: Place, tmp_path: Path
) -> None:
    patch = "*** Begin Patch\n*** Add File: a/b.txt\n+x\n*** Add File: c.txt\n+y\n*** End Patch\n"
    async with raw_server(place) as server:
        await server.send_call("apply_patch", patch=patch, operation_key="k")
        assert await server.close_input() == 0
    async with raw_server(place) as server:
        found = await server.call("operation_status", operation_key="k")
    files = [(place.root / "a/b.txt").exists(), (place.root / "c.txt").exists()]
    assert files in ([True, True], [False, False])
    assert (found.get("status") == "applied") == files[0]
