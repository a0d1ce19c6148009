"""A process's output on disk: bounded, with absolute offsets, readable while it is written.

A spool is a folder of segments. A segment is a data file, in which the bytes of both streams stand
in the order they were read, and an index, which has an entry wherever the stream switches. The
first quarter of the bound is kept for ever; of the rest whole segments are dropped, oldest first.
"""

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024
SEGMENTS = 16
MAX_INDEX_ENTRIES = 65_536  # of one segment: 2 MiB of index
_ENTRY = struct.Struct("<QQQQ")  # merged, stdout and stderr offset of a run, and its stream
_RETRIES = 8


class Stream(StrEnum):
    """What a cursor counts the bytes of."""

    MERGED = "merged"  # both, in the order they were read
    STDOUT = "stdout"
    STDERR = "stderr"


_NUMBER = {Stream.STDOUT: 1, Stream.STDERR: 2}


@dataclass(frozen=True, kw_only=True)
class SpoolChunk:
    """Bytes of a stream. Offsets are absolute: what was dropped keeps its numbers."""

    data: bytes
    start: int  # of the first byte here; beyond the offset asked for if bytes were dropped
    lost: int  # bytes between the offset asked for and `start`
    total: int  # bytes the stream has carried so far
    retained_from: int  # from here to the end everything is still there

    @property
    def next_offset(self) -> int:
        """Where the next read goes on."""
        return self.start + len(self.data)


class SpoolWriter:
    """Appends output; never blocks and never fails: what the disk refuses is counted as dropped."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment_bytes = max(1, limit_bytes // SEGMENTS)
        self._limit_bytes = limit_bytes
        self._totals = {Stream.MERGED: 0, Stream.STDOUT: 0, Stream.STDERR: 0}
        self._segment: _OpenSegment | None = None

    @property
    def totals(self) -> dict[Stream, int]:
        """Bytes so far, by stream."""
        return dict(self._totals)

    def append(self, stream: Stream, data: bytes) -> None:
        """Append what was read from stdout or stderr."""
        try:
            self._room_for(stream).append(stream, data, self._totals)
        except OSError:
            self.close()  # the next bytes go into a new segment, behind a gap
        self._totals[stream] += len(data)
        self._totals[Stream.MERGED] += len(data)

    def close(self) -> None:
        """Close the files; what was written stays."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _room_for(self, stream: Stream) -> "_OpenSegment":
        if self._segment is not None and self._segment.is_full(self._segment_bytes):
            self.close()
        if self._segment is None:
            self._segment = _OpenSegment(self._folder, self._totals[Stream.MERGED])
            self._drop_middle()
        return self._segment

    def _drop_middle(self) -> None:
        """Drop whole segments behind the first quarter until the rest fits the bound."""
        segments = _segments(self._folder)
        excess = sum(segment.size for segment in segments) - (
            self._limit_bytes - self._segment_bytes
        )
        for segment in segments[:-1]:
            if excess <= 0:
                return
            if segment.start >= self._limit_bytes // 4:
                segment.remove()
                excess -= segment.size


class SpoolReader:
    """Reads a spool, also from another process while it is written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, stream: Stream, offset: int, limit: int) -> SpoolChunk:
        """Return at most `limit` bytes from `offset` on; none if nothing is there (yet).

        A chunk never reaches over a gap: the next read reports that as lost.
        """
        for _ in range(_RETRIES):
            with suppress(FileNotFoundError):  # a segment was dropped under us: look again
                return self._read(stream, offset, limit)
        raise FileNotFoundError(f"the segments of {self._folder} change too fast")

    def _read(self, stream: Stream, offset: int, limit: int) -> SpoolChunk:
        segments = _segments(self._folder)
        position, parts = offset, list[bytes]()
        lost = 0
        for run in _runs_behind(segments, stream, offset):
            begin = max(run.start, position)
            if begin > position:
                if parts:
                    break
                lost = begin - offset
            data = run.read(begin, limit - sum(map(len, parts)))
            if not data:
                break
            parts.append(data)
            position = begin + len(data)
        return SpoolChunk(
            data=b"".join(parts),
            start=offset + lost,
            lost=lost,
            total=segments[-1].ends(stream) if segments else 0,
            retained_from=_retained_from(segments, stream),
        )


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A stretch of one stream within a data file."""

    file: Path
    start: int  # offset in the stream
    length: int
    position: int  # in the file

    @property
    def end(self) -> int:
        return self.start + self.length

    def read(self, begin: int, limit: int) -> bytes:
        size = min(self.end - begin, limit)
        descriptor = os.open(self.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(descriptor, size, self.position + begin - self.start)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, kw_only=True)
class _Segment:
    """A segment as it is on disk now."""

    file: Path
    start: int  # merged offset of its first byte
    size: int  # bytes of data

    @property
    def index(self) -> Path:
        return self.file.with_suffix(".index")

    def remove(self) -> None:
        self.file.unlink()
        self.index.unlink()

    def starts(self, stream: Stream) -> int:
        """Return the offset of the stream at which this segment begins."""
        return self.start if stream is Stream.MERGED else _first_entry(self.index, stream)

    def ends(self, stream: Stream) -> int:
        """Return the offset of the stream behind this segment's last byte."""
        if stream is Stream.MERGED:
            return self.start + self.size
        runs = list(self.runs(stream))
        return runs[-1].end if runs else self.starts(stream)

    def runs(self, stream: Stream) -> Iterator[_Run]:
        """Yield the stretches of the stream, in order."""
        if stream is Stream.MERGED:
            yield _Run(file=self.file, start=self.start, length=self.size, position=0)
            return
        entries = _entries(self.index)
        ends = [entry[0] for entry in entries[1:]] + [self.start + self.size]
        number = _NUMBER[stream]
        for entry, end in zip(entries, ends, strict=True):
            if entry[3] == number and end > entry[0]:
                yield _Run(
                    file=self.file,
                    start=entry[number],
                    length=end - entry[0],
                    position=entry[0] - self.start,
                )


class _OpenSegment:
    """The segment that is appended to. An entry is written before the bytes it tells of."""

    def __init__(self, folder: Path, start: int) -> None:
        name = f"{start:020d}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._index = os.open(folder / f"{name}.index", flags, 0o600)
        self._data = os.open(folder / f"{name}.data", flags, 0o600)
        self._stream: Stream | None = None
        self._size = 0
        self._entries = 0

    def is_full(self, segment_bytes: int) -> bool:
        return self._size >= segment_bytes or self._entries >= MAX_INDEX_ENTRIES

    def append(self, stream: Stream, data: bytes, totals: dict[Stream, int]) -> None:
        if stream is not self._stream:
            _write_all(self._index, _ENTRY.pack(*totals.values(), _NUMBER[stream]))
            self._stream = stream
            self._entries += 1
        _write_all(self._data, data)
        self._size += len(data)

    def close(self) -> None:
        os.close(self._index)
        os.close(self._data)


def _segments(folder: Path) -> Sequence[_Segment]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".data"))
    except FileNotFoundError:
        return ()
    return [
        _Segment(file=folder / name, start=int(name[:-5]), size=(folder / name).stat().st_size)
        for name in names
    ]


def _runs_behind(segments: Sequence[_Segment], stream: Stream, offset: int) -> Iterator[_Run]:
    """Yield the stretches that end behind `offset`; segments before it are not looked into."""
    for number, segment in enumerate(segments):
        following = segments[number + 1 : number + 2]
        if following and following[0].starts(stream) <= offset:
            continue
        for run in segment.runs(stream):
            if run.end > offset:
                yield run


def _retained_from(segments: Sequence[_Segment], stream: Stream) -> int:
    """Return the offset behind the last gap."""
    for before, after in zip(reversed(segments[:-1]), reversed(segments[1:]), strict=True):
        if before.start + before.size != after.start:
            return after.starts(stream)
    return segments[0].starts(stream) if segments else 0


def _entries(index: Path) -> list[tuple[int, int, int, int]]:
    data = index.read_bytes()
    return list(_ENTRY.iter_unpack(data[: len(data) // _ENTRY.size * _ENTRY.size]))


def _first_entry(index: Path, stream: Stream) -> int:
    with index.open("rb") as file:
        data = file.read(_ENTRY.size)
    offset: int = _ENTRY.unpack(data)[_NUMBER[stream]] if len(data) == _ENTRY.size else 0
    return offset


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
