"""The server with faults put in, for failures that a sound one does not have.

python -m tests.support.faulty_server FAULT serve ROOT …
"""

import sys
from collections.abc import Callable, Mapping

from workspace_server.cli import main
from workspace_server.process.control import Control
from workspace_server.process.snapshot import Snapshot
from workspace_server.tools import process_steering
from workspace_server.tools.files import FindResult
from workspace_server.tools.tool import Arguments, Call, Result
from workspace_server.workspace import files

SECRET = "/home/operator/.ssh/id_ed25519"  # must never reach a client


def defect() -> None:
    """Let `find` fail in a way that nobody thought of."""

    async def find(call: Call, arguments: Arguments) -> Result:
        raise RuntimeError(SECRET) from OSError(SECRET)

    _replace_run("find", find)


def bad_result() -> None:
    """Let `find` make a result that does not fit its schema."""

    async def find(call: Call, arguments: Arguments) -> Result:
        return FindResult.model_validate({"paths": SECRET})

    _replace_run("find", find)


def unkillable() -> None:
    """Let the end of a process never come."""

    async def terminate(
        self: Control, process: Snapshot, *, signal_number: int, grace_ms: int
    ) -> Snapshot:
        return process

    process_steering.CLEANUP_SECONDS = 0.2
    Control.terminate = terminate  # type: ignore[method-assign]


def full_pool() -> None:
    """Let no call wait for a thread."""
    files.MAX_WAITING = 0


def _replace_run(name: str, run: Callable[..., object]) -> None:
    from workspace_server.tools.catalogue import CATALOGUE

    tool = next(tool for tool in CATALOGUE if tool.name == name)
    object.__setattr__(tool, "run", run)


FAULTS: Mapping[str, Callable[[], None]] = {
    "defect": defect,
    "bad-result": bad_result,
    "unkillable": unkillable,
    "full-pool": full_pool,
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
