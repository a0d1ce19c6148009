"""A workspace of a few files, and agents at its server in both protocol eras."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.client import ERAS, Agent, Place, agent_at
from tests.support.supervisors import stop_supervisor

Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Agent]]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A repository with a few files, and a state folder beside it."""
    root = tmp_path / "repository"
    (root / "src").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "src" / "main.py").write_text("print('hello')\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    place = Place(root=root, state=tmp_path / "state")
    yield place
    stop_supervisor(place.state)


@pytest.fixture(params=ERAS)
def connect(request: pytest.FixtureRequest, place: Place) -> Connect:
    """Start the server and connect to it, in one era and then in the other."""
    return partial(agent_at, place, era=request.param)
