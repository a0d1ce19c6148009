import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox import SupervisorUnavailable, connect, connect_or_start
from tests.unit.sandbox.session import Session, wait_until, wait_until_gone


def test_nobody_answers_where_none_was_started(tmp_path: Path) -> None:
    assert connect(tmp_path) is None
    assert connect(tmp_path / "none") is None
    assert list(tmp_path.iterdir()) == []


def test_many_that_start_one_get_the_same(tmp_path: Path) -> None:
    folder, connections = tmp_path / "supervisor", list[socket.socket]()
    with Session(folder) as session:
        session.client.ask("stop")
        wait_until_gone(session.pid)
        threads = [
            threading.Thread(target=lambda: connections.append(connect_or_start(folder)))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len({supervisor_of(connection) for connection in connections}) == 1
        for connection in connections:
            connection.close()


def test_a_second_supervisor_of_a_folder_leaves_quietly(supervised: Session) -> None:
    command = [sys.executable, "-I", "-m", "sandbox.supervisor", str(supervised.folder)]
    second = subprocess.run(command, capture_output=True, timeout=10, check=False)

    assert (second.returncode, second.stdout, second.stderr) == (0, b"", b"")
    assert supervised.run("true")["exit_code"] == 0


def test_a_folder_with_a_path_longer_than_a_sockets_address_works(tmp_path: Path) -> None:
    with Session(tmp_path / ("long" * 40) / "supervisor") as session:
        assert session.run("true")["exit_code"] == 0


def test_the_socket_is_for_its_owner_alone(supervised: Session) -> None:
    assert (supervised.folder / "socket").stat().st_mode & 0o777 == 0o600
    assert supervised.folder.stat().st_mode & 0o777 == 0o700


def test_a_supervisor_that_nobody_needs_leaves(tmp_path: Path) -> None:
    with Session(tmp_path / "supervisor", idle_exit_seconds=0.1) as session:
        session.client.close()

        wait_until_gone(session.pid)
        assert not (session.folder / "socket").exists()


def test_a_supervisor_stays_while_a_command_runs(tmp_path: Path) -> None:
    with Session(tmp_path / "supervisor", idle_exit_seconds=0.1) as session:
        first = session.pid
        session.start("sleep", "0.5")
        session.client.close()
        wait_until_gone(first)
        session.come_back()

        view = session.lookup("op-1")
        assert view is not None
        assert (view["termination"], view["exit_code"]) == ("exited", 0)


def test_a_new_one_is_started_while_the_old_one_is_leaving(supervised: Session) -> None:
    for _ in range(10):
        supervised.client.ask("stop")
        supervised.client.close()
        supervised.come_back()

    assert supervised.run("true")["exit_code"] == 0


def test_the_supervisor_has_nothing_of_its_starter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")
    with Session(tmp_path / "supervisor") as session:
        process = Path(f"/proc/{session.pid}")
        assert b"SECRET" not in (process / "environ").read_bytes()
        assert (process / "cwd").readlink() == Path("/")
        assert (process / "fd/0").readlink() == Path("/dev/null")
        assert os.getsid(session.pid) == session.pid


def test_a_supervisor_that_cannot_start_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "supervisor").write_text("not a folder")

    with pytest.raises(SupervisorUnavailable):
        connect_or_start(tmp_path / "supervisor")


def test_a_dead_supervisor_leaves_no_zombie_with_its_starter(supervised: Session) -> None:
    supervised.kill_supervisor()

    wait_until(lambda: not Path(f"/proc/{supervised.pid}").exists())


def supervisor_of(connection: socket.socket) -> int:
    """Return the pid of who listens at the other end."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[:4], sys.byteorder)
