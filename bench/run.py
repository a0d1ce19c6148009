"""The run: subjects take turns within every round, so that noise of the machine meets all alike."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.client import ServerFailed
from bench.ground import Ground
from bench.profiles import Measure, Profile
from bench.subjects import PlainSubject, ServerSubject, Subject, WrongResult

WARM_UP_ROUNDS = 5
WARM_UP_STARTS = 1


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How many samples are kept of each measure."""

    calls: int
    starts: int

    def of(self, measure: Measure) -> range:
        """Return the numbers of the rounds; those below zero warm up and are not kept."""
        match measure:
            case Measure.START_UP:
                return range(-WARM_UP_STARTS, self.starts)
            case Measure.PING | Measure.READ:
                return range(-WARM_UP_ROUNDS, self.calls)
            case Measure.EDIT | Measure.COMMAND:
                return range(-WARM_UP_ROUNDS, max(1, self.calls // 3))
            case Measure.OUTPUT:
                return range(-WARM_UP_ROUNDS, max(1, self.calls // 10))


@dataclass(kw_only=True)
class Samples:
    """What one subject took, in nanoseconds, and why it could not be sampled."""

    label: str
    nanoseconds: dict[Measure, list[int]] = field(default_factory=dict)
    failures: dict[Measure, str] = field(default_factory=dict)

    def take(self, subject: Subject, measure: Measure, *, keep: bool) -> None:
        """Sample once, unless the subject cannot do this or has failed at it before."""
        if measure in self.failures or not subject.offers(measure):
            return
        try:
            elapsed_ns = subject.sample(measure)
        except (ServerFailed, WrongResult) as failure:
            self.failures[measure] = str(failure)
            return
        if keep:
            self.nanoseconds.setdefault(measure, []).append(elapsed_ns)


class Run:
    """All subjects on their own ground, and what they took."""

    def __init__(self, profiles: Sequence[Profile], *, folder: Path, rounds: Rounds) -> None:
        self._rounds = rounds
        self.servers = [
            ServerSubject(profile, prepared_ground(folder / profile.label)) for profile in profiles
        ]
        self._plain = PlainSubject(prepared_ground(folder / PlainSubject.label))
        self.samples = {subject.label: Samples(label=subject.label) for subject in self._subjects}

    @property
    def _subjects(self) -> Sequence[Subject]:
        return [*self.servers, self._plain]

    def measure(self, measures: Sequence[Measure]) -> None:
        """Take all samples: start-ups first, then the rest on one long session per server."""
        with undisturbed():
            if Measure.START_UP in measures:
                self._sample(Measure.START_UP)
            with ExitStack() as sessions:
                for server in self.servers:
                    sessions.enter_context(server.session())
                for measure in measures:
                    if measure is not Measure.START_UP:
                        self._sample(measure)

    def _sample(self, measure: Measure) -> None:
        gc.collect()
        for number in self._rounds.of(measure):
            for subject in rotated(self._subjects, number):
                self.samples[subject.label].take(subject, measure, keep=number >= 0)


def prepared_ground(folder: Path) -> Ground:
    """Return a new ground with its files."""
    ground = Ground(folder=folder)
    ground.prepare()
    return ground


def rotated(subjects: Sequence[Subject], number: int) -> Sequence[Subject]:
    """Return the subjects beginning with another one each round: nobody is always first."""
    first = number % len(subjects)
    return [*subjects[first:], *subjects[:first]]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep this process from collecting garbage in the middle of a sample."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
