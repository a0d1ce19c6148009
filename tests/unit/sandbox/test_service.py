import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.sandbox.session import (
    Session,
    is_alive,
    pid_in,
    stdin,
    wait_until_gone,
)


def test_a_dispatch_that_is_repeated_starts_nothing(supervised: Session, tmp_path: Path) -> None:
    order = supervised.order("sh", "-c", f"echo ran >>{tmp_path}/count")
    first = supervised.client.ask("dispatch", **order)["result"]
    supervised.exited(order["process_id"])
    second = supervised.client.ask("dispatch", **order)["result"]

    assert (first["known"], second["known"]) == (False, True)
    assert second["process"]["exit_code"] == 0
    assert (tmp_path / "count").read_text() == "ran\n"


def test_a_dispatch_after_its_fence_is_refused(supervised: Session, tmp_path: Path) -> None:
    order = supervised.order("touch", str(tmp_path / "ran"))
    assert supervised.lookup(order["operation_id"], fence=True) is None

    reply = supervised.client.ask("dispatch", **order)
    assert reply["error"]["kind"] == "fenced"
    assert not (tmp_path / "ran").exists()


def test_a_fence_does_not_hide_what_was_started(supervised: Session) -> None:
    process_id = supervised.run("true")["process_id"]
    view = supervised.lookup("op-1", fence=True)

    assert view is not None
    assert view["process_id"] == process_id


def test_the_process_id_of_another_operation_is_refused(supervised: Session) -> None:
    order = supervised.order("sleep", "60")
    supervised.client.ask("dispatch", **order)

    reply = supervised.client.ask("dispatch", **{**order, "operation_id": "op-other"})
    assert reply["error"]["kind"] == "bad_request"


@pytest.mark.parametrize(
    ("argv", "cwd", "number", "words"),
    [
        (["nowhere"], "/", 2, "nowhere: not found"),
        (["/etc/passwd"], "/", 13, "not an executable"),
        (["true"], "/nowhere", 2, "working folder"),
        (["true", "x" * 200_000], "/", 7, "too long"),
        (["true", "a\0b"], "/", None, "null"),
    ],
)
def test_what_cannot_start_is_confirmed_and_says_why(
    supervised: Session, argv: list[str], cwd: str, number: int | None, words: str
) -> None:
    order = supervised.order(*argv, cwd=cwd)
    view = supervised.client.ask("dispatch", **order)["result"]["process"]

    assert (view["state"], view["pid"], view["error"]["errno"]) == ("not_started", None, number)
    assert words in view["error"]["message"]
    assert supervised.lookup(order["operation_id"]) == {
        **view,
        "elapsed_ms": None,
        "idle_ms": None,
        "seq": 0,
    }


SERVER = """
import json, sys
from pathlib import Path
from sandbox import connect_or_start
connection = connect_or_start(Path(sys.argv[1]))
request = {"id": 1, "method": "dispatch", "params": json.loads(sys.argv[2])}
connection.sendall(json.dumps(request).encode() + b"\\n")
connection.recv(65536)
print(flush=True)
sys.stdin.read()
"""


def test_a_killed_client_loses_nothing(supervised: Session, tmp_path: Path) -> None:
    script = f"echo early; echo $$ >{tmp_path}/pid; read x <{tmp_path}/go; echo late; exit 4"
    os.mkfifo(tmp_path / "go")
    order = supervised.order("sh", "-c", script)
    with server(supervised.folder, order) as killed:
        pid_in(tmp_path / "pid")
        killed.kill()
    (tmp_path / "go").write_text("\n")

    assert supervised.exited(order["process_id"])["exit_code"] == 4
    assert supervised.output(order["process_id"]) == b"early\nlate\n"


def test_a_command_without_a_server_is_ended_after_its_grace(
    supervised: Session, tmp_path: Path
) -> None:
    script = f"echo $$ >{tmp_path}/pid; exec sleep 60"
    supervised.start("sh", "-c", script, orphan_grace_ms=100)
    pid = pid_in(tmp_path / "pid")
    supervised.client.close()

    wait_until_gone(pid)
    supervised.come_back()
    view = supervised.lookup("op-1")
    assert view is not None
    assert (view["termination"], view["reason"]) == ("terminated", "no_server")


def test_a_server_that_comes_back_in_time_keeps_its_commands(supervised: Session) -> None:
    kept = supervised.start("sleep", "60", orphan_grace_ms=400)
    supervised.client.close()
    supervised.come_back()
    clock = supervised.run("sleep", "0.6")

    assert clock["exit_code"] == 0
    view = supervised.lookup(kept.replace("proc", "op"))
    assert view is not None
    assert view["state"] == "running"


def test_a_command_without_a_grace_outlives_its_server(supervised: Session, tmp_path: Path) -> None:
    supervised.start("sh", "-c", f"echo $$ >{tmp_path}/pid; sleep 0.4; exit 8")
    pid_in(tmp_path / "pid")
    supervised.client.close()
    supervised.come_back()

    assert supervised.exited("proc-1")["exit_code"] == 8


def test_what_a_service_left_behind_is_ended_with_its_grace(supervised: Session) -> None:
    view = supervised.sh("sleep 60 >/dev/null 2>&1 & echo $!", orphan_grace_ms=100)
    pid = int(supervised.output(view["process_id"]))
    supervised.client.close()

    wait_until_gone(pid)
    supervised.come_back()


def test_commands_are_independent_of_one_another(supervised: Session) -> None:
    service = supervised.start("sh", "-c", "echo $$; exec sleep 60")
    supervised.printed(service, b"\n")
    supervised.sh("kill 0")

    assert is_alive(int(supervised.output(service)))


def test_stop_ends_everything_and_then_the_supervisor(supervised: Session, tmp_path: Path) -> None:
    supervised.start("sh", "-c", f"trap '' TERM; echo $$ >{tmp_path}/pid; sleep 60; sleep 60")
    pid = pid_in(tmp_path / "pid")
    supervised.client.ask("stop")

    wait_until_gone(supervised.pid)
    assert not is_alive(pid)
    assert not (supervised.folder / "socket").exists()


def test_a_stopping_supervisor_starts_nothing_more(supervised: Session, tmp_path: Path) -> None:
    supervised.start("sh", "-c", f"trap '' TERM; echo $$ >{tmp_path}/pid; sleep 60; sleep 60")
    pid_in(tmp_path / "pid")
    supervised.client.ask("stop")

    reply = supervised.client.ask("dispatch", **supervised.order("true"))
    assert reply["error"]["kind"] == "stopping"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_the_supervisor_does_not_heed_a_hangup_or_an_interrupt(
    supervised: Session, number: signal.Signals
) -> None:
    os.kill(supervised.pid, number)

    assert supervised.run("true")["exit_code"] == 0


def test_a_terminated_supervisor_ends_what_it_runs(supervised: Session, tmp_path: Path) -> None:
    supervised.start("sh", "-c", f"echo $$ >{tmp_path}/pid; exec sleep 60")
    pid = pid_in(tmp_path / "pid")
    os.kill(supervised.pid, signal.SIGTERM)

    wait_until_gone(supervised.pid)
    assert not is_alive(pid)
    supervised.come_back()
    view = supervised.lookup("op-1")
    assert view is not None
    assert view["termination"] == "terminated"


def test_a_time_limit_of_months_is_as_good_as_any(supervised: Session) -> None:
    supervised.start("sleep", "60", timeout_ms=10**10)
    supervised.start("sleep", "60", timeout_ms=2**53 - 1)

    assert supervised.run("true")["exit_code"] == 0


def test_the_first_output_after_a_silence_is_told_at_once(supervised: Session) -> None:
    process_id = supervised.start("cat", stdin=stdin(keep_open=True))
    supervised.write(process_id, b"x\n")
    supervised.until(process_id, lambda view: view["output"]["merged"] == 2)
    supervised.write(process_id, b"x\n")
    supervised.until(process_id, lambda view: view["output"]["merged"] == 4)


def test_a_flood_is_told_in_few_events(supervised: Session) -> None:
    supervised.sh("seq 200000")

    assert supervised.client.events[-1]["output"]["merged"] == 1_288_895
    assert len(supervised.client.events) < 40


@pytest.mark.parametrize(
    ("method", "parameters", "kind"),
    [
        ("nothing", {}, "bad_request"),
        ("dispatch", {}, "bad_request"),
        ("lookup", {"operation_id": "../up", "fence": True}, "bad_request"),
        ("write", {"process_id": "none", "data": "", "eof": False, "offset": None}, "not_found"),
        (
            "terminate",
            {"process_id": "none", "signal": 9, "grace_ms": 0, "reason": ""},
            "not_found",
        ),
        ("resize", {"process_id": "none", "rows": 1, "cols": 1}, "not_found"),
    ],
)
def test_a_request_that_cannot_be_done_has_a_kind_and_harms_nothing(
    supervised: Session, method: str, parameters: dict[str, object], kind: str
) -> None:
    assert supervised.client.ask(method, **parameters)["error"]["kind"] == kind
    assert supervised.run("true")["exit_code"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"argv": []},
        {"argv": "true"},
        {"argv": [None]},
        {"operation_id": "a/b"},
        {"process_id": ".."},
        {"env": ["A=1"]},
        {"timeout_ms": -1},
        {"stdin": {"data": "?", "keep_open": False}},
        {"tty": {"rows": 10**9, "cols": 1}},
    ],
)
def test_a_malformed_order_starts_nothing(supervised: Session, wrong: dict[str, object]) -> None:
    reply = supervised.client.ask("dispatch", **supervised.order("true", **wrong))

    assert reply["error"]["kind"] == "bad_request"
    assert supervised.run("true")["exit_code"] == 0


def test_a_size_that_no_terminal_has_is_refused(supervised: Session) -> None:
    process_id = supervised.start("sleep", "60", tty={"rows": 24, "cols": 80})
    reply = supervised.client.ask("resize", process_id=process_id, rows=70_000, cols=1)

    assert reply["error"]["kind"] == "bad_request"
    assert supervised.run("true")["exit_code"] == 0


def test_resizing_what_has_no_terminal_is_refused(supervised: Session) -> None:
    process_id = supervised.start("sleep", "60")
    reply = supervised.client.ask("resize", process_id=process_id, rows=10, cols=10)

    assert reply["error"]["kind"] == "not_tty"


def server(folder: Path, order: object) -> "subprocess.Popen[bytes]":
    """Start a process that dispatches an order, and return when it has the reply."""
    started = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(folder), json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"\n"
    return started
