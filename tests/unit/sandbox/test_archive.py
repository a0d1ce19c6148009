import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from sandbox.supervisor.family import Identity, boot_id, identity_of
from tests.unit.sandbox.session import Session, is_alive, pid_in, wait_until_gone


@pytest.mark.guarantee("field-43")
def test_a_command_of_a_killed_supervisor_is_lost_and_what_is_left_of_it_ended(
    supervised: Session, tmp_path: Path
) -> None:
    far = f"setsid sh -c 'echo $$ >{tmp_path}/far; exec sleep 60'"
    script = f"{far} & echo $$ >{tmp_path}/near; wait"
    supervised.start("sh", "-c", script)
    pids = [pid_in(tmp_path / name) for name in ("near", "far")]
    supervised.kill_supervisor()
    supervised.come_back()

    view = supervised.lookup("op-1")
    assert view is not None
    assert (view["state"], view["termination"]) == ("exited", "lost")
    assert (view["exit_code"], view["signal"]) == (None, None)
    assert "2 processes" in view["reason"]
    assert not any(map(is_alive, pids))


def test_a_killed_supervisor_loses_no_output_and_no_exit_code(supervised: Session) -> None:
    process_id = supervised.sh("echo kept; exit 3")["process_id"]
    supervised.kill_supervisor()
    supervised.come_back()

    view = supervised.lookup("op-1")
    assert view is not None
    assert (view["termination"], view["exit_code"]) == ("exited", 3)
    assert view["output"]["stdout"] == 5
    assert supervised.output(process_id) == b"kept\n"


def test_a_torn_record_does_not_keep_a_supervisor_from_starting(supervised: Session) -> None:
    process_id = supervised.start("sleep", "60")
    supervised.kill_supervisor()
    with (supervised.folder / "processes" / process_id / "record").open("ab") as record:
        record.write(b'{"event": "exi')
    for _ in range(2):
        supervised.come_back()
        view = supervised.lookup("op-1")
        assert view is not None
        assert view["termination"] == "lost"
        supervised.kill_supervisor()
    supervised.come_back()


@pytest.mark.guarantee("field-44")
@pytest.mark.guarantee("field-32")
@pytest.mark.parametrize("changed", ["start_time", "boot_id"])
def test_a_recorded_pid_that_is_another_processes_now_gets_no_signal(
    supervised: Session, changed: str
) -> None:
    process_id = supervised.start("sleep", "60")
    supervised.kill_supervisor()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        pretend_to_be(stranger.pid, supervised.folder / "processes" / process_id, changed)
        supervised.come_back()

        view = supervised.lookup("op-1")
        assert view is not None
        assert view["termination"] == "lost"
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.guarantee("field-44")
def test_a_signal_reaches_only_the_process_of_that_start_time() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        identity = identity_of(process.pid)
        assert identity is not None
        assert not Identity(identity.pid, identity.start_time + 1).send(signal.SIGKILL)
        assert process.poll() is None
        assert identity.send(signal.SIGKILL)
    assert not identity.send(signal.SIGKILL)


def test_an_operation_that_was_fenced_stays_so_after_a_crash(supervised: Session) -> None:
    assert supervised.lookup("op-1", fence=True) is None
    supervised.kill_supervisor()
    supervised.come_back()

    reply = supervised.client.ask("dispatch", **supervised.order("true"))
    assert reply["error"]["kind"] == "fenced"


def pretend_to_be(pid: int, folder: Path, changed: str) -> None:
    """Make a record say that its command has this pid, with one fact of its identity wrong."""
    lines = [json.loads(line) for line in (folder / "record").read_text().splitlines()]
    identity = identity_of(pid)
    assert identity is not None
    spawning, running = lines
    leader = Identity(running["pid"], running["start_time"])
    leader.send(signal.SIGKILL)
    running.update(pid=pid, start_time=identity.start_time)
    if changed == "start_time":
        running["start_time"] -= 1
    else:
        assert spawning["boot_id"] == boot_id()
        spawning["boot_id"] = "another"
    (folder / "record").write_text("".join(json.dumps(line) + "\n" for line in lines))
    wait_until_gone(leader.pid)
    assert os.path.exists(f"/proc/{pid}")
