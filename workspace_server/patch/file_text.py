"""The text of a file as lines that can be compared, and that give back every byte."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import NotText

BYTE_ORDER_MARK = "\ufeff"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, kw_only=True)
class FileText:
    """The lines of a file. Only LF ends a line; bytes that are not UTF-8 are surrogate escapes."""

    raw: list[str]  # with terminators
    texts: list[str]  # without: what is compared
    has_mark: bool  # a byte-order mark precedes the first line and belongs to none

    @property
    def is_ended(self) -> bool:
        """Whether the last line has its line end; true of an empty file."""
        return not self.raw or self.raw[-1].endswith("\n")

    def terminator(self, position: int) -> str:
        """Return how that line ends."""
        return self.raw[position][len(self.texts[position]) :]

    def usual_terminator(self) -> str:
        """Return the line end that most lines have; LF where there is none."""
        ends = Counter("\r\n" if line.endswith("\r\n") else "\n" for line in self.raw[:-1])
        if self.raw and self.is_ended:
            ends[self.terminator(len(self.raw) - 1)] += 1
        return max(ends, key=ends.__getitem__, default="\n")

    def with_mark_in_text(self) -> "FileText":
        """Return the same file with the byte-order mark as a character of its first line."""
        if not self.has_mark:
            return self
        raw, texts = self.raw or [""], self.texts or [""]
        return FileText(
            raw=[BYTE_ORDER_MARK + raw[0], *raw[1:]],
            texts=[BYTE_ORDER_MARK + texts[0], *texts[1:]],
            has_mark=False,
        )


def read_text(path: str, content: bytes) -> FileText:
    """Split `content` into lines; raise NotText for what cannot be patched line by line."""
    if b"\0" in content or content.startswith(_UTF_16_MARKS):
        kind = "UTF-16" if content.startswith(_UTF_16_MARKS) else "binary (it has NUL bytes)"
        raise NotText(
            f"{path} is {kind}, so no lines of it can be patched.", details={"path": path}
        )
    text = decode(content)
    has_mark = text.startswith(BYTE_ORDER_MARK)
    raw = split_lines(text[len(BYTE_ORDER_MARK) :] if has_mark else text)
    return FileText(raw=raw, texts=[without_terminator(line) for line in raw], has_mark=has_mark)


def write_text(lines: list[str], has_mark: bool) -> bytes:
    """Return the bytes of the lines; an empty file gets no byte-order mark."""
    text = "".join(lines)
    needs_mark = has_mark and text and not text.startswith(BYTE_ORDER_MARK)
    return encode(BYTE_ORDER_MARK + text if needs_mark else text)


def decode(content: bytes) -> str:
    """Return the text of `content`; what is not UTF-8 becomes surrogate escapes."""
    return content.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes that `decode` made `text` of."""
    return text.encode("utf-8", "surrogateescape")


def split_lines(text: str) -> list[str]:
    """Split after each LF and nowhere else."""
    lines = text.split("\n")
    last = lines.pop()
    ended = [line + "\n" for line in lines]
    return [*ended, last] if last else ended


def without_terminator(line: str) -> str:
    """Return the line without LF, CRLF, or the CR of a last line that has no LF."""
    return line.removesuffix("\n").removesuffix("\r")


def shared_start(first: Sequence[object], second: Sequence[object]) -> int:
    """Return how many items both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    differing = (at for at, (one, other) in pairs if one != other)
    return next(differing, min(len(first), len(second)))
