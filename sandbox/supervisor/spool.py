"""A process's output on disk, bounded: the first quarter and the last part are kept."""

import os
from collections import deque
from contextlib import suppress
from pathlib import Path

from sandbox.supervisor.segment import INDEX_ENTRY_BYTES, SegmentName, Stream, encode_switch
from sandbox.supervisor.spool_reader import SpoolChunk, SpoolReader

__all__ = ["DEFAULT_LIMIT_BYTES", "SpoolChunk", "SpoolReader", "SpoolWriter", "Stream"]

DEFAULT_LIMIT_BYTES = 64 * 2**20
_SEGMENTS = 16  # the bound is kept to the precision of one of them
_INDEX_ENTRIES = 65536  # streams that alternate byte by byte must not make one segment endless


class SpoolWriter:
    """Appends what a process prints. Nothing is created before the first byte.

    Bytes that the disk refuses are counted and become a gap: the process is never held up by its
    own output.
    """

    def __init__(self, directory: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self._directory = directory
        self._limit = limit_bytes
        self._segment_limit = max(limit_bytes // _SEGMENTS, 1)
        self._totals = {Stream.STDOUT: 0, Stream.STDERR: 0}
        self._segment: _OpenSegment | None = None
        self._spent_on_head = 0
        self._middle: deque[tuple[SegmentName, int]] = deque()  # what may be dropped, oldest first
        self._middle_bytes = 0
        self._unplaced = False  # bytes were lost since the last segment

    @property
    def totals(self) -> dict[Stream, int]:
        """The bytes ever printed, by stream, whether kept or not."""
        return {Stream.MERGED: sum(self._totals.values()), **self._totals}

    def append(self, stream: Stream, data: bytes) -> None:
        """Add `data` to the end of `stream`."""
        view = memoryview(data)
        while view:
            try:
                written = self._append_some(stream, view)
            except OSError:
                self._give_up_segment()
                written, self._unplaced = len(view), True
            self._totals[stream] += written
            view = view[written:]

    def close(self) -> None:
        """Close the files; a loss at the very end is marked by an empty segment."""
        if self._unplaced:
            with suppress(OSError):  # the disk is still full: readers see a shorter total
                self._open_segment()
        self._give_up_segment()

    def _append_some(self, stream: Stream, view: memoryview) -> int:
        segment = self._segment
        if segment is None or segment.spent >= self._segment_limit or segment.index_is_full:
            segment = self._open_segment()
        room = max(self._segment_limit - segment.spent, 1)
        return segment.append(stream, view[:room])

    def _open_segment(self) -> "_OpenSegment":
        self._give_up_segment()
        self._directory.mkdir(mode=0o700, exist_ok=True)
        self._segment = _OpenSegment(self._directory, self._next_name())
        self._unplaced = False
        return self._segment

    def _next_name(self) -> SegmentName:
        totals = self.totals
        return SegmentName(merged=totals[Stream.MERGED], stdout=totals[Stream.STDOUT])

    def _give_up_segment(self) -> None:
        segment, self._segment = self._segment, None
        if segment is None:
            return
        segment.close()
        if self._spent_on_head + segment.spent <= self._limit // 4:
            self._spent_on_head += segment.spent
            return
        self._spent_on_head = self._limit  # the head ends where the first segment did not fit
        self._middle.append((segment.name, segment.spent))
        self._middle_bytes += segment.spent
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        # One segment of the bound is left for the one being written.
        while self._middle_bytes > self._limit - self._limit // 4 - self._segment_limit:
            name, spent = self._middle.popleft()
            self._middle_bytes -= spent
            # Data first: a reader takes data without an index for a segment that is going.
            name.data(self._directory).unlink(missing_ok=True)
            name.index(self._directory).unlink(missing_ok=True)


class _OpenSegment:
    """The segment being written."""

    def __init__(self, directory: Path, name: SegmentName) -> None:
        self.name = name
        self._stream: Stream | None = None
        self._size = 0
        self._entries = 0
        self._index = _create(name.index(directory))
        try:
            self._data = _create(name.data(directory))
        except OSError:
            os.close(self._index)
            raise

    @property
    def spent(self) -> int:
        """The bytes on disk, index included."""
        return self._size + self._entries * INDEX_ENTRY_BYTES

    @property
    def index_is_full(self) -> bool:
        return self._entries >= _INDEX_ENTRIES

    def append(self, stream: Stream, data: memoryview) -> int:
        """Write what the disk takes of `data` and return how much that was."""
        if stream is not self._stream:
            self._switch(stream)
        written = os.write(self._data, data)
        self._size += written
        return written

    def close(self) -> None:
        os.close(self._data)
        os.close(self._index)

    def _switch(self, stream: Stream) -> None:
        # Before the bytes: a reader that sees a byte must know whose it is.
        entry = encode_switch(self._size, stream)
        if os.write(self._index, entry) != len(entry):
            raise OSError("index entry cut short")
        self._stream = stream
        self._entries += 1


def _create(path: Path) -> int:
    # An empty segment of this name may be there: the disk was full when it was to be filled.
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
