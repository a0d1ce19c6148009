from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.supervisor.segment import Stream
from sandbox.supervisor.spool import SpoolReader, SpoolWriter

STREAMS = st.sampled_from([Stream.STDOUT, Stream.STDERR])
PRINTED = st.lists(st.tuples(STREAMS, st.binary(min_size=1, max_size=400)), max_size=40)


@pytest.mark.guarantee("field-03")
@settings(max_examples=60, deadline=None)
@given(printed=PRINTED, limit=st.integers(1, 700))
def test_what_fits_comes_back_whole_on_every_stream(
    printed: list[tuple[Stream, bytes]], limit: int
) -> None:
    with TemporaryDirectory() as folder:
        write(Path(folder), printed, limit_bytes=2**20)

        for stream in Stream:
            pieces = read_all(Path(folder), stream, limit)
            assert [lost for lost, _ in pieces if lost] == []
            assert b"".join(data for _, data in pieces) == expected(printed, stream)


@pytest.mark.guarantee("field-04")
@settings(max_examples=60, deadline=None)
@given(printed=PRINTED, limit=st.integers(1, 700), bound=st.integers(256, 3000))
def test_what_does_not_fit_is_counted_and_the_rest_is_in_its_place(
    printed: list[tuple[Stream, bytes]], limit: int, bound: int
) -> None:
    with TemporaryDirectory() as folder:
        write(Path(folder), printed, limit_bytes=bound)

        for stream in Stream:
            whole, position = expected(printed, stream), 0
            for lost, data in read_all(Path(folder), stream, limit):
                position += lost
                assert data == whole[position : position + len(data)]
                position += len(data)
            assert position == len(whole)
        assert kept_bytes(Path(folder)) <= bound + bound // 16 + 8


@settings(max_examples=30, deadline=None)
@given(printed=PRINTED, bound=st.integers(256, 3000))
def test_everything_from_retained_from_on_is_there(
    printed: list[tuple[Stream, bytes]], bound: int
) -> None:
    with TemporaryDirectory() as folder:
        write(Path(folder), printed, limit_bytes=bound)

        for stream in Stream:
            reader = SpoolReader(Path(folder))
            begin = reader.read(stream, 0, 0).retained_from
            assert reader.read(stream, begin, 2**20).data == expected(printed, stream)[begin:]


def write(folder: Path, printed: list[tuple[Stream, bytes]], *, limit_bytes: int) -> None:
    writer = SpoolWriter(folder, limit_bytes)
    for stream, data in printed:
        writer.append(stream, data)
    writer.close()


def expected(printed: list[tuple[Stream, bytes]], stream: Stream) -> bytes:
    return b"".join(data for owner, data in printed if stream in (owner, Stream.MERGED))


def read_all(folder: Path, stream: Stream, limit: int) -> list[tuple[int, bytes]]:
    reader, offset, pieces = SpoolReader(folder), 0, list[tuple[int, bytes]]()
    while (chunk := reader.read(stream, offset, limit)).data:
        assert chunk.start == offset + chunk.lost
        pieces.append((chunk.lost, chunk.data))
        offset = chunk.next_offset
    return pieces if offset == chunk.total else [*pieces, (chunk.total - offset, b"")]


def kept_bytes(folder: Path) -> int:
    """Return the bytes of data and of index that the spool has on disk."""
    return sum(file.stat().st_size for file in folder.iterdir())
