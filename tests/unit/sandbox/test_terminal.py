import time
from pathlib import Path

import pytest

from sandbox import SpoolReader, Stream
from tests.unit.sandbox.session import Session

SIZE = {"rows": 33, "cols": 101}


@pytest.mark.guarantee("field-12")
def test_short_commands_on_a_terminal_lose_nothing(supervised: Session) -> None:
    for number in range(50):
        view = supervised.sh(f"echo line {number}; echo end", tty=SIZE)

        assert supervised.output(view["process_id"]) == b"line %d\r\nend\r\n" % number
        assert view["eof"] == {"stdout": True, "stderr": True}


@pytest.mark.guarantee("field-12")
def test_the_end_of_a_terminal_is_no_error(supervised: Session) -> None:
    view = supervised.sh("head -c 300000 /dev/zero | tr '\\0' x; exit 3", tty=SIZE)

    assert (view["termination"], view["exit_code"]) == ("exited", 3)
    assert view["output"]["stdout"] == 300_000


@pytest.mark.guarantee("field-13")
def test_reading_a_terminal_late_or_twice_gives_the_same_bytes(supervised: Session) -> None:
    process_id = supervised.sh("seq 2000", tty=SIZE)["process_id"]
    reader = SpoolReader(supervised.folder / "processes" / process_id / "output")

    text = b"".join(b"%d\r\n" % number for number in range(1, 2001))
    assert reader.read(Stream.STDOUT, 0, 100_000).data == text
    assert reader.read(Stream.STDOUT, 0, 100_000).data == text


def test_a_program_sees_the_size_it_was_given_and_each_new_one(supervised: Session) -> None:
    script = "trap 'stty size; exit' WINCH; stty size; while :; do sleep 0.05; done"
    process_id = supervised.start("sh", "-c", script, tty=SIZE)
    supervised.printed(process_id, b"33 101\r\n")

    reply = supervised.client.ask("resize", process_id=process_id, rows=50, cols=160)
    assert "error" not in reply
    supervised.printed(process_id, b"50 160\r\n")


def test_a_terminal_is_the_controlling_one(supervised: Session) -> None:
    view = supervised.sh("echo hello >/dev/tty", tty=SIZE)

    assert supervised.output(view["process_id"]) == b"hello\r\n"


def test_what_is_typed_is_echoed_and_read(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", "read name; echo hi $name", tty=SIZE)
    supervised.write(process_id, b"Ada\n")

    assert supervised.exited(process_id)["exit_code"] == 0
    assert supervised.output(process_id) == b"Ada\r\nhi Ada\r\n"


def test_the_end_of_input_on_a_terminal_is_a_character(supervised: Session) -> None:
    process_id = supervised.start("cat", tty=SIZE)
    view = supervised.write(process_id, b"x\n", eof=True)["result"]["process"]

    assert view["stdin"] == "open"
    assert supervised.exited(process_id)["exit_code"] == 0


def test_control_c_interrupts_what_runs_on_a_terminal(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", "trap 'exit 9' INT; echo up; read x", tty=SIZE)
    supervised.printed(process_id, b"up")
    supervised.write(process_id, b"\x03")

    assert supervised.exited(process_id)["exit_code"] == 9


def test_a_program_on_a_terminal_dies_of_a_closed_pipe(supervised: Session) -> None:
    view = supervised.sh("(yes; echo $? >&2) | head -n 1", tty=SIZE)

    assert supervised.output(view["process_id"]) == b"y\r\n141\r\n"


@pytest.mark.parametrize(
    ("argv", "cwd"),
    [(["nowhere"], "/"), (["/etc/passwd"], "/"), (["true"], "/nowhere"), (["/"], "/")],
)
def test_what_cannot_start_on_a_terminal_is_confirmed(
    supervised: Session, argv: list[str], cwd: str
) -> None:
    reply = supervised.client.ask("dispatch", **supervised.order(*argv, cwd=cwd, tty=SIZE))

    assert reply["result"]["process"]["state"] == "not_started"


def test_a_file_of_no_format_on_a_terminal_is_confirmed(
    supervised: Session, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fnothing")
    program.chmod(0o755)
    reply = supervised.client.ask("dispatch", **supervised.order(str(program), tty=SIZE))

    assert reply["result"]["process"]["state"] == "not_started"
    assert "format" in reply["result"]["process"]["error"]["message"]


@pytest.mark.guarantee("field-18")
def test_a_background_child_on_a_terminal_does_not_delay_the_exit(supervised: Session) -> None:
    began = time.monotonic()
    view = supervised.sh("trap '' HUP; sleep 60 & echo started", tty=SIZE)

    assert time.monotonic() - began < 1
    assert (view["exit_code"], view["descendants"]) == (0, 1)
    assert supervised.output(view["process_id"]) == b"started\r\n"
