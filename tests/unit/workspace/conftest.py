"""A workspace to work in, once for each way of opening beneath it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workspace_server.workspace.beneath import Opener, open_by_kernel, open_by_walk
from workspace_server.workspace.root import Root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the workspace's folder, seen from outside."""
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


@pytest.fixture
def root(folder: Path) -> Iterator[Root]:
    """Open the folder in the way the server does on this machine."""
    with Root.open(folder) as opened:
        yield opened


@pytest.fixture(params=[open_by_kernel, open_by_walk])
def either_root(folder: Path, request: pytest.FixtureRequest) -> Iterator[Root]:
    """Open the folder with the kernel's resolver, and in a second run with the walk."""
    opener: Opener = request.param
    with Root.open(folder, opener=opener) as opened:
        yield opened
