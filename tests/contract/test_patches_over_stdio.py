import sys
from typing import Any

import anyio
import pytest

from tests.contract.conftest import Connect
from tests.support.client import Place, update

V4A = """\
*** Begin Patch
*** Update File: a.txt
@@
 one
-two
+zwei
 three
*** Add File: docs/new.md
+fresh
*** End Patch
"""
UNIFIED = """\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+deux
 three
"""


async def test_a_v4a_patch_changes_all_its_files(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        result = await agent.call("apply_patch", patch=V4A)
        again = await agent.call("read", path="a.txt")
        status = await agent.call("operation_status", operation_id=result["operation_id"])
    assert (place.root / "a.txt").read_text() == "one\nzwei\nthree\n"
    assert (place.root / "docs/new.md").read_text() == "fresh\n"
    versions = {file["path"]: file["version"] for file in result["files"]}
    assert versions["a.txt"] == again["version"]
    assert (status["status"], status["disk_matches"]) == ("applied", True)


async def test_a_unified_diff_changes_its_file(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        result = await agent.call("apply_patch", patch=UNIFIED)
    assert (place.root / "a.txt").read_text() == "one\ndeux\nthree\n"
    assert result["files"][0]["ranges"] == [[2, 2]]


@pytest.mark.guarantee("patch-preview-writes-nothing")
async def test_a_preview_writes_nothing_and_uses_up_no_key(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        preview = await agent.call("apply_patch", patch=V4A, check_only=True, operation_key="k")
        listed = await agent.call("operation_list")
        applied = await agent.call("apply_patch", patch=V4A, operation_key="k")
    assert preview["status"] == "checked"
    assert "operation_id" not in preview
    assert listed["operations"] == []
    assert "replayed" not in applied


@pytest.mark.guarantee("field-45")
@pytest.mark.guarantee("ledger-same-key-once")
async def test_a_retry_by_key_is_answered_with_the_first_outcome(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        first = await agent.call("apply_patch", patch=V4A, operation_key="k")
        second = await agent.call("apply_patch", patch=V4A, operation_key="k")
    assert second == {**first, "replayed": True}
    assert (place.root / "a.txt").read_text() == "one\nzwei\nthree\n"


@pytest.mark.guarantee("field-46")
async def test_a_key_of_another_request_is_a_conflict(connect: Connect, place: Place) -> None:
    async with connect() as agent:
        await agent.call("apply_patch", patch=V4A, operation_key="k")
        error = await agent.fails(
            "apply_patch", patch=update("a.txt", "one", "eins"), operation_key="k"
        )
    assert error["code"] == "OPERATION_KEY_CONFLICT"
    assert "operation_id" not in error


@pytest.mark.guarantee("field-46")
@pytest.mark.guarantee("ledger-same-key-once")
async def test_twins_in_flight_are_done_once(connect: Connect, place: Place) -> None:
    results = []
    async with connect() as agent, anyio.create_task_group() as tasks:

        async def twin() -> None:
            results.append(await agent.call("apply_patch", patch=V4A, operation_key="k"))

        for _ in range(8):
            tasks.start_soon(twin)
    assert len({result["operation_id"] for result in results}) == 1
    assert sum("replayed" not in result for result in results) == 1


@pytest.mark.guarantee("patch-stale-writes-nothing")
async def test_a_stale_version_is_a_conflict_that_can_be_looked_up(
    connect: Connect, place: Place
) -> None:
    async with connect() as agent:
        version = (await agent.call("read", path="a.txt"))["version"]
        (place.root / "a.txt").write_text("one\ntwo\nthree\nfour\n")
        error = await agent.fails("apply_patch", patch=V4A, expected_versions={"a.txt": version})
        status = await agent.call("operation_status", operation_id=error["operation_id"])
    assert error["code"] == "VERSION_CONFLICT"
    assert error["details"]["conflicts"][0]["expected"] == version
    assert status["status"] == "rejected"
    assert not (place.root / "docs").exists()


@pytest.mark.guarantee("files-protect-git")
async def test_each_way_a_patch_cannot_be_placed_has_its_code(
    connect: Connect, place: Place
) -> None:
    move = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: src/main.py\n*** End Patch\n"
    add = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"
    git = "*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch\n"
    async with connect() as agent:
        codes = {
            (await agent.fails("apply_patch", patch=patch))["code"]: patch
            for patch in ("nonsense", add, move, update("absent", "x", "y"), git)
        }
        missing = await agent.fails("apply_patch", patch=update("a.txt", "no such line", "x"))
        status = await agent.call("operation_status", operation_id=missing["operation_id"])
    assert set(codes) == {
        "INVALID_PATCH",
        "ADD_FILE_EXISTS",
        "MOVE_DESTINATION_EXISTS",
        "FILE_NOT_FOUND",
        "PATH_ESCAPE",
    }
    assert missing["details"]["status"] == status["status"] == "rejected"


async def operator(place: Place, *words: str) -> str:
    """Run a command of the operator's and return what it prints."""
    command = [sys.executable, "-m", "workspace_server", *words, "--state-dir", str(place.state)]
    return (await anyio.run_process(command)).stdout.decode()


@pytest.mark.guarantee("field-75")
async def test_of_many_patches_to_one_file_each_success_is_on_disk(
    connect: Connect, place: Place
) -> None:
    lines = [f"line {number}" for number in range(200)]
    (place.root / "many.txt").write_text("".join(f"{line}\n" for line in lines))
    applied: list[tuple[int, Any]] = []
    refused: list[tuple[int, Any]] = []

    async with connect() as agent, anyio.create_task_group() as tasks:

        async def edit(number: int) -> None:
            reply = await agent.reply(
                "apply_patch", patch=update("many.txt", lines[number], f"edited {number}")
            )
            (refused if reply.is_error else applied).append((number, reply.structured_content))

        for number in range(200):
            tasks.start_soon(edit, number)
    content = (place.root / "many.txt").read_text().splitlines()
    expected = list(lines)
    for number, _ in applied:
        expected[number] = f"edited {number}"
    assert content == expected
    assert len(applied) + len(refused) == 200
    assert {failure["error"]["code"] for _, failure in refused} <= {"WORKSPACE_BUSY"}
    assert applied
    assert "intact" in await operator(place, "audit", "verify")
