from pathlib import Path

import pytest

from tests.support.client import update
from tests.support.gateways import gateway_at
from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.ledger.operations import Operations


async def test_a_patch_whose_end_could_not_be_recorded_is_settled_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object, **named: object) -> None:
        raise LedgerUnavailable("The disk is full.")

    edit = {"patch": update("a.txt", "two", "zwei"), "operation_key": "k"}
    async with gateway_at(tmp_path) as server:
        monkeypatch.setattr(Operations, "move", fail)
        lost = (await server.reply("apply_patch", **edit)).structure["error"]
        monkeypatch.undo()
        status = await server.call("operation_status", operation_key="k")
        again = await server.call("apply_patch", **edit)
    assert isinstance(lost, dict)
    assert (lost["code"], lost["retryable"]) == ("LEDGER_UNAVAILABLE", False)
    assert status["operation_id"] == lost["operation_id"]
    assert (status["status"], status["disk_matches"]) == ("applied", True)
    assert (again["status"], again["replayed"]) == ("applied", True)
    assert (server.root / "a.txt").read_text() == "one\nzwei\n"
