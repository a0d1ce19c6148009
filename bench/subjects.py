"""What can be sampled: a server behind pipes, and the bare system without any server."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from bench.client import PipeClient, Reply
from bench.ground import EDIT_PATH, LAST_LINE, OUTPUT_SCRIPT, Ground, edit_of, edited_text
from bench.memory import Memory, memory_of
from bench.profiles import Measure, Operation, Profile, ToolCall

SAMPLE_SECONDS = 40.0  # beyond this it has failed, however the server words it


class WrongResult(Exception):
    """The subject answered, and what it did is not what was asked for."""


class Subject(Protocol):
    """Something that can be sampled."""

    @property
    def label(self) -> str:
        """The name of its column."""
        ...

    def offers(self, measure: Measure) -> bool:
        """Whether it can be sampled for this."""
        ...

    def sample(self, measure: Measure) -> int:
        """Do it once; return nanoseconds. Raise ServerFailed or WrongResult."""
        ...


class ServerSubject:
    """A server: started anew for each start-up, one long session for everything else."""

    def __init__(self, profile: Profile, ground: Ground) -> None:
        self._profile = profile
        self._ground = ground
        self._client: PipeClient | None = None
        self._edits = 0
        self.memory: dict[str, Memory] = {}

    @property
    def label(self) -> str:
        return self._profile.label

    def offers(self, measure: Measure) -> bool:
        return measure in (Measure.START_UP, Measure.PING) or measure in self._profile.operations

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep a server running inside; its memory is read at both ends."""
        self._client = self._start()
        try:
            self._client.introduce()
            self._client.request("tools/list", {})
            self.memory["after start"] = self._memory()
            yield
            self.memory["after the run"] = self._memory()
        finally:
            self._client.close()
            self._clear()

    def sample(self, measure: Measure) -> int:
        match measure:
            case Measure.START_UP:
                return self._start_up()
            case Measure.PING:
                return self._ping()
            case Measure.EDIT:
                return self._edit()
            case Measure.READ | Measure.COMMAND | Measure.OUTPUT:
                return self._operate(self._profile.operations[measure])

    def _start(self) -> PipeClient:
        return PipeClient(self._profile.command(self._ground), log=self._ground.log)

    def _clear(self) -> None:
        if self._profile.clear is not None:
            self._profile.clear(self._ground)

    def _memory(self) -> Memory:
        assert self._client is not None
        # What the server left beside itself is no child of it; it is known by our folder's name.
        return memory_of(self._client.pid, marked=str(self._ground.folder))

    def _start_up(self) -> int:
        started_ns = time.perf_counter_ns()
        client = self._start()
        try:
            client.introduce()
            return client.request("tools/list", {}).arrived_ns - started_ns
        finally:
            client.close()

    def _ping(self) -> int:
        assert self._client is not None
        started_ns = time.perf_counter_ns()
        return self._client.request("ping", {}).arrived_ns - started_ns

    def _edit(self) -> int:
        elapsed_ns = self._operate(self._profile.operations[Measure.EDIT])
        self._edits += 1
        if self._ground.read_text(EDIT_PATH) != edited_text(self._edits):
            raise WrongResult("the edit is not on disk")
        return elapsed_ns

    def _operate(self, operation: Operation) -> int:
        """Call, follow up until it is finished, and check; the check takes no measured time."""
        call = operation.call(edit_of(self._edits + 1))
        started_ns = time.perf_counter_ns()
        reply = self._call(call)
        deadline = time.monotonic() + SAMPLE_SECONDS
        while operation.follow_up is not None and not operation.finished(reply):
            if time.monotonic() > deadline:
                raise WrongResult(f"{call.tool}: not finished in {SAMPLE_SECONDS:.0f} s")
            reply = self._call(operation.follow_up(reply))
        if reply.result.get("isError") or not operation.succeeded(reply):
            raise WrongResult(f"{call.tool}: {reply.text[:400]}")
        return reply.arrived_ns - started_ns

    def _call(self, call: ToolCall) -> Reply:
        assert self._client is not None
        return self._client.request("tools/call", {"name": call.tool, "arguments": call.arguments})


class PlainSubject:
    """The system calls a server cannot do without, done by nobody but this process."""

    label = "plain"

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._edits = 0

    def offers(self, measure: Measure) -> bool:
        return measure in (Measure.EDIT, Measure.COMMAND, Measure.OUTPUT)

    def sample(self, measure: Measure) -> int:
        started_ns = time.perf_counter_ns()
        match measure:
            case Measure.EDIT:
                self._edits += 1
                replace_durably(self._ground.root / EDIT_PATH, edited_text(self._edits))
            case Measure.COMMAND:
                subprocess.run([program("true")], check=True)
            case Measure.OUTPUT:
                self._print_output()
            case Measure.START_UP | Measure.PING | Measure.READ:
                raise WrongResult(f"the bare system has no {measure}")
        return time.perf_counter_ns() - started_ns

    def _print_output(self) -> None:
        script = [program("sh"), "-c", OUTPUT_SCRIPT]
        output = subprocess.run(script, check=True, capture_output=True, text=True).stdout
        if not output.endswith(f"{LAST_LINE}\n"):
            raise WrongResult("the last line is missing")


def replace_durably(file: Path, text: str) -> None:
    """Replace `file` so that neither a crash nor a power cut leaves half of it."""
    temporary = file.with_suffix(".new")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def program(name: str) -> str:
    """Return where a program of this system lies."""
    path = shutil.which(name)
    if path is None:
        raise WrongResult(f"this system has no {name}")
    return path
