"""The documents name everything there is, and what they show works."""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.supervisors import stop_supervisor
from workspace_server.cli import _parser
from workspace_server.config import settings_schema
from workspace_server.domain.errors import error_classes
from workspace_server.schema_files import schema_files
from workspace_server.tools.catalogue import CATALOGUE

PROJECT = Path(__file__).parents[2]
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
GREETER = 'def greet():\n    return "hi"\n\n\nprint(greet())\n'
# Kills the server that runs it, as a crash would, and goes on.
KILLER = """\
import os
import signal
import sys


def greet():
    return "hi"


print("before", flush=True)
with open({pid_file!r}) as file:
    os.kill(int(file.read()), signal.SIGKILL)
print(greet())
sys.exit(3)
"""


def text_of(name: str) -> str:
    """Return a document."""
    return (PROJECT / name).read_text("utf-8")


def quoted(name: str) -> set[str]:
    """Return what a document sets in backticks on one line."""
    return set(re.findall(r"`([^`\n]+)`", text_of(name)))


@pytest.mark.guarantee("docs-complete")
def test_every_tool_is_in_the_readme() -> None:
    assert {tool.name for tool in CATALOGUE} - quoted("README.md") == set()


@pytest.mark.guarantee("docs-complete")
def test_every_code_is_told_to_agent_loops() -> None:
    rows = re.findall(r"^\| (`[A-Z_`, ]+`) \|", text_of("docs/agent-loop.md"), re.MULTILINE)
    told = set(re.findall(r"[A-Z_]+", " ".join(rows)))
    assert told == {cls.code for cls in error_classes()}


@pytest.mark.guarantee("docs-complete")
def test_every_setting_is_described() -> None:
    examples = "".join(re.findall(r"```toml\n(.*?)```", text_of("docs/settings.md"), re.DOTALL))
    described = re.findall(r"^\[?([a-z_]+)[ .=\]]", examples, re.MULTILINE)
    assert set(_keys(settings_schema())) - set(described) == set()


@pytest.mark.guarantee("docs-complete")
def test_every_command_and_option_is_described() -> None:
    described = text_of("README.md") + text_of("docs/settings.md")
    named = set(re.findall(r"workspace-server ([a-z]+)", described))
    commands = _commands()
    options = {option for each in commands.values() for option in _options(each)}
    assert set(commands) - named == set()
    assert options - set(re.findall(r"--[a-z][a-z-]*", described)) == set()


def test_every_command_that_is_shown_exists() -> None:
    shown = [
        match.split()
        for document in DOCUMENTS
        for match in re.findall(r"^ *\S*workspace-server ([^\n`]*)", _code(document), re.MULTILINE)
    ]
    assert shown
    for name, *rest in shown:
        used = {word for word in rest if word.startswith("--")}
        assert name in _commands()
        assert used - _options(_commands()[name]) == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_every_link_within_the_project_leads_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text("utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_every_file_that_is_named_is_there(document: Path) -> None:
    named = re.findall(
        r"`((?:workspace_server|sandbox|tests|docs)/[\w./-]+\.\w+)`", document.read_text("utf-8")
    )
    assert [name for name in named if not (PROJECT / name).exists()] == []


def test_the_schemas_that_are_named_are_made() -> None:
    named = re.findall(r"schemas/([\w./]+\.json)", "".join(map(_read, DOCUMENTS)))
    assert set(named) - set(schema_files()) == set()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Mapping[str, Path]]:
    """A repository, a state folder, and a folder of programs that is searched first."""
    folders = {name: tmp_path / name for name in ("repository", "state", "bin")}
    for folder in folders.values():
        folder.mkdir()
    yield folders
    stop_supervisor(folders["state"])


@pytest.mark.slow
@pytest.mark.guarantee("docs-loop-runs")
def test_the_loop_that_is_shown_runs(place: Mapping[str, Path]) -> None:
    (place["repository"] / "hello.py").write_text(GREETER)
    assert _run_loop(place) == "applied 0 hello\n"


@pytest.mark.slow
@pytest.mark.guarantee("docs-loop-runs")
def test_the_loop_that_is_shown_survives_a_killed_server(place: Mapping[str, Path]) -> None:
    pid_file = place["bin"] / "server.pid"
    started_as = place["bin"] / "workspace-server"
    started_as.write_text(
        f'#!/bin/sh\necho $$ > "{pid_file}"\nexec "{_PROGRAMS}/workspace-server" "$@"\n'
    )
    started_as.chmod(0o755)
    (place["repository"] / "hello.py").write_text(KILLER.format(pid_file=str(pid_file)))
    assert _run_loop(place) == "applied 3 before\nhello\n"


_PROGRAMS = Path(sys.executable).parent


def _run_loop(place: Mapping[str, Path]) -> str:
    """Run the program of docs/agent-loop.md as a user would, and return what it prints."""
    (program,) = re.findall(r"```python\n(.*?)```", text_of("docs/agent-loop.md"), re.DOTALL)
    environment = {
        **os.environ,
        "PATH": f"{place['bin']}:{_PROGRAMS}:{os.environ['PATH']}",
        "WORKSPACE_SERVER_STATE_DIR": str(place["state"]),
    }
    ran = subprocess.run(
        [sys.executable, "-c", program, str(place["repository"])],
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _commands() -> Mapping[str, argparse.ArgumentParser]:
    (commands,) = (
        action.choices
        for action in _parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(commands)


def _options(command: argparse.ArgumentParser) -> set[str]:
    return {
        option
        for action in command._actions
        for option in action.option_strings
        if option.startswith("--") and option != "--help"
    }


def _keys(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of all settings, at every depth."""
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {})


def _code(document: Path) -> str:
    """Return the lines of a document that are set as code: indented or fenced."""
    text = _read(document)
    fences = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    fenced = "".join(code for language, code in fences if language in ("", "sh", "console"))
    indented = "".join(re.findall(r"^ {4}.*\n", text, re.MULTILINE))
    return fenced + indented


def _read(document: Path) -> str:
    return document.read_text("utf-8")
