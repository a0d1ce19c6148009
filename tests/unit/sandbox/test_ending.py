import signal
import time
from pathlib import Path

import pytest

from tests.unit.sandbox.session import Session, is_alive, pid_in, wait_until_gone

DEAF = "trap '' TERM INT HUP;"


def test_a_terminated_command_says_why_and_by_what(supervised: Session) -> None:
    process_id = supervised.start("sleep", "60")
    assert supervised.terminate(process_id)["result"]["process"]["ending"]

    view = supervised.ended(process_id)
    assert (view["termination"], view["reason"]) == ("terminated", "asked")
    assert (view["signal"], view["exit_code"]) == (signal.SIGTERM, None)


def test_the_exit_code_of_a_programs_own_handler_is_told(supervised: Session) -> None:
    script = "trap 'echo bye; exit 5' INT; echo up; while :; do sleep 0.05; done"
    process_id = supervised.start("sh", "-c", script)
    supervised.printed(process_id, b"up")
    supervised.terminate(process_id, signal.SIGINT)

    view = supervised.ended(process_id)
    assert (view["termination"], view["exit_code"]) == ("terminated", 5)
    assert supervised.output(process_id) == b"up\nbye\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_the_supervisor_does_not_heed_ends_a_command(
    supervised: Session, number: signal.Signals
) -> None:
    process_id = supervised.start("sleep", "60")
    supervised.terminate(process_id, number, grace_ms=10_000)

    assert supervised.ended(process_id)["signal"] == number


def test_what_ignores_the_signal_is_killed_after_the_grace(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", f"{DEAF} echo up; while :; do sleep 0.05; done")
    supervised.printed(process_id, b"up")
    began = time.monotonic()
    supervised.terminate(process_id, grace_ms=300)

    view = supervised.ended(process_id)
    assert view["signal"] == signal.SIGKILL
    assert 0.3 <= time.monotonic() - began < 2


def test_a_kill_does_not_wait_for_the_grace_of_an_earlier_signal(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", f"{DEAF} echo up; while :; do sleep 0.05; done")
    supervised.printed(process_id, b"up")
    supervised.terminate(process_id, grace_ms=60_000)
    supervised.terminate(process_id, signal.SIGKILL)

    assert supervised.ended(process_id)["signal"] == signal.SIGKILL


def test_another_signal_is_sent_within_the_grace_of_the_first(supervised: Session) -> None:
    script = "trap '' INT; trap 'exit 6' TERM; echo up; while :; do sleep 0.05; done"
    process_id = supervised.start("sh", "-c", script)
    supervised.printed(process_id, b"up")
    supervised.terminate(process_id, signal.SIGINT, grace_ms=60_000)
    supervised.terminate(process_id, signal.SIGTERM, grace_ms=60_000)

    assert supervised.ended(process_id)["exit_code"] == 6


def test_the_time_limit_ends_the_tree_even_what_ignores_the_signal(
    supervised: Session, tmp_path: Path
) -> None:
    deaf = f"{DEAF} echo \\$\\$ >{tmp_path}/deaf; while :; do sleep 0.05; done"
    process_id = supervised.start("sh", "-c", f'sh -c "{deaf}" & wait', timeout_ms=500)
    pid = pid_in(tmp_path / "deaf")

    view = supervised.ended(process_id)
    assert (view["termination"], view["signal"]) == ("timeout", signal.SIGTERM)
    assert not is_alive(pid)
    assert view["descendants_ended"] >= 1


def test_a_descendant_in_a_session_of_its_own_is_found_and_ended(
    supervised: Session, tmp_path: Path
) -> None:
    script = f"setsid sh -c 'sh -c \"echo \\$\\$ >{tmp_path}/far; exec sleep 60\" &' ; sleep 60"
    process_id = supervised.start("sh", "-c", script)
    pid = pid_in(tmp_path / "far")
    supervised.terminate(process_id)

    view = supervised.ended(process_id)
    assert not is_alive(pid)
    assert (view["descendants"], view["cleanup_failed"]) == (0, False)
    assert view["descendants_ended"] >= 1


def test_a_descendant_without_the_mark_is_found_by_its_parents(
    supervised: Session, tmp_path: Path
) -> None:
    script = f"env -i setsid sh -c 'echo $$ >{tmp_path}/bare; exec sleep 60'"
    process_id = supervised.start("sh", "-c", f"{script} & wait")
    pid = pid_in(tmp_path / "bare")
    supervised.terminate(process_id)

    supervised.ended(process_id)
    assert not is_alive(pid)


def test_what_a_command_left_behind_can_be_ended_after_it(supervised: Session) -> None:
    view = supervised.sh("sleep 60 >/dev/null 2>&1 & echo $!")
    pid = int(supervised.output(view["process_id"]))
    supervised.terminate(view["process_id"])

    last = supervised.until(view["process_id"], lambda view: view["descendants_ended"] == 1)
    wait_until_gone(pid)
    assert (last["termination"], last["exit_code"]) == ("exited", 0)


def test_a_process_that_forks_all_the_time_is_ended(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", f"{DEAF} while :; do sleep 0.01 & wait; done")
    supervised.terminate(process_id, grace_ms=50)

    assert not supervised.ended(process_id)["cleanup_failed"]


def test_ending_one_command_leaves_the_others(supervised: Session) -> None:
    other = supervised.start("sh", "-c", "echo $$; exec sleep 60")
    supervised.printed(other, b"\n")
    supervised.terminate(supervised.start("sleep", "60"), signal.SIGKILL)

    supervised.client.until(lambda view: view["termination"] == "terminated")
    assert is_alive(int(supervised.output(other)))
