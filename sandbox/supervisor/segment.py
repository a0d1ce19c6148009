"""One piece of a spool on disk: the bytes, and which stream each run of them came from.

A segment is two files. `NAME.data` holds the bytes of both streams in the order they were read.
`NAME.index` holds one eight-byte entry for each switch of the stream: the offset within the
segment, shifted left by one, with the stream in the lowest bit. NAME says where the segment begins
in the merged output and in stdout; stderr has the rest.
"""

import re
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias


class Stream(StrEnum):
    """Which bytes of the output are meant."""

    MERGED = "merged"  # both streams in the order they were read
    STDOUT = "stdout"
    STDERR = "stderr"


INDEX_ENTRY_BYTES = 8
_NAME = re.compile(r"(\d{20})-(\d{20})\.data")

Run: TypeAlias = tuple[Stream, int, int]  # from, to: offsets within the segment


@dataclass(frozen=True, kw_only=True, order=True)
class SegmentName:
    """Where a segment begins."""

    merged: int
    stdout: int

    def start(self, stream: Stream) -> int:
        """Return the offset in `stream` at which this segment begins."""
        match stream:
            case Stream.MERGED:
                return self.merged
            case Stream.STDOUT:
                return self.stdout
            case Stream.STDERR:
                return self.merged - self.stdout

    def data(self, directory: Path) -> Path:
        """Return the path of the bytes."""
        return directory / f"{self}.data"

    def index(self, directory: Path) -> Path:
        """Return the path of the stream switches."""
        return directory / f"{self}.index"

    def __str__(self) -> str:
        return f"{self.merged:020}-{self.stdout:020}"


def list_segments(directory: Path) -> list[SegmentName]:
    """Return the segments that exist, oldest first; none if there is no such directory."""
    try:
        names = [_NAME.fullmatch(path.name) for path in directory.iterdir()]
    except FileNotFoundError:
        return []
    found = (SegmentName(merged=int(name[1]), stdout=int(name[2])) for name in names if name)
    return sorted(found)


def encode_switch(offset: int, stream: Stream) -> bytes:
    """Return the index entry that says `stream` goes on from `offset`."""
    return ((offset << 1) | (stream is Stream.STDERR)).to_bytes(INDEX_ENTRY_BYTES, "little")


def decode_runs(index: bytes, size: int) -> Iterator[Run]:
    """Yield the runs of a segment of which `size` bytes of data are there."""
    entries = array("Q")
    entries.frombytes(index[: len(index) - len(index) % INDEX_ENTRY_BYTES])
    if sys.byteorder == "big":
        entries.byteswap()
    for number, entry in enumerate(entries):
        begin = entry >> 1
        end = entries[number + 1] >> 1 if number + 1 < len(entries) else size
        if begin < size:  # an entry is written before its first byte
            yield (Stream.STDERR if entry & 1 else Stream.STDOUT), begin, min(end, size)
