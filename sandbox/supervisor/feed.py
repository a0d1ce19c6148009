"""The input of a command: queued, written as the command reads, never twice."""

import os

from sandbox.supervisor.loop import WRITE, Loop
from sandbox.supervisor.order import Stdin

MAX_QUEUED_BYTES = 1024 * 1024


class InputRefused(Exception):
    """The input was not taken; `kind` is the protocol's word for why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Feed:
    """Our end of a command's input."""

    def __init__(self, loop: Loop, descriptor: int, *, end_mark: bytes | None) -> None:
        self._loop = loop
        self._descriptor = descriptor
        self._end_mark = end_mark  # a terminal's character for the end; None: close the pipe
        self._queue = bytearray()
        self._ends = False
        self.is_open = True
        self.accepted = 0  # bytes, since the start

    def begin(self, stdin: Stdin) -> None:
        """Queue what the command was started with, whatever its size."""
        self._accept(stdin.data, eof=not stdin.keep_open)

    def write(self, data: bytes, *, eof: bool, offset: int | None) -> None:
        """Queue input.

        `offset` is what the sender believes to be accepted already: what overlaps is skipped.
        Raises InputRefused: stdin_closed, offset_gap, input_full.
        """
        if not self.is_open or self._ends:
            raise InputRefused("stdin_closed", "its input is closed")
        if offset is not None and offset > self.accepted:
            raise InputRefused("offset_gap", f"only {self.accepted} bytes are accepted so far")
        new = data if offset is None else data[self.accepted - offset :]
        if len(self._queue) + len(new) > MAX_QUEUED_BYTES:
            raise InputRefused("input_full", f"{len(self._queue)} bytes are waiting to be read")
        self._accept(new, eof=eof)

    def close(self) -> None:
        """Take and write nothing more."""
        if self.is_open:
            self.is_open = False
            self._loop.forget(self._descriptor)
            os.close(self._descriptor)

    def _accept(self, data: bytes, *, eof: bool) -> None:
        self.accepted += len(data)
        self._queue += data
        if eof and self._end_mark is not None:
            self._queue += self._end_mark
        elif eof:
            self._ends = True
        self._flush()

    def _flush(self) -> None:
        try:
            while self._queue:
                del self._queue[: os.write(self._descriptor, self._queue)]
        except BlockingIOError:
            self._wait_writable()
        except OSError:  # nobody reads it any more
            self._queue.clear()
            self.close()
        else:
            self._done()

    def _wait_writable(self) -> None:
        self._loop.watch(self._descriptor, WRITE, self._flush)

    def _done(self) -> None:
        self._loop.forget(self._descriptor)
        if self._ends:
            self.close()
