import errno
import os
import threading
from pathlib import Path

import pytest

from sandbox.supervisor.segment import Stream
from sandbox.supervisor.spool import SpoolChunk, SpoolReader, SpoolWriter

OUT, ERR, MERGED = Stream.STDOUT, Stream.STDERR, Stream.MERGED


def test_a_spool_that_nothing_was_printed_to_is_empty(tmp_path: Path) -> None:
    assert SpoolReader(tmp_path / "none").read(MERGED, 0, 100) == SpoolChunk(
        data=b"", start=0, next_offset=0, lost=0, total=0, retained_from=0
    )


def test_streams_are_apart_and_merged_in_the_order_read(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    for stream, data in [(OUT, b"one "), (ERR, b"oops "), (OUT, b"two")]:
        writer.append(stream, data)

    texts = [SpoolReader(tmp_path).read(stream, 0, 100).data for stream in (MERGED, OUT, ERR)]
    assert texts == [b"one oops two", b"one two", b"oops "]


@pytest.mark.guarantee("field-13")
def test_reading_twice_from_one_offset_gives_the_same(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    writer.append(OUT, b"0123456789")
    reader = SpoolReader(tmp_path)

    assert reader.read(OUT, 4, 3) == reader.read(OUT, 4, 3)
    assert reader.read(OUT, 4, 3).data == b"456"


def test_what_lies_beyond_the_end_is_empty_and_not_lost(tmp_path: Path) -> None:
    SpoolWriter(tmp_path).append(OUT, b"abc")

    chunk = SpoolReader(tmp_path).read(OUT, 7, 10)
    assert (chunk.data, chunk.lost, chunk.total) == (b"", 0, 3)


@pytest.mark.guarantee("field-04")
def test_the_first_quarter_and_the_last_part_are_kept(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path, limit_bytes=16_000)
    text = b"".join(b"%09d\n" % number for number in range(10_000))
    for begin in range(0, len(text), 100):
        writer.append(OUT, text[begin : begin + 100])

    reader = SpoolReader(tmp_path)
    head = reader.read(OUT, 0, len(text))
    tail = reader.read(OUT, head.next_offset, len(text))
    assert head.data == text[: len(head.data)]
    assert 2_000 <= len(head.data) <= 4_000
    assert tail.data == text[tail.start :]
    assert tail.lost == tail.start - head.next_offset > 0
    assert tail.retained_from == tail.start
    assert len(head.data) + len(tail.data) <= 16_000


def test_streams_that_alternate_byte_by_byte_stay_within_the_bound(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path, limit_bytes=100_000)
    for _ in range(40_000):
        writer.append(OUT, b"o")
        writer.append(ERR, b"e")

    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 110_000
    assert SpoolReader(tmp_path).read(ERR, 39_990, 100).data == b"e" * 10


def test_a_reader_follows_a_writer_that_drops_segments(tmp_path: Path) -> None:
    text = b"".join(b"%09d\n" % number for number in range(60_000))
    writer = SpoolWriter(tmp_path, limit_bytes=20_000)

    def print_all() -> None:
        for begin in range(0, len(text), 500):
            writer.append(OUT if begin % 1000 else ERR, text[begin : begin + 500])

    thread = threading.Thread(target=print_all)
    thread.start()
    reader, offset = SpoolReader(tmp_path), 0
    while thread.is_alive() or offset < len(text):
        chunk = reader.read(MERGED, offset, 3_000)
        assert chunk.data == text[chunk.start : chunk.next_offset]
        assert chunk.lost == chunk.start - offset
        offset = chunk.next_offset
    thread.join()


def test_the_total_of_a_stream_never_falls(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path, limit_bytes=16_000)
    reader, totals, is_over = SpoolReader(tmp_path), list[int](), threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            totals.append(reader.read(ERR, 0, 0).total)

    thread = threading.Thread(target=watch)
    thread.start()
    for _ in range(3_000):
        writer.append(ERR, b"x" * 100)
    is_over.set()
    thread.join()
    assert totals == sorted(totals)


def test_what_a_full_disk_refuses_is_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SpoolWriter(tmp_path)
    writer.append(OUT, b"before ")
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full_disk)
        writer.append(OUT, b"refused ")
    writer.append(OUT, b"after")

    reader = SpoolReader(tmp_path)
    assert reader.read(OUT, 0, 100).data == b"before "
    chunk = reader.read(OUT, 7, 100)
    assert (chunk.data, chunk.lost, chunk.total) == (b"after", 8, 20)


def test_a_loss_at_the_very_end_counts_in_the_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SpoolWriter(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full_disk)
        writer.append(ERR, b"refused")
    writer.close()

    assert SpoolReader(tmp_path).read(ERR, 0, 100).total == 7
    assert writer.totals[MERGED] == 7


def full_disk(descriptor: int, data: bytes) -> int:
    raise OSError(errno.ENOSPC, "full")
