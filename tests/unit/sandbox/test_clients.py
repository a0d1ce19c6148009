import json

from tests.unit.sandbox.session import Session


def test_a_line_that_is_no_request_is_answered_and_harms_nothing(supervised: Session) -> None:
    for line in (b"nonsense\n", b"[]\n", b"{}\n", b'{"id":1,"method":[],"params":[]}\n', b"\xff\n"):
        supervised.client.socket.sendall(line)
        assert supervised.client.hear()["error"]["kind"] == "bad_request"

    assert supervised.run("true")["exit_code"] == 0


def test_an_endless_line_closes_that_connection_only(supervised: Session) -> None:
    other = supervised.connect()
    try:
        while True:
            other.socket.sendall(b"x" * 2**20)
    except ConnectionError:
        pass
    other.close()

    assert supervised.run("true")["exit_code"] == 0


def test_a_request_may_come_in_pieces_and_many_at_once(supervised: Session) -> None:
    line = json.dumps({"id": 900, "method": "hello", "params": {}}).encode() + b"\n"
    supervised.client.socket.sendall(line[:10])
    supervised.client.socket.sendall(line[10:] + line + line)

    assert [supervised.client.hear()["id"] for _ in range(3)] == [900, 900, 900]


def test_every_client_hears_of_a_change(supervised: Session) -> None:
    other = supervised.connect()
    process_id = supervised.start("true")

    assert other.until(lambda view: view["state"] == "exited")["process_id"] == process_id
    other.close()


def test_a_client_that_does_not_read_delays_no_other(supervised: Session) -> None:
    slow = supervised.connect()
    group = "x" * 200_000
    for _ in range(30):
        assert supervised.sh("seq 100000", group=group)["output"]["merged"] == 588_895

    assert slow.until(lambda view: view["process_id"] == "proc-30")["group"] == group
    slow.close()
