import os
from pathlib import Path

import pytest

from tests.contract.conftest import Connect
from tests.support.client import Place


async def test_workspace_info_tells_what_holds_here(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        info = await agent.call("workspace_info")
    assert info["workspace_id"] == "repository"
    assert info["profile"] == "workspace-write"
    assert info["isolation"] == "none"
    assert info["git"]["changed"] == 2


async def test_read_gives_the_content_as_text_and_the_version(connect: Connect) -> None:
    async with connect() as agent:
        reply = await agent.reply("read", path="a.txt")
    assert reply.content[0].text == "one\ntwo\nthree\n"  # type: ignore[union-attr]
    assert reply.structured_content is not None
    assert reply.structured_content["version"].startswith("sha256:")
    assert reply.structured_content["total_lines"] == 3


async def test_find_lists_files_and_counts_what_it_leaves_out(
    connect: Connect, place: Place
) -> None:
    (place.root / ".gitignore").write_text("*.log\n")
    (place.root / "x.log").write_text("")
    (place.root / "link").symlink_to("a.txt")
    async with connect() as agent:
        found = await agent.call("find")
    assert found["paths"] == [".gitignore", "a.txt", "src/main.py"]
    assert sum(found["skipped"].values()) == 2


@pytest.mark.guarantee("field-77")
@pytest.mark.guarantee("field-78")
async def test_every_way_out_of_the_workspace_is_refused(connect: Connect, place: Place) -> None:
    outside = place.root.parent / "repository-secret"
    outside.mkdir()
    (outside / "key").write_text("s3cret")
    (place.root / "link").symlink_to(outside)
    (place.root / "file-link").symlink_to(outside / "key")
    os.mkfifo(place.root / "fifo")
    expected = {
        "../repository-secret/key": "PATH_ESCAPE",
        str(outside / "key"): "PATH_ESCAPE",
        "link/key": "SYMLINK_REJECTED",
        "file-link": "SYMLINK_REJECTED",
        "fifo": "SPECIAL_FILE_REJECTED",
        "src": "SPECIAL_FILE_REJECTED",
        "absent": "FILE_NOT_FOUND",
        "a.txt/x": "PATH_NOT_DIRECTORY",
    }
    async with connect() as agent:
        found = {path: (await agent.fails("read", path=path))["code"] for path in expected}
        written = await agent.fails(
            "apply_patch",
            patch="*** Begin Patch\n*** Add File: link/new\n+x\n*** End Patch\n",
        )
    assert found == expected
    assert written["code"] == "SYMLINK_REJECTED"
    assert sorted(path.name for path in outside.iterdir()) == ["key"]


async def test_an_absolute_path_within_is_refused_and_told_what_to_write(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        error = await agent.fails("read", path=str(place.root / "src/main.py"))
    assert error["code"] == "PATH_ESCAPE"
    assert "'src/main.py'" in error["recovery"]


async def test_a_binary_file_is_said_to_be_one(connect: Connect, place: Place) -> None:
    (place.root / "image").write_bytes(b"\0\1\2" * 100)
    async with connect() as agent:
        window = await agent.call("read", path="image")
    assert window["binary"]
    assert window["content"] == ""


async def test_a_vanished_workspace_is_named_as_such(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        place.root.rename(place.root.with_name("elsewhere"))
        error = await agent.fails("read", path="a.txt")
        Path(place.root).symlink_to(place.root.with_name("elsewhere"))
    assert error["code"] == "FILE_NOT_FOUND"
