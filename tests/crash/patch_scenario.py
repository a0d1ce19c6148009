"""What a child does before it dies: `python -m … (apply|settle) PLACE SCENARIO STEP`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from tests.support.crash import die_before_step
from tests.support.patching import Bench, image
from workspace_server.patch.model import FileImage

KEY = "the-key"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A workspace, and what a patch wants it to be."""

    before: Mapping[str, FileImage]
    wanted: Mapping[str, FileImage | None]


SCENARIOS = {
    "update and add": Scenario(
        before={"a.txt": image(b"old\n", 0o755)},
        wanted={"a.txt": image(b"new\n", 0o755), "new/folder/b.txt": image(b"added\n")},
    ),
    "delete and move": Scenario(
        before={
            "sub/gone.txt": image(b"gone\n"),
            "from.txt": image(b"moved\n" * 5000, 0o600),  # too big for a row
            "other.txt": image(b"other\n"),
        },
        wanted={
            "sub/gone.txt": None,
            "from.txt": None,
            "to/here.txt": image(b"moved\n" * 4999 + b"and changed\n", 0o600),
        },
    ),
}


def lay_out(bench: Bench, scenario: Scenario) -> None:
    """Put the files of before into the workspace."""
    for path, file in scenario.before.items():
        bench.write(path, file.content, file.mode)


async def _main(do: str, place: str, name: str, step: str) -> None:
    async with Bench.opened(Path(place)) as bench:
        die_before_step(int(step))
        if do == "apply":
            await bench.change(SCENARIOS[name].wanted, await bench.begin(KEY))
        else:
            await bench.settle()


if __name__ == "__main__":
    anyio.run(partial(_main, *sys.argv[1:]))
