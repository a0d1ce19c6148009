import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from sandbox import Order
from tests.support.clock import FakeClock
from workspace_server.domain.process import ProcessState
from workspace_server.process.supervisor_client import SupervisorClient

RUNNING: dict[str, Any] = {
    "operation_id": "op-1",
    "process_id": "proc-1",
    "group": "/",
    "argv": ["true"],
    "tty": False,
    "state": "running",
    "termination": None,
    "exit_code": None,
    "signal": None,
    "reason": None,
    "error": None,
    "ended_at": None,
    "elapsed_ms": 0,
    "idle_ms": 0,
    "stdin": "closed",
    "stdin_accepted": 0,
    "output": {"merged": 0, "stdout": 0, "stderr": 0},
    "eof": {"stdout": False, "stderr": False},
    "descendants": 0,
    "descendants_ended": 0,
    "cleanup_failed": False,
    "ending": False,
    "seq": 1,
}
EXITED = RUNNING | {
    "state": "exited",
    "termination": "exited",
    "exit_code": 0,
    "ended_at": "2026-01-02T03:04:05.000Z",
    "eof": {"stdout": True, "stderr": True},
    "seq": 2,
}
REQUEST = Order(
    operation_id="op-1",
    process_id="proc-1",
    group="/",
    argv=("true",),
    cwd="/",
    env={},
    stdin=None,
    tty=None,
    timeout_ms=None,
    orphan_grace_ms=None,
)


HELD = RUNNING | {"process_id": "proc-2", "operation_id": "op-2", "elapsed_ms": 5, "idle_ms": 3}


async def answer(connection: SocketStream) -> None:
    """Be a supervisor whose command has ended before its dispatch was answered."""
    async with connection:
        async for data in connection:
            request = json.loads(data)
            result: dict[str, Any] = {"processes": [HELD]}
            event = b""
            if request["method"] == "dispatch":
                result = {"known": False, "process": RUNNING}
                event = json.dumps({"event": "changed", "process": EXITED}).encode() + b"\n"
            reply = json.dumps({"id": request["id"], "result": result}).encode() + b"\n"
            await connection.send(reply + event)


@asynccontextmanager
async def client_of(
    folder: Path, clock: FakeClock | None = None
) -> AsyncIterator[SupervisorClient]:
    listener = await anyio.create_unix_listener(folder / "socket")
    client = SupervisorClient(folder, clock or FakeClock())
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        await tasks.start(client.run)
        yield client
        tasks.cancel_scope.cancel()


@pytest.mark.guarantee("field-31")
async def test_a_reply_read_after_a_later_change_does_not_undo_it(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        process = await client.dispatch(REQUEST)
        latest = client.latest("proc-1")
    assert process.state is ProcessState.EXITED
    assert latest is not None
    assert latest.state is ProcessState.EXITED


async def test_a_process_that_does_nothing_grows_older(tmp_path: Path) -> None:
    clock = FakeClock()
    async with client_of(tmp_path, clock) as client:
        assert await client.connect_if_running()
        clock.advance(2)
        held = client.latest("proc-2")
    assert held is not None
    assert (held.elapsed_ms, held.idle_ms) == (2005, 2003)
