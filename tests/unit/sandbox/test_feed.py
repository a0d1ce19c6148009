import pytest

from tests.unit.sandbox.session import Session, stdin

OPEN = stdin(keep_open=True)


def test_input_is_read_to_its_end(supervised: Session) -> None:
    view = supervised.run("cat", stdin=stdin(b"some text"))

    assert supervised.output(view["process_id"]) == b"some text"


def test_input_larger_than_a_pipe_and_than_the_queue_arrives(supervised: Session) -> None:
    view = supervised.run("wc", "-c", stdin=stdin(b"x" * 3_000_000))

    assert supervised.output(view["process_id"]).strip() == b"3000000"


def test_input_kept_open_takes_more_until_its_end(supervised: Session) -> None:
    process_id = supervised.start("cat", stdin=stdin(b"one ", keep_open=True))
    first = supervised.write(process_id, b"two ")["result"]["process"]
    last = supervised.write(process_id, b"three", eof=True)["result"]["process"]

    assert (first["stdin"], first["stdin_accepted"]) == ("open", 8)
    assert (last["stdin"], last["stdin_accepted"]) == ("closed", 13)
    supervised.exited(process_id)
    assert supervised.output(process_id) == b"one two three"


def test_a_repeated_write_is_written_once(supervised: Session) -> None:
    process_id = supervised.start("cat", stdin=OPEN)
    for _ in range(2):
        supervised.write(process_id, b"hello ", offset=0)
    supervised.write(process_id, b"lo world", offset=3)
    supervised.write(process_id, b"", eof=True)

    supervised.exited(process_id)
    assert supervised.output(process_id) == b"hello world"


def test_a_repeat_of_the_write_that_ended_the_input_is_a_success(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", "cat; sleep 60", stdin=OPEN)
    for _ in range(2):
        reply = supervised.write(process_id, b"all", eof=True, offset=0)
        assert reply["result"]["process"]["stdin_accepted"] == 3


def test_a_repeated_end_of_input_on_a_terminal_is_sent_once(supervised: Session) -> None:
    size = {"rows": 24, "cols": 80}
    process_id = supervised.start("sh", "-c", "cat; echo between; cat", tty=size)
    for _ in range(2):
        supervised.write(process_id, b"x\n", eof=True, offset=0)
    supervised.printed(process_id, b"between")

    supervised.write(process_id, b"y\n", eof=True, offset=2)
    supervised.exited(process_id)
    assert supervised.output(process_id).endswith(b"y\r\ny\r\n")


def test_a_gap_before_the_input_is_refused(supervised: Session) -> None:
    process_id = supervised.start("cat", stdin=OPEN)
    error = supervised.write(process_id, b"x", offset=1)["error"]

    assert (error["kind"], error["accepted"]) == ("offset_gap", 0)


def test_input_that_is_not_read_is_taken_up_to_a_bound(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", "read go <&3; cat | wc -c", stdin=OPEN)
    error = supervised.write(process_id, b"x" * 2_000_000)["error"]

    assert error["kind"] == "input_full"
    assert 1_048_576 <= error["accepted"] < 2_000_000


@pytest.mark.guarantee("field-16")
def test_input_for_a_command_without_any_is_refused(supervised: Session) -> None:
    process_id = supervised.start("sleep", "60")

    assert supervised.write(process_id, b"x")["error"]["kind"] == "stdin_closed"


@pytest.mark.guarantee("field-16")
def test_input_for_a_command_that_has_ended_is_refused(supervised: Session) -> None:
    process_id = supervised.run("true", stdin=OPEN)["process_id"]

    assert supervised.write(process_id, b"x")["error"]["kind"] == "not_running"
    assert supervised.client.ask("hello")["result"]["pid"] == supervised.pid


@pytest.mark.guarantee("field-16")
def test_input_that_nobody_reads_any_more_is_refused(supervised: Session) -> None:
    process_id = supervised.start("sh", "-c", "exec <&-; echo closed; sleep 60", stdin=OPEN)
    supervised.printed(process_id, b"closed")

    assert supervised.write(process_id, b"x")["error"]["kind"] == "stdin_closed"
