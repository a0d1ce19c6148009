"""Numbers for people and for machines: the table, the targets and the file."""

import os
import platform
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.profiles import DESCRIPTIONS, FLOOR, OURS, Measure
from bench.run import Run
from bench.subjects import PlainSubject
from workspace_server.domain.json_value import JsonObject

NANOSECONDS_PER_MS = 1_000_000
KIB_PER_MIB = 1024
COLUMN = 22


@dataclass(frozen=True, kw_only=True)
class Target:
    """How many times the bare SDK's time we may take."""

    measure: Measure
    times: float


TARGETS = (
    Target(measure=Measure.PING, times=1.3),
    Target(measure=Measure.READ, times=1.6),
    Target(measure=Measure.START_UP, times=1.25),
)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One measure of one subject, in milliseconds."""

    count: int
    median_ms: float
    p95_ms: float
    fastest_ms: float
    slowest_ms: float

    def __str__(self) -> str:
        return f"{self.median_ms:.2f} / {self.p95_ms:.2f}"


def summary_of(nanoseconds: Sequence[int]) -> Summary:
    """Summarise at least one sample."""
    ordered = sorted(sample / NANOSECONDS_PER_MS for sample in nanoseconds)
    return Summary(
        count=len(ordered),
        median_ms=statistics.median(ordered),
        p95_ms=ordered[round(0.95 * (len(ordered) - 1))],
        fastest_ms=ordered[0],
        slowest_ms=ordered[-1],
    )


class Report:
    """What a finished run says."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._summaries = {
            label: {measure: summary_of(taken) for measure, taken in samples.nanoseconds.items()}
            for label, samples in run.samples.items()
        }

    @property
    def failures(self) -> Sequence[str]:
        """One line for every measure a subject failed at."""
        return [
            f"{label} failed at {measure}: {reason}"
            for label, samples in self._run.samples.items()
            for measure, reason in samples.failures.items()
        ]

    def lines(self) -> Iterator[str]:
        """The table, then a line per target."""
        yield from self._table()
        yield ""
        for target in TARGETS:
            yield self._verdict(target)
        yield from self.failures

    def are_targets_met(self) -> bool:
        """Whether every target that was measured is met, and nothing failed."""
        return not self.failures and all(self._is_met(target) is not False for target in TARGETS)

    def as_json(self) -> JsonObject:
        """The same numbers, every sample included."""
        return {
            "machine": machine(),
            "subjects": {
                label: {
                    "measures": {
                        measure: {**vars(summary), "samples_ns": samples.nanoseconds[measure]}
                        for measure, summary in self._summaries[label].items()
                    },
                    "failures": {str(measure): why for measure, why in samples.failures.items()},
                }
                for label, samples in self._run.samples.items()
            },
            "memory": {
                server.label: {moment: vars(size) for moment, size in server.memory.items()}
                for server in self._run.servers
            },
            "ratios": {measure: self._ratio(measure) for measure in Measure},
        }

    def _table(self) -> Iterator[str]:
        labels = list(self._summaries)
        yield row("median / p95, ms", labels, "ratio")
        for measure in Measure:
            found = [self._summaries[label].get(measure) for label in labels]
            if any(found):
                cells = [str(summary) if summary else "" for summary in found]
                yield row(DESCRIPTIONS[measure], cells, self._ratio_cell(measure))
        yield row("RSS / PSS, MiB", ["" for _ in labels], "")
        for moment in ("after start", "after the run"):
            sizes = [server.memory.get(moment) for server in self._run.servers]
            cells = [
                f"{size.rss_kib / KIB_PER_MIB:.1f} / {size.pss_kib / KIB_PER_MIB:.1f}"
                f" in {size.processes}"
                for size in sizes
                if size is not None
            ]
            yield row(f"memory {moment}", cells, "")

    def _ratio_cell(self, measure: Measure) -> str:
        ratio = self._ratio(measure)
        return "" if ratio is None else f"{ratio:.2f} x {self._reference(measure)}"

    def _ratio(self, measure: Measure) -> float | None:
        """Our median against that of the least there can be; None where one is not known."""
        ours = self._summaries[OURS.label].get(measure) if OURS.label in self._summaries else None
        reference = self._reference(measure)
        if ours is None or reference is None:
            return None
        return ours.median_ms / self._summaries[reference][measure].median_ms

    def _reference(self, measure: Measure) -> str | None:
        """The bare SDK where it can do this, else the bare system."""
        for label in (FLOOR.label, PlainSubject.label):
            if measure in self._summaries.get(label, {}):
                return label
        return None

    def _is_met(self, target: Target) -> bool | None:
        ratio = self._ratio(target.measure)
        return None if ratio is None else ratio <= target.times

    def _verdict(self, target: Target) -> str:
        ratio, met = self._ratio(target.measure), self._is_met(target)
        said = "not measured" if met is None else "met" if met else "NOT MET"
        measured = "" if ratio is None else f" ({ratio:.2f} x)"
        return f"target: {target.measure} at most {target.times} x the bare SDK: {said}{measured}"


def row(name: str, cells: Sequence[str], last: str) -> str:
    """Return one line of the table."""
    return f"{name:<34}" + "".join(f"{cell:>{COLUMN}}" for cell in cells) + f"   {last}"


def machine() -> JsonObject:
    """What the numbers were taken on."""
    return {
        "system": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "load": list(os.getloadavg()),
    }
