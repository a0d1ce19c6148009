"""What a file is as text: version, encoding, line ends and line count, found block by block."""

import codecs
import hashlib
from enum import StrEnum

BINARY_PROBE_BYTES = 8192  # a NUL in so many first bytes makes a file binary


class Encoding(StrEnum):
    """How the characters of a file are written."""

    UTF_8 = "utf-8"
    UTF_8_BOM = "utf-8 with bom"
    UTF_16_LE = "utf-16-le"  # known by its byte-order mark, as is the next
    UTF_16_BE = "utf-16-be"
    UNKNOWN = "unknown-8bit"  # text, but not all of it is UTF-8
    BINARY = "binary"

    @property
    def codec(self) -> str:
        """The codec to decode with, as far as that is possible."""
        return self.value if self.unit_bytes == 2 else "utf-8"

    @property
    def unit_bytes(self) -> int:
        """The bytes of one code unit."""
        return 2 if self in (Encoding.UTF_16_LE, Encoding.UTF_16_BE) else 1

    def encode_ascii(self, text: str) -> bytes:
        """Return `text`, all ASCII, as this encoding writes it."""
        return text.encode(self.codec)


class Newline(StrEnum):
    """How the lines of a file end."""

    LF = "lf"
    CRLF = "crlf"
    MIXED = "mixed"
    NONE = "none"  # no line of it ends


def encoding_of(first_block: bytes) -> Encoding:
    """Return what the beginning of a file says: a byte-order mark, a NUL, or else UTF-8."""
    if first_block.startswith(codecs.BOM_UTF16_LE):
        return Encoding.UTF_16_LE
    if first_block.startswith(codecs.BOM_UTF16_BE):
        return Encoding.UTF_16_BE
    if b"\0" in first_block[:BINARY_PROBE_BYTES]:
        return Encoding.BINARY
    return Encoding.UTF_8_BOM if first_block.startswith(codecs.BOM_UTF8) else Encoding.UTF_8


def count_aligned(block: bytes, wanted: bytes, unit_bytes: int) -> int:
    """Count `wanted` in `block` where it begins at a code unit."""
    if unit_bytes == 1:
        return block.count(wanted)
    count, position = 0, _find_aligned(block, wanted, 0, unit_bytes)
    while position >= 0:
        count += 1
        position = _find_aligned(block, wanted, position + unit_bytes, unit_bytes)
    return count


def after_nth(block: bytes, wanted: bytes, count: int, unit_bytes: int) -> int | None:
    """Return the position behind the `count`-th `wanted`; 0 for none, None if there are fewer."""
    position = 0
    for _ in range(count):
        found = _find_aligned(block, wanted, position, unit_bytes)
        if found < 0:
            return None
        position = found + len(wanted)
    return position


def last_aligned_end(block: bytes, wanted: bytes, unit_bytes: int) -> int:
    """Return the position behind the last `wanted`, or 0 if there is none."""
    position = block.rfind(wanted)
    while position >= 0 and position % unit_bytes:
        position = block.rfind(wanted, 0, position + len(wanted) - 1)
    return position + len(wanted) if position >= 0 else 0


def character_start(block: bytes, position: int, encoding: Encoding) -> int:
    """Return `position`, or where the character begins that it would cut in two."""
    if position >= len(block):
        return position
    if encoding.unit_bytes == 2:
        return _utf_16_start(block, position, encoding)
    return _utf_8_start(block, position)


class TextScan:
    """Learns about a file from all its blocks, in order; whole code units in each but the last."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self.newlines = 0
        self.encoding = Encoding.UTF_8
        self._digest = hashlib.sha256()
        self._carriage_newlines = 0
        self._last_unit = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def feed(self, block: bytes) -> None:
        """Take the next block."""
        if self.size_bytes == 0:
            self.encoding = encoding_of(block)
        self._digest.update(block)
        self.size_bytes += len(block)
        if self.encoding is not Encoding.BINARY:
            self._count_lines(block)
            self._check_characters(block)

    @property
    def version(self) -> str:
        """The version of all that was fed, with all its digits."""
        return f"sha256:{self._digest.hexdigest()}"

    @property
    def newline(self) -> Newline:
        """How the lines end."""
        if self.newlines == 0:
            return Newline.NONE
        if self._carriage_newlines == 0:
            return Newline.LF
        return Newline.CRLF if self._carriage_newlines == self.newlines else Newline.MIXED

    @property
    def total_lines(self) -> int:
        """The number of lines; the last one need not have an end."""
        ends_open = self._last_unit not in (b"", self.encoding.encode_ascii("\n"))
        return self.newlines + ends_open

    def finish(self) -> None:
        """Note that the file ends here, perhaps within a character."""
        self._check_characters(b"", final=True)

    def _count_lines(self, block: bytes) -> None:
        unit_bytes = self.encoding.unit_bytes
        self.newlines += count_aligned(block, self.encoding.encode_ascii("\n"), unit_bytes)
        carriage_newline = self.encoding.encode_ascii("\r\n")
        # The last unit comes along, for a pair that the border between two blocks parts.
        joined = self._last_unit + block
        self._carriage_newlines += count_aligned(joined, carriage_newline, unit_bytes)
        self._last_unit = block[-unit_bytes:]

    def _check_characters(self, block: bytes, *, final: bool = False) -> None:
        if self.encoding not in (Encoding.UTF_8, Encoding.UTF_8_BOM):
            return
        try:
            self._decoder.decode(block, final)
        except UnicodeDecodeError:
            self.encoding = Encoding.UNKNOWN


def _find_aligned(block: bytes, wanted: bytes, start: int, unit_bytes: int) -> int:
    position = block.find(wanted, start)
    while position >= 0 and position % unit_bytes:
        position = block.find(wanted, position + 1)
    return position


def _utf_8_start(block: bytes, position: int) -> int:
    if not _continues(block[position]):
        return position
    for start in range(position - 1, max(position - 4, -1), -1):
        if not _continues(block[start]):
            return start if start + _utf_8_length(block[start]) > position else position
    return position


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80


def _utf_8_length(first: int) -> int:
    """Return how many bytes the character has that begins with `first`; 1 if none does."""
    if first >= 0xF0:
        return 4
    return 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1


def _utf_16_start(block: bytes, position: int, encoding: Encoding) -> int:
    start = position - position % 2
    before = block[max(start - 2, 0) : start]
    high = before[1:] if encoding is Encoding.UTF_16_LE else before[:1]
    is_first_half = bool(high) and 0xD8 <= high[0] <= 0xDB
    return start - 2 if is_first_half else start
