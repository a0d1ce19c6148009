from typing import Any

import pytest

from tests.contract.conftest import Connect
from tests.support.client import Place
from tests.support.cutting_proxy import Cut, cutting_proxy

ONCE: dict[str, Any] = {"shell": "echo ran >> count.txt", "operation_key": "once"}


async def with_a_supervisor(connect: Connect) -> None:
    """Leave a supervisor behind."""
    async with connect() as agent:
        await agent.call("exec_command", command=["true"])


@pytest.mark.guarantee("command-started-once")
async def test_a_dispatch_whose_reply_is_lost_is_unknown_until_it_is_looked_up(
    connect: Connect, place: Place
) -> None:
    await with_a_supervisor(connect)
    async with cutting_proxy(place.state / "supervisor", Cut.REPLY), connect() as agent:
        lost = await agent.call("exec_command", **ONCE)
        status = await agent.call(
            "operation_status", operation_id=lost["operation_id"], wait_ms=10_000
        )
        again = await agent.call("exec_command", **ONCE)
    assert lost["dispatch_status"] == "unknown"
    assert "state" not in lost
    assert status["status"] in ("dispatched", "finished")
    assert (again["replayed"], again["dispatch_status"]) == (True, "confirmed")
    assert (again["operation_id"], again["exit_code"]) == (lost["operation_id"], 0)
    assert (place.root / "count.txt").read_text() == "ran\n"


@pytest.mark.guarantee("command-not-started-is-certain")
async def test_a_dispatch_that_never_arrived_is_fenced_off_and_frees_its_key(
    connect: Connect, place: Place
) -> None:
    await with_a_supervisor(connect)
    async with cutting_proxy(place.state / "supervisor", Cut.REQUEST), connect() as agent:
        lost = await agent.call("exec_command", **ONCE)
        status = await agent.call("operation_status", operation_id=lost["operation_id"])
        again = await agent.call("exec_command", **ONCE)
    assert lost["dispatch_status"] == "unknown"
    assert status["status"] == "not_started"
    assert "replayed" not in again
    assert again["operation_id"] != lost["operation_id"]
    assert (place.root / "count.txt").read_text() == "ran\n"
