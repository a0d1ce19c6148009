"""Reads of a spool by absolute offsets, in any process, while it is being written."""

import os
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from sandbox.supervisor.segment import Run, SegmentName, Stream, decode_runs, list_segments


@dataclass(frozen=True, kw_only=True)
class SpoolChunk:
    """What one read found. All numbers are byte offsets and counts of the stream read."""

    data: bytes
    start: int  # of the first byte of `data`; beyond the offset asked for if bytes were dropped
    next_offset: int  # where to read on
    lost: int  # between the offset asked for and `start`
    total: int  # ever printed
    retained_from: int  # the lowest offset from which everything up to the end is there


@dataclass(frozen=True, kw_only=True)
class _Span:
    """A segment's place in the stream being read."""

    name: SegmentName
    begin: int
    end: int


class SpoolReader:
    """Reads the spool in `directory`; it need not exist yet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, stream: Stream, offset: int, limit: int) -> SpoolChunk:
        """Return at most `limit` bytes from `offset` on, or from the first byte still there.

        A chunk never reaches over a gap: the next read begins behind it and says what was lost.
        """
        while True:
            try:
                return self._read(stream, offset, limit)
            except FileNotFoundError:
                # The writer dropped a segment since we listed them. It has to print a good part
                # of its bound to do so again.
                continue

    def _read(self, stream: Stream, offset: int, limit: int) -> SpoolChunk:
        spans = self._spans(stream)
        total = spans[-1].end if spans else 0
        start = _first_at_or_after(spans, offset, total)
        data = self._collect(stream, spans, start, limit)
        return SpoolChunk(
            data=data,
            start=start,
            next_offset=start + len(data),
            lost=start - offset,
            total=total,
            retained_from=_retained_from(spans),
        )

    def _spans(self, stream: Stream) -> list[_Span]:
        names = list_segments(self._directory)
        return [
            _Span(
                name=name,
                begin=name.start(stream),
                end=name.start(stream) + self._length(stream, name, following),
            )
            for name, following in zip_longest(names, names[1:])
        ]

    def _length(self, stream: Stream, name: SegmentName, following: SegmentName | None) -> int:
        size = name.data(self._directory).stat().st_size
        if stream is Stream.MERGED:
            return size
        if following is not None and following.merged == name.merged + size:
            return following.start(stream) - name.start(stream)
        runs = self._runs(name, size)
        return sum(end - begin for owner, begin, end in runs if owner is stream)

    def _runs(self, name: SegmentName, size: int) -> list[Run]:
        return list(decode_runs(name.index(self._directory).read_bytes(), size))

    def _collect(self, stream: Stream, spans: list[_Span], start: int, limit: int) -> bytes:
        pieces: list[bytes] = []
        position, left = start, limit
        for span in spans:
            if left <= 0 or span.begin > position:
                break
            if span.end > position:
                piece = self._read_span(stream, span, position, min(left, span.end - position))
                pieces.append(piece)
                position, left = position + len(piece), left - len(piece)
        return b"".join(pieces)

    def _read_span(self, stream: Stream, span: _Span, position: int, count: int) -> bytes:
        with span.name.data(self._directory).open("rb") as file:
            descriptor = file.fileno()
            if stream is Stream.MERGED:
                return os.pread(descriptor, count, position - span.begin)
            runs = self._runs(span.name, os.fstat(descriptor).st_size)
            own = [(begin, end) for owner, begin, end in runs if owner is stream]
            return _gather(descriptor, own, position - span.begin, count)


def _gather(descriptor: int, runs: list[tuple[int, int]], skip: int, count: int) -> bytes:
    """Return `count` bytes of the runs put end to end, without the first `skip`."""
    pieces: list[bytes] = []
    for begin, end in runs:
        length = end - begin
        if skip < length and count > 0:
            piece = os.pread(descriptor, min(length - skip, count), begin + skip)
            pieces.append(piece)
            count -= len(piece)
        skip = max(skip - length, 0)
    return b"".join(pieces)


def _first_at_or_after(spans: list[_Span], offset: int, total: int) -> int:
    for span in spans:
        if offset < span.end:
            return max(offset, span.begin)
    return max(offset, total)


def _retained_from(spans: list[_Span]) -> int:
    begin = spans[-1].begin if spans else 0
    for span in reversed(spans):
        if span.end < begin:
            break
        begin = span.begin
    return begin
