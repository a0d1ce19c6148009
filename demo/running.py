"""Chapter two: run commands, wait for them, talk to one on a terminal."""

import sys

import anyio

from demo.agent import Agent
from demo.narrator import expect, expect_in
from demo.stage import ENVIRONMENT, Stage, pytest

SHORT_WAIT_MS = 200
POLL_MS = 1_000
PROMPT = "Release it?"
QUESTION = f"import click; print('yes, then' if click.confirm({PROMPT!r}) else 'no, then')"


async def play(stage: Stage, agent: Agent) -> None:
    """Run the whole test suite in the background, then answer a question."""
    await run_tests(stage, agent)
    await answer_prompt(stage, agent)


async def run_tests(stage: Stage, agent: Agent) -> None:
    started = await agent.call(
        "exec_command", command=pytest("-q"), env=ENVIRONMENT, wait_ms=SHORT_WAIT_MS
    )
    expect(started.field("state"), "running", "the state after a short wait")
    process_id = started.text("process_id")
    stage.narrator.tell(
        f"started all tests as {process_id}; the call was back in {SHORT_WAIT_MS} ms"
    )
    end = await agent.wait_end(process_id)
    expect(end.field("exit_code"), 0, "the exit code of the tests")
    output = await agent.read_all(process_id, cursor=0)
    stage.narrator.tell(f"polled to the end: exit code 0, {last_line(output.text)}")


async def answer_prompt(stage: Stage, agent: Agent) -> None:
    asked = await agent.call(
        "exec_command",
        command=[sys.executable, "-c", QUESTION],
        env=ENVIRONMENT,
        tty=True,
        wait_ms=SHORT_WAIT_MS,
    )
    process_id = asked.text("process_id")
    await wait_printed(agent, process_id, PROMPT)
    await agent.call("write_stdin", process_id=process_id, data="y\n")
    end = await agent.wait_end(process_id)
    expect(end.field("exit_code"), 0, "the exit code of the question")
    output = await agent.read_all(process_id, cursor=0)
    expect_in("yes, then", output.text, "what the program made of the answer")
    stage.narrator.tell(f"answered a prompt on a terminal: {PROMPT!r} with y, and it went on")


async def wait_printed(agent: Agent, process_id: str, text: str) -> None:
    """Poll until a running process has printed `text`."""
    printed = ""
    cursor = 0
    with anyio.fail_after(POLL_MS * 20 / 1000):
        while text not in printed:
            page = await agent.call(
                "read_process", process_id=process_id, cursor=cursor, wait_ms=POLL_MS
            )
            printed += page.text("chunk")
            cursor = page.number("cursor")


def last_line(text: str) -> str:
    """Return the last line, without the decoration that pytest puts around it."""
    return text.rstrip().splitlines()[-1].strip("= ")
