import json
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketStream

from sandbox import (
    Order,
    SpoolReader,
    Stdin,
    Stream,
    Terminal,
    connect,
    connect_or_start,
)
from tests.support.clock import FakeClock
from tests.support.supervisors import stop_supervisor
from workspace_server.domain.process import ProcessState, Termination
from workspace_server.process.supervisor_client import (
    DispatchRefused,
    DispatchUnknown,
    SupervisorClient,
)
from workspace_server.process.supervisor_messages import (
    SupervisorProcess,
)
from workspace_server.process.supervisor_wire import SupervisorLost, SupervisorRefused

SECONDS = 10


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return where a supervisor may be started; it is ended after the test."""
    yield tmp_path / "supervisor"
    stop_supervisor(tmp_path)


async def test_a_dispatched_command_is_followed_to_its_end(folder: Path) -> None:
    async with client_of(folder) as client:
        started = await client.dispatch(order("sh", "-c", "echo hi; exit 3"))
        ended = await end_of(client, started)

        assert started.state in (ProcessState.RUNNING, ProcessState.EXITED)
        assert ended.end is not None
        assert (ended.end.termination, ended.end.exit_code) == (Termination.EXITED, 3)
        assert ended.totals[Stream.STDOUT] == 3
        spool = SpoolReader(client.spool_folder("proc-1"))
        assert spool.read(Stream.STDOUT, 0, 100).data == b"hi\n"


async def test_asking_twice_starts_it_once(folder: Path, tmp_path: Path) -> None:
    async with client_of(folder) as client:
        request = order("sh", "-c", f"echo ran >>{tmp_path}/count")
        await end_of(client, await client.dispatch(request))
        again = await client.dispatch(request)

        assert again.state is ProcessState.EXITED
        assert (tmp_path / "count").read_text() == "ran\n"


async def test_what_cannot_start_is_confirmed_with_its_reason(folder: Path) -> None:
    async with client_of(folder) as client:
        process = await client.dispatch(order("nowhere"))

    assert process.state is ProcessState.NOT_STARTED
    assert process.start_failure.startswith("nowhere: not found")


async def test_a_supervisor_that_cannot_be_started_is_a_refusal(folder: Path) -> None:
    folder.write_text("not a folder")
    async with client_of(folder) as client:
        with pytest.raises(DispatchRefused):
            await client.dispatch(order("true"))
    folder.unlink()


async def test_connecting_if_one_runs_starts_none(folder: Path) -> None:
    async with client_of(folder) as client:
        assert not await client.connect_if_running()
        assert not folder.exists()


async def test_a_new_server_finds_what_runs(folder: Path) -> None:
    async with client_of(folder) as first:
        await first.dispatch(order("sleep", "60"))
    async with client_of(folder) as second:
        assert await second.connect_if_running()

        found = second.latest("proc-1")
        assert found is not None
        assert (found.state, found.argv) == (ProcessState.RUNNING, ("sleep", "60"))


async def test_every_change_is_heard(folder: Path) -> None:
    heard = list[SupervisorProcess]()
    async with client_of(folder) as client:
        client.on_change(heard.append)
        await end_of(client, await client.dispatch(order("true")))

    assert heard[-1].state is ProcessState.EXITED
    assert [each.seq for each in heard] == sorted(each.seq for each in heard)


async def test_input_goes_to_the_command(folder: Path) -> None:
    async with client_of(folder) as client:
        stdin = Stdin(data=b"one ", keep_open=True)
        started = await client.dispatch(order("wc", "-c", stdin=stdin))
        written = await client.write("proc-1", data=b"two", eof=True, offset=4)
        await end_of(client, started)

        assert (written.stdin_open, written.stdin_accepted) == (False, 7)
        assert SpoolReader(client.spool_folder("proc-1")).read(Stream.STDOUT, 0, 9).data == b"7\n"


async def test_a_terminal_can_be_resized_and_a_command_ended(folder: Path) -> None:
    async with client_of(folder) as client:
        started = await client.dispatch(order("cat", tty=Terminal(rows=24, cols=80)))
        await client.resize("proc-1", rows=30, cols=90)
        await client.terminate("proc-1", signal=signal.SIGKILL, grace_ms=0, reason="asked")

        ended = await end_of(client, started)
        assert ended.end is not None
        assert (ended.end.termination, ended.end.reason) == (Termination.TERMINATED, "asked")


async def test_a_refusal_has_the_protocols_word(folder: Path) -> None:
    async with client_of(folder) as client:
        await client.dispatch(order("sleep", "60"))
        with pytest.raises(SupervisorRefused) as refused:
            await client.write("proc-1", data=b"x", eof=False, offset=None)

    assert refused.value.kind == "stdin_closed"


@pytest.mark.guarantee("field-45")
async def test_a_lost_reply_is_settled_by_looking_it_up(folder: Path, tmp_path: Path) -> None:
    with Cut(folder, tmp_path / "way", before_arrival=False) as way:
        async with client_of(way) as client:
            with pytest.raises(DispatchUnknown):
                await client.dispatch(order("sh", "-c", f"echo ran >>{tmp_path}/count; sleep 0.3"))
            found = await client.lookup("op-1", fence=True)

            assert found is not None
            assert found.state is ProcessState.RUNNING
            await end_of(client, found)
    assert (tmp_path / "count").read_text() == "ran\n"


async def test_a_dispatch_that_never_arrived_is_settled_by_a_fence(
    folder: Path, tmp_path: Path
) -> None:
    with Cut(folder, tmp_path / "way", before_arrival=True) as way:
        async with client_of(way) as client:
            with pytest.raises(DispatchUnknown):
                await client.dispatch(order("touch", str(tmp_path / "ran")))
            assert await client.lookup("op-1", fence=True) is None
            with pytest.raises(DispatchRefused):
                await client.dispatch(order("touch", str(tmp_path / "ran")))

    assert not (tmp_path / "ran").exists()


async def test_a_defect_of_the_supervisor_confirms_nothing(tmp_path: Path) -> None:
    async def answer(connection: SocketStream) -> None:
        async with connection:
            async for data in connection:
                request = json.loads(data)
                reply: dict[str, object] = {"id": request["id"], "result": {"processes": []}}
                if request["method"] == "dispatch":
                    error = {"kind": "internal", "message": "see its log"}
                    reply = {"id": request["id"], "error": error}
                await connection.send(json.dumps(reply).encode() + b"\n")

    listener = await anyio.create_unix_listener(tmp_path / "socket")
    async with listener, anyio.create_task_group() as tasks, client_of(tmp_path) as client:
        tasks.start_soon(listener.serve, answer)
        with pytest.raises(DispatchUnknown):
            await client.dispatch(order("true"))
        tasks.cancel_scope.cancel()


@pytest.mark.guarantee("field-43")
async def test_who_waits_learns_that_the_supervisor_was_killed(folder: Path) -> None:
    heard = list[SupervisorProcess]()
    async with client_of(folder) as client:
        started = await client.dispatch(order("sleep", "60"))
        client.on_change(heard.append)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(expect_lost, client, started)
            await anyio.lowlevel.checkpoint()
            os.kill(supervisor_of(folder), signal.SIGKILL)
        found = await client.lookup("op-1", fence=False)

    assert found is not None
    assert found.end is not None
    assert (found.end.termination, found.end.exit_code) == (Termination.LOST, None)
    assert heard


async def test_a_caller_that_gives_up_spoils_nothing(folder: Path) -> None:
    async with client_of(folder) as client:
        await client.dispatch(order("sleep", "60"))
        for _ in range(20):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(partial(client.lookup, "op-1", fence=False))
                    scope.cancel()
        found = await client.lookup("op-1", fence=False)

    assert found is not None
    assert found.process_id == "proc-1"


@asynccontextmanager
async def client_of(folder: Path) -> AsyncIterator[SupervisorClient]:
    """Run a client for the block; fail if it takes too long."""
    client = SupervisorClient(folder, FakeClock())
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            await tasks.start(client.run)
            yield client
            tasks.cancel_scope.cancel()


def order(*argv: str, stdin: Stdin | None = None, tty: Terminal | None = None) -> Order:
    return Order(
        operation_id="op-1",
        process_id="proc-1",
        group="/",
        argv=argv,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        stdin=stdin,
        tty=tty,
        timeout_ms=None,
        orphan_grace_ms=None,
    )


async def end_of(client: SupervisorClient, process: SupervisorProcess) -> SupervisorProcess:
    while process.state is ProcessState.RUNNING:
        process = await client.wait_changed(process.process_id, process.seq)
    return process


async def expect_lost(client: SupervisorClient, process: SupervisorProcess) -> None:
    with pytest.raises(SupervisorLost):
        await end_of(client, process)


def supervisor_of(folder: Path) -> int:
    """Return the pid of the supervisor that listens in a folder."""
    connection = connect(folder)
    assert connection is not None
    with connection:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], "little")


class Cut:
    """A way to a supervisor that is cut once, at the first dispatch, before or after it arrives.

    Within the block its value is the folder of the way.
    """

    def __init__(self, folder: Path, way: Path, *, before_arrival: bool) -> None:
        self._folder, self._way, self._before_arrival = folder, way, before_arrival
        self._was_cut = False
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Path:
        connect_or_start(self._folder).close()
        self._way.mkdir()
        self._listener.bind(str(self._way / "socket"))
        self._listener.listen()
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self._way

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            supervisor = connect(self._folder)
            assert supervisor is not None
            back = threading.Thread(target=self._pass_on, args=(supervisor, client))
            back.start()
            self._pass_on(client, supervisor)
            back.join()
            client.close()
            supervisor.close()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(2**20):
                if b'"method":"dispatch"' in data and not self._was_cut:
                    self._was_cut = True
                    if not self._before_arrival:
                        self._arrive(data)
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            end.shutdown(socket.SHUT_RDWR)

    def _arrive(self, data: bytes) -> None:
        """Bring the request to the supervisor, and keep its reply."""
        supervisor = connect(self._folder)
        assert supervisor is not None
        with supervisor:
            supervisor.sendall(data)
            supervisor.recv(2**20)
