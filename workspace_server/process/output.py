"""A process's output as text: cursors over its spool, and an excerpt that fits a budget."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from sandbox import SpoolReader, Stream
from workspace_server.process.decoding import decode_prefix, drop_partial_head

THREADS = 8  # apart from file tools: a poll must not wait for a slow read of a file


@dataclass(frozen=True, kw_only=True)
class OutputChunk:
    """Text from a cursor on. Offsets are bytes of the stream that was asked for."""

    text: str
    start: int  # of its first byte
    cursor: int  # where the next read goes on
    lost: int  # bytes between the cursor asked for and the first byte here
    retained_from: int  # from here to the end everything is still there
    total: int
    lossy: bool  # some bytes were no UTF-8


class Outputs:
    """Reads the spools of processes, in threads of its own."""

    def __init__(self, folder_of: Callable[[str], Path]) -> None:
        self._folder_of = folder_of
        self._limiter = anyio.CapacityLimiter(THREADS)

    async def read(
        self, process_id: str, *, stream: Stream, cursor: int, limit: int, final: bool
    ) -> OutputChunk:
        """Return at most `limit` bytes as text.

        Unless `final` (nothing more will come), a character whose rest is not there yet is left
        for the next read.
        """
        return await self._in_thread(
            lambda reader: _chunk(reader, stream, cursor, limit, final=final), process_id
        )

    async def excerpt(
        self, process_id: str, *, cursor: int, budget: int, final: bool
    ) -> OutputChunk:
        """Return all from `cursor` on if it fits; else its first quarter and its last part.

        A line between the two says how much is left out and how to get it. The cursor returned
        is behind all of it.
        """
        return await self._in_thread(
            lambda reader: _excerpt(reader, cursor, budget, final=final), process_id
        )

    async def _in_thread(
        self, work: Callable[[SpoolReader], OutputChunk], process_id: str
    ) -> OutputChunk:
        reader = SpoolReader(self._folder_of(process_id))
        return await anyio.to_thread.run_sync(
            work, reader, limiter=self._limiter, abandon_on_cancel=True
        )


def _chunk(
    reader: SpoolReader, stream: Stream, cursor: int, limit: int, *, final: bool
) -> OutputChunk:
    spooled = reader.read(stream, cursor, limit)
    at_end = spooled.next_offset >= spooled.total
    decoded = decode_prefix(spooled.data, final=final and at_end)
    return OutputChunk(
        text=decoded.text,
        start=spooled.start,
        cursor=spooled.start + decoded.used_bytes,
        lost=spooled.lost,
        retained_from=spooled.retained_from,
        total=spooled.total,
        lossy=decoded.lossy,
    )


def _excerpt(reader: SpoolReader, cursor: int, budget: int, *, final: bool) -> OutputChunk:
    whole = _chunk(reader, Stream.MERGED, cursor, budget, final=final)
    if whole.total - cursor <= budget and not whole.lost:
        return whole
    head = _chunk(reader, Stream.MERGED, cursor, budget // 4, final=False)
    tail_start = max(head.cursor, whole.total - (budget - budget // 4))
    tail = _tail(reader, tail_start, budget, final=final)
    omitted = tail_start - head.cursor
    mark = f"\n[… {omitted} bytes left out; read_process(cursor={head.cursor}) shows them …]\n"
    return OutputChunk(
        text=head.text + (mark if omitted else "") + tail.text,
        start=head.start,
        cursor=tail.cursor,
        lost=head.lost + tail.lost,
        retained_from=whole.retained_from,
        total=tail.total,
        lossy=head.lossy or tail.lossy,
    )


def _tail(reader: SpoolReader, start: int, limit: int, *, final: bool) -> OutputChunk:
    """Read from `start`, which may lie within a character, whose rest is then dropped."""
    head = reader.read(Stream.MERGED, start, 4).data
    return _chunk(reader, Stream.MERGED, start + drop_partial_head(head), limit, final=final)
