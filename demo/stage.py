"""What every chapter of the story works with."""

import sys
from dataclasses import dataclass

from demo.narrator import Narrator
from demo.project import Project
from demo.server import Server
from workspace_server.domain.json_value import JsonObject, JsonValue

ENVIRONMENT: JsonObject = {"PYTHONPATH": "src"}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The project, the server on it, and who tells the story."""

    narrator: Narrator
    project: Project
    server: Server


def pytest(*words: str) -> JsonValue:
    """Return the command that runs the project's tests in the interpreter of the show."""
    return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words]
