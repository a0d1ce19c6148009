"""`python -m demo`: tell the story; exit with 1 at the first thing that is not as promised."""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from demo import editing, losing, running
from demo.agent import connected
from demo.narrator import Deviation, Narrator, expect
from demo.project import RELEASE, Project
from demo.server import Server
from demo.stage import Stage


def main() -> int:
    """Play all chapters and clear everything away; return the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave no server behind
    narrator = Narrator()
    deviations: Sequence[BaseException] = ()
    try:
        with tempfile.TemporaryDirectory(prefix="demo-") as name:
            play(narrator, Path(name))
    except* Deviation as group:  # a client's task group wraps what is raised inside it
        deviations = group.exceptions
    if deviations:
        print(f"\nNOT AS PROMISED: {innermost(deviations[0])}", file=sys.stderr)
        return 1
    narrator.tell("everything is cleared away; all was as promised")
    return 0


def innermost(error: BaseException) -> BaseException:
    """Return the first error inside nested groups."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def play(narrator: Narrator, folder: Path) -> None:
    """Prepare the project, play the chapters, and see that nothing is left behind."""
    narrator.chapter("A project")
    project = prepared_project(narrator, folder)
    server = Server(folder=folder, root=project.root)
    try:
        anyio.run(chapters, Stage(narrator=narrator, project=project, server=server))
        narrator.chapter("What the operator sees")
        show_records(narrator, server)
    finally:
        server.stop()
    expect(list(server.leftovers()), [], "the processes left behind")


def prepared_project(narrator: Narrator, folder: Path) -> Project:
    """Return a project that has been downloaded and committed."""
    project = Project(folder)
    size_bytes = project.download()
    project.commit()
    narrator.tell(f"downloaded {RELEASE} ({size_bytes / 1024:.0f} KiB of source) and committed it")
    return project


async def chapters(stage: Stage) -> None:
    """Play the chapters; each server below lives as long as its block, or is killed in it."""
    async with connected(stage.server) as agent:
        stage.narrator.tell("started the server, and an agent on it")
        stage.narrator.chapter("Changing files")
        await editing.play(stage, agent)
        stage.narrator.chapter("Running commands")
        await running.play(stage, agent)
    stage.narrator.chapter("Losing things")
    await losing.lose_reply(stage)
    async with connected(stage.server) as agent:
        await losing.find_out(stage, agent)
        process_id, early = await losing.lose_server(stage, agent)
    async with connected(stage.server) as agent:
        await losing.read_on(stage, agent, process_id, early)


def show_records(narrator: Narrator, server: Server) -> None:
    """Print what the operator's commands say."""
    for words in (["status"], ["log"], ["audit", "verify"]):
        narrator.quote(server.operator(*words), lines=12)
    narrator.tell("that is the record of it all")


if __name__ == "__main__":
    sys.exit(main())
