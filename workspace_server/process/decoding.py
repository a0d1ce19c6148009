"""Output bytes as text: no character cut in two, offsets that stay exact."""

from dataclasses import dataclass

_LONGEST_CHARACTER = 4  # bytes, in UTF-8


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """Text of the first `used_bytes` bytes; the rest is the begin of a character."""

    text: str
    used_bytes: int
    lossy: bool  # some bytes were no UTF-8 and became U+FFFD


def decode_prefix(data: bytes, *, final: bool) -> Decoded:
    """Decode `data`, leaving an incomplete last character for the next read unless `final`."""
    used = len(data) if final else len(data) - _incomplete_tail(data)
    text = data[:used].decode("utf-8", "replace")
    lossy = text.encode("utf-8") != data[:used]
    return Decoded(text=text, used_bytes=used, lossy=lossy)


def drop_partial_head(data: bytes) -> int:
    """Return how many bytes at the start of `data` are the end of a character cut before it."""
    count = 0
    while count < min(len(data), _LONGEST_CHARACTER - 1) and data[count] & 0xC0 == 0x80:
        count += 1
    return count


def _incomplete_tail(data: bytes) -> int:
    """Return how many bytes at the end begin a character whose rest is not there yet."""
    for back in range(1, min(len(data), _LONGEST_CHARACTER - 1) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            return back if _length_of(byte) > back else 0
    return 0


def _length_of(lead: int) -> int:
    if lead >= 0xF0:
        return 4
    if lead >= 0xE0:
        return 3
    return 2 if lead >= 0xC0 else 1
