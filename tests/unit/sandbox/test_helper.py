import os
import signal
import sys
import time
from pathlib import Path

import pytest

from sandbox.helper import HelperOutputLimit, HelperResult, HelperTimeout, run_helper


def run(
    script: str, *arguments: str, timeout_seconds: float = 10, output_limit_bytes: int = 100_000
) -> HelperResult:
    return run_helper(
        ["/bin/sh", "-c", script, "sh", *arguments],
        cwd="/",
        environment={"PATH": "/usr/bin:/bin", "GIVEN": "yes"},
        timeout_seconds=timeout_seconds,
        output_limit_bytes=output_limit_bytes,
    )


def wait_until_ended(pid: int) -> None:
    """Return when no process of that number runs any more; fail after five seconds."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
    pytest.fail(f"process {pid} lives on")


def test_exit_code_and_both_streams_come_back() -> None:
    assert run("echo out; echo err >&2; exit 3") == HelperResult(
        exit_code=3, stdout=b"out\n", stderr=b"err\n"
    )


def test_a_signal_is_a_negative_exit_code() -> None:
    assert run("kill -KILL $$").exit_code == -signal.SIGKILL


def test_stdin_is_empty_and_the_environment_the_one_given() -> None:
    assert run("cat; echo $GIVEN $HOME$USER").stdout == b"yes\n"


def test_no_other_descriptor_is_inherited() -> None:
    extra = os.open("/", os.O_RDONLY)
    os.set_inheritable(extra, True)

    assert run(f"test -e /proc/self/fd/{extra}").exit_code == 1
    os.close(extra)


def test_much_output_on_both_streams_does_not_stall() -> None:
    script = "head -c 1000000 /dev/zero & head -c 1000000 /dev/zero >&2; wait"
    result = run(script, output_limit_bytes=3_000_000)

    assert (len(result.stdout), len(result.stderr)) == (1_000_000, 1_000_000)


def test_too_much_output_ends_the_helper() -> None:
    with pytest.raises(HelperOutputLimit):
        run("cat /dev/zero")


def test_output_just_within_the_limit_is_kept() -> None:
    assert len(run("head -c 100000 /dev/zero").stdout) == 100_000


def test_a_timeout_ends_the_helper_and_its_children(tmp_path: Path) -> None:
    with pytest.raises(HelperTimeout):
        run('sleep 60 & echo $! >"$1"; wait', str(tmp_path / "pid"), timeout_seconds=0.5)

    wait_until_ended(int((tmp_path / "pid").read_text()))


def test_a_silent_program_times_out_too() -> None:
    with pytest.raises(HelperTimeout):
        run("exec >/dev/null 2>&1; sleep 60", timeout_seconds=0.2)


def test_a_child_left_behind_neither_delays_nor_survives() -> None:
    started = time.monotonic()
    result = run("sleep 60 & echo $!")

    assert time.monotonic() - started < 5
    wait_until_ended(int(result.stdout))


def test_a_program_that_does_not_exist_is_an_oserror() -> None:
    with pytest.raises(FileNotFoundError):
        run_helper(
            ["/nonexistent/program"],
            cwd="/",
            environment={},
            timeout_seconds=1,
            output_limit_bytes=1,
        )


def test_no_descriptor_is_left_open() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    run("true")
    with pytest.raises(HelperTimeout):
        run("sleep 60", timeout_seconds=0.1)

    assert sorted(os.listdir("/proc/self/fd")) == before


def test_the_helper_has_a_session_of_its_own() -> None:
    result = run(f"exec {sys.executable} -c 'import os; print(os.getsid(0) == os.getpid())'")

    assert result.stdout == b"True\n"
