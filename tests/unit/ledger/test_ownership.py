import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from tests.support.trees import mode_of, tree_of
from workspace_server.ledger.errors import StateFolderUnusable
from workspace_server.ledger.ownership import (
    OwnerInfo,
    StateFolderOwned,
    own_state_folder,
    owner_of,
)

ME = OwnerInfo(pid=os.getpid(), started_at="2026-01-02T03:04:05.000Z", command="serve .")

_OWNER = """
import os, sys, pathlib
from tests.support.trees import mode_of, tree_of
from workspace_server.ledger.ownership import OwnerInfo, own_state_folder
me = OwnerInfo(pid=os.getpid(), started_at="2026-01-02T03:04:05.000Z", command="serve there")
with own_state_folder(pathlib.Path(sys.argv[1]), me):
    print("owned", flush=True)
    sys.stdin.read()
"""


@asynccontextmanager
async def _other_owner(folder: Path) -> AsyncIterator[Process]:
    process = await anyio.open_process([sys.executable, "-c", _OWNER, str(folder)], stderr=None)
    async with process:
        assert process.stdout is not None
        with anyio.fail_after(20):
            assert (await TextReceiveStream(process.stdout).receive()).strip() == "owned"
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                process.kill()


@pytest.mark.guarantee("field-67")
@pytest.mark.guarantee("ledger-one-server")
async def test_a_second_owner_is_refused_naming_the_first_and_harms_nothing(tmp_path: Path) -> None:
    async with _other_owner(tmp_path) as other:
        before = tree_of(tmp_path)
        named = f"{other.pid}.*serve there"
        with pytest.raises(StateFolderOwned, match=named) as caught, own_state_folder(tmp_path, ME):
            pytest.fail("both own it")
        assert caught.value.owner is not None
        assert caught.value.owner.pid == other.pid
        assert tree_of(tmp_path) == before


@pytest.mark.guarantee("field-72")
async def test_a_killed_owner_owns_nothing(tmp_path: Path) -> None:
    async with _other_owner(tmp_path) as other:
        other.send_signal(signal.SIGKILL)
        await other.wait()
        with own_state_folder(tmp_path, ME):
            assert owner_of(tmp_path) == ME


def test_ownership_ends_with_its_block(tmp_path: Path) -> None:
    with own_state_folder(tmp_path, ME):
        with pytest.raises(StateFolderOwned), own_state_folder(tmp_path, ME):
            pass
        assert owner_of(tmp_path) == ME
    assert owner_of(tmp_path) is None
    with own_state_folder(tmp_path, ME):
        pass


def test_the_owned_folder_is_made_and_private(tmp_path: Path) -> None:
    with own_state_folder(tmp_path / "deep" / "state", ME):
        assert mode_of(tmp_path / "deep" / "state") == 0o700


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'{"pid": 1}'])
async def test_an_unreadable_description_does_not_hide_the_owner(
    tmp_path: Path, content: bytes
) -> None:
    with own_state_folder(tmp_path, ME):
        (tmp_path / "owner.json").write_bytes(content)
        refused = pytest.raises(StateFolderOwned, match="another server")
        with refused, own_state_folder(tmp_path, ME):
            pass


def test_a_folder_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"a file")
    refused = pytest.raises(StateFolderUnusable, match="taken")
    with refused, own_state_folder(tmp_path / "taken", ME):
        pytest.fail("a file cannot be owned as a folder")


def test_what_goes_wrong_inside_the_block_is_not_laid_to_the_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), own_state_folder(tmp_path, ME):
        (tmp_path / "nothing").read_bytes()
    assert owner_of(tmp_path) is None
