"""`python -m bench`: measure, print the table, keep the numbers."""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.client import ServerFailed
from bench.profiles import PROFILES, Measure
from bench.report import Report
from bench.run import Rounds, Run

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit code."""
    options = parsed(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave no server behind
    profiles = [profile for profile in PROFILES if profile.label in options.subject]
    rounds = Rounds(calls=options.rounds, starts=options.startups)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.on) as folder:
        run = Run(profiles, folder=Path(folder), rounds=rounds)
        try:
            run.measure(options.only)
        except ServerFailed as failure:
            print(f"a server does not even start: {failure}", file=sys.stderr)
            return 1
    report = Report(run)
    for line in report.lines():
        print(line)
    print(f"\nnumbers: {written(report, options.out)}")
    return 1 if options.check and not report.are_targets_met() else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--rounds", type=positive, default=300, help="pings and reads (300)")
    parser.add_argument("--startups", type=positive, default=15, help="start-ups (15)")
    parser.add_argument(
        "--only",
        type=Measure,
        nargs="+",
        default=list(Measure),
        choices=list(Measure),
        metavar="MEASURE",
        help=f"what to measure: {', '.join(Measure)}",
    )
    labels = [profile.label for profile in PROFILES]
    parser.add_argument(
        "--subject", nargs="+", default=labels, choices=labels, help="which servers to measure"
    )
    parser.add_argument("--on", type=Path, help="folder on the disk to measure on (temporary)")
    parser.add_argument("--out", type=Path, help="where the numbers go (bench/results/<time>.json)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is not met")
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    """Return a count; raise ValueError, which argparse explains, if it is none."""
    if (count := int(text)) < 1:
        raise ValueError("not positive")
    return count


def written(report: Report, out: Path | None) -> Path:
    """Write the numbers; return where."""
    file = out or RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    return file


if __name__ == "__main__":
    sys.exit(main())
