"""The input of a command: queued, written as the command reads, never twice."""

import os

from sandbox.supervisor.loop import WRITE, Loop
from sandbox.supervisor.order import Stdin

MAX_QUEUED_BYTES = 1024 * 1024


class InputRefused(Exception):
    """The input was not taken, or not all; `kind` is the protocol's word for why."""

    def __init__(self, kind: str, message: str, *, accepted: int = 0) -> None:
        super().__init__(message)
        self.kind = kind
        self.accepted = accepted  # bytes, since the start


class Feed:
    """Our end of a command's input."""

    def __init__(self, loop: Loop, descriptor: int, *, end_mark: bytes | None) -> None:
        self._loop = loop
        self._descriptor: int | None = descriptor  # None once it is closed
        self._end_mark = end_mark  # a terminal's character for the end; None: close the pipe
        self._queue = bytearray()
        self._ends_at: int | None = None  # how much was accepted when the end was
        self._is_broken = False  # nobody reads it any more
        self.is_open = True
        self.accepted = 0  # bytes, since the start

    def begin(self, stdin: Stdin) -> None:
        """Queue what the command was started with, whatever its size."""
        self._accept(stdin.data, eof=not stdin.keep_open)

    def write(self, data: bytes, *, eof: bool, offset: int | None) -> None:
        """Queue input.

        `offset` is what the sender believes to be accepted already: what overlaps is skipped.
        Raises InputRefused: stdin_closed, offset_gap, and input_full with what was taken of it.
        """
        if offset is not None and offset > self.accepted:
            raise self._refusal("offset_gap", "there is a gap before it")
        new = data if offset is None else data[self.accepted - offset :]
        is_repeat = offset is not None and not new and (self._ends_at == self.accepted or not eof)
        if is_repeat:
            return
        if not self.is_open:
            raise self._refusal("stdin_closed", "its input is closed")
        room = max(MAX_QUEUED_BYTES - len(self._queue), 0)
        self._accept(new[:room], eof=eof and len(new) <= room)
        if self._is_broken:
            raise self._refusal("stdin_closed", "nobody reads it any more")
        if len(new) > room:
            raise self._refusal("input_full", f"it has not read {len(self._queue)} bytes")

    def close(self) -> None:
        """Take and write nothing more."""
        self.is_open = False
        self._queue.clear()
        if self._descriptor is not None:
            self._loop.forget(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _refusal(self, kind: str, message: str) -> InputRefused:
        return InputRefused(kind, message, accepted=self.accepted)

    def _accept(self, data: bytes, *, eof: bool) -> None:
        self.accepted += len(data)
        self._queue += data
        if eof:
            self._ends_at = self.accepted
            self._queue += (self._end_mark or b"") * (1 if _ends_a_line(data) else 2)
            self.is_open = self._end_mark is not None  # a terminal takes more input after its end
        self._flush()

    def _flush(self) -> None:
        assert self._descriptor is not None
        try:
            while self._queue:
                del self._queue[: os.write(self._descriptor, self._queue)]
        except BlockingIOError:
            self._loop.watch(self._descriptor, WRITE, self._flush)
        except OSError:
            self._is_broken = True
            self.close()
        else:
            self._loop.forget(self._descriptor)
            if not self.is_open:
                self.close()


def _ends_a_line(data: bytes) -> bool:
    """Tell whether a terminal has passed all of it on; else one end mark only does that."""
    return not data or data.endswith((b"\n", b"\r"))
