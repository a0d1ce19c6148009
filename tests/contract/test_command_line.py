"""The command line as a person uses it: what it prints, and its exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.client import Place, agent_at, update


def run(
    *words: str, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `workspace-server WORDS…` with no input."""
    return subprocess.run(
        [sys.executable, "-m", "workspace_server", *words],
        env={**os.environ, **environment},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    "words", [(), ("nonsense",), ("serve", "--http"), ("audit", "nonsense"), ("serve", "--nope")]
)
def test_bad_usage_is_2_and_says_what_is_wrong(words: tuple[str, ...]) -> None:
    ended = run(*words)
    assert ended.returncode == 2
    assert "usage:" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_folders_that_must_not_be_served_are_2_with_the_reason(tmp_path: Path) -> None:
    state = ("--state-dir", str(tmp_path / "state"))
    (tmp_path / "settings.toml").write_text("[server]\n")
    for words, named in (
        (("serve", "/", *state), "too much"),
        (("serve", str(tmp_path), *state), "state folder"),
        (("serve", str(tmp_path / "absent"), *state), "absent"),
        (("serve", "--config", str(tmp_path / "settings.toml"), *state), "server"),
        (("serve", *state), "git repository"),
    ):
        ended = run(*words, cwd=tmp_path)
        assert (ended.returncode, named in ended.stderr) == (2, True), ended.stderr
        assert "Traceback" not in ended.stderr


def test_without_a_root_the_repository_around_is_served(place: Place) -> None:
    ended = run("serve", "--state-dir", str(place.state), cwd=place.root / "src")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("command", ["status", "ps", "log", "audit verify"])
def test_without_a_ledger_the_reports_say_so(tmp_path: Path, command: str) -> None:
    ended = run(*command.split(), WORKSPACE_SERVER_STATE_DIR=str(tmp_path / "state"))
    assert ended.returncode == 1
    assert "no ledger" in ended.stderr
    assert not (tmp_path / "state").exists()


@pytest.mark.guarantee("ledger-read-from-outside")
async def test_the_reports_read_beside_a_running_server(place: Place) -> None:
    state = ("--state-dir", str(place.state))
    async with agent_at(place) as agent:
        patch = await agent.call("apply_patch", patch=update("a.txt", "two", "zwei"))
        view = await agent.call("exec_command", command=["sleep", "60"], wait_ms=0)
        status, processes = run("status", *state), run("ps", *state)
        listed, one = run("log", *state), run("log", patch["operation_id"][-12:], *state)
        audit, none = run("audit", "verify", *state), run("log", "nonsense", *state)
        await agent.call("terminate_process", process_id=view["process_id"], signal="KILL")
    assert "running       1 commands" in status.stdout
    assert "sleep 60" in processes.stdout
    assert patch["operation_id"] in listed.stdout
    assert "a.txt" in one.stdout
    assert "operation_moved" in one.stdout
    assert audit.stdout.startswith("intact: ")
    assert (none.returncode, "no operations end in" in none.stderr) == (1, True)
