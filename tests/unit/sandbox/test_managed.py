import os
import signal
import time
from pathlib import Path

import pytest

from sandbox import Stream
from sandbox.supervisor.child import Child, spawn
from sandbox.supervisor.loop import Loop
from sandbox.supervisor.managed import Managed
from sandbox.supervisor.order import Order
from tests.unit.sandbox.session import Session, stdin, wait_until


@pytest.mark.guarantee("field-01")
def test_all_a_fast_failure_printed_is_there_when_its_exit_is_told(supervised: Session) -> None:
    for _ in range(20):
        view = supervised.sh("echo out; echo why >&2; exit 1")

        assert (view["termination"], view["exit_code"]) == ("exited", 1)
        assert supervised.output(view["process_id"], Stream.STDERR) == b"why\n"
        assert supervised.output(view["process_id"], Stream.STDOUT) == b"out\n"


@pytest.mark.guarantee("field-01")
def test_more_than_a_pipe_holds_is_whole_at_the_exit(supervised: Session) -> None:
    view = supervised.sh("head -c 3000000 /dev/zero; exit 4")

    assert view["exit_code"] == 4
    assert view["output"] == {"merged": 3_000_000, "stdout": 3_000_000, "stderr": 0}


@pytest.mark.guarantee("field-30")
def test_exit_code_255_is_just_an_exit_code(supervised: Session) -> None:
    view = supervised.sh("exit 255")

    assert (view["termination"], view["exit_code"], view["signal"]) == ("exited", 255, None)


@pytest.mark.guarantee("field-29")
def test_death_by_a_signal_has_no_exit_code(supervised: Session) -> None:
    view = supervised.sh("kill -KILL $$")

    assert (view["termination"], view["exit_code"], view["signal"]) == ("signaled", None, 9)


@pytest.mark.guarantee("field-29")
def test_a_shell_that_passes_on_a_signal_of_its_child_exits(supervised: Session) -> None:
    view = supervised.sh("sh -c 'kill -TERM $$'; exit $?")

    assert (view["termination"], view["exit_code"], view["signal"]) == ("exited", 143, None)


@pytest.mark.guarantee("field-18")
def test_a_background_child_that_holds_the_pipe_does_not_delay_the_exit(
    supervised: Session,
) -> None:
    began = time.monotonic()
    view = supervised.sh("sleep 60 & echo started; exit 7")

    assert time.monotonic() - began < 1
    assert view["exit_code"] == 7
    assert view["eof"] == {"stdout": False, "stderr": False}
    assert view["descendants"] == 1


@pytest.mark.guarantee("field-19")
def test_the_exit_is_noticed_while_somebody_waits_for_a_pipe_that_stays_open(
    supervised: Session,
) -> None:
    process_id = supervised.start("sh", "-c", "sleep 60 & read line", stdin=stdin(keep_open=True))
    supervised.write(process_id, b"go\n")

    view = supervised.exited(process_id)
    assert (view["exit_code"], view["eof"]["stdout"]) == (0, False)


def test_output_of_a_background_child_is_kept_after_the_exit(supervised: Session) -> None:
    view = supervised.sh("(read line <&3; echo late) 3<&0 & exit 0", stdin=None)
    process_id = view["process_id"]

    supervised.until(process_id, lambda view: view["eof"]["stdout"] and not view["descendants"])
    assert supervised.output(process_id) == b"late\n"


def test_the_end_of_descendants_is_told(supervised: Session) -> None:
    view = supervised.sh("sleep 0.3 >/dev/null 2>&1 & exit 0")
    assert view["descendants"] == 1

    supervised.until(view["process_id"], lambda view: view["descendants"] == 0)


@pytest.mark.guarantee("field-33")
def test_stdin_is_the_null_device_unless_asked_for(supervised: Session) -> None:
    view = supervised.sh("readlink /proc/self/fd/0; cat")

    assert supervised.output(view["process_id"]) == b"/dev/null\n"


@pytest.mark.guarantee("field-17")
def test_a_command_on_pipes_has_no_terminal_to_ask_on(supervised: Session) -> None:
    view = supervised.sh("exec 2>&1; : </dev/tty")

    assert view["exit_code"] != 0
    assert b"/dev/tty" in supervised.output(view["process_id"])


def test_a_command_has_a_session_of_its_own(supervised: Session) -> None:
    view = supervised.sh("echo $$; cut -d' ' -f6 /proc/$$/stat")
    pid, session = supervised.output(view["process_id"]).split()

    assert pid == session
    assert os.getsid(supervised.pid) != int(session)


def test_no_descriptor_of_the_supervisor_is_inherited(supervised: Session) -> None:
    supervised.start("sleep", "60")
    view = supervised.run("ls", "/proc/self/fd")

    assert supervised.output(view["process_id"]).split() == [b"0", b"1", b"2", b"3"]


def test_the_environment_is_the_one_given_and_a_mark(supervised: Session) -> None:
    view = supervised.run("/usr/bin/env", env={"GIVEN": "yes"})

    mark = f"WORKSPACE_SERVER_PROCESS_ID={view['process_id']}"
    assert set(supervised.output(view["process_id"]).decode().split()) == {"GIVEN=yes", mark}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM])
def test_a_command_starts_with_signals_at_their_defaults(
    supervised: Session, number: signal.Signals
) -> None:
    view = supervised.sh(f"kill -{number:d} $$; exit 0")

    assert (view["termination"], view["signal"]) == ("signaled", number)


@pytest.mark.guarantee("field-31")
def test_a_crash_at_once_is_told_at_once(supervised: Session) -> None:
    began = time.monotonic()
    view = supervised.sh("kill -SEGV $$")

    assert view["signal"] == signal.SIGSEGV
    assert time.monotonic() - began < 1


def test_a_command_that_cannot_be_followed_is_lost_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = list[int]()

    def fail_after(order: Order) -> Child:
        child = spawn(order)
        started.append(child.identity.pid)
        raise RuntimeError("no way to follow it")

    monkeypatch.setattr("sandbox.supervisor.managed.spawn", fail_after)
    order = Order(
        operation_id="op-1",
        process_id="proc-not-followed",
        group="",
        argv=("sleep", "60"),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        stdin=None,
        tty=None,
        timeout_ms=None,
        orphan_grace_ms=None,
    )
    managed = Managed(
        Loop(),
        order,
        tmp_path,
        changed=lambda *_: None,
        has_orphans=lambda: False,
        strays=set,
    )
    managed.intend()
    with pytest.raises(RuntimeError):
        managed.start()

    assert managed.end is not None
    assert managed.end.termination == "lost"
    assert managed.is_settled
    assert os.waitpid(started[0], 0)[1] == signal.SIGKILL


def test_memory_stays_flat_whatever_is_printed(supervised: Session) -> None:
    supervised.sh("head -c 1000000 /dev/zero")
    before = resident_kib(supervised.pid)
    view = supervised.sh("head -c 200000000 /dev/zero", output_limit_bytes=1_000_000)

    assert view["output"]["stdout"] == 200_000_000
    assert resident_kib(supervised.pid) - before < 4096


def test_two_hundred_commands_leave_no_descriptor_and_no_zombie(supervised: Session) -> None:
    supervised.run("true")
    before = descriptors(supervised.pid)
    for number in range(200):
        tty = {"rows": 24, "cols": 80} if number % 8 == 0 else None
        supervised.sh("true & true", tty=tty)

    wait_until(lambda: descriptors(supervised.pid) == before)
    wait_until(lambda: children(supervised.pid) == [])


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
