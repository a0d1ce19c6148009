import errno
import os
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from tests.support.ledger_rows import begun_patch
from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.domain.version import ABSENT, full_version
from workspace_server.ledger.blobs import BlobDamaged
from workspace_server.ledger.journal import IN_ROW_BYTES, JournalEntry
from workspace_server.ledger.ledger import Ledger

SMALL = b"a" * IN_ROW_BYTES
BIG = b"b" * (IN_ROW_BYTES + 1)


def _updated(ordinal: int, path: str, before: bytes) -> JournalEntry:
    return JournalEntry(
        ordinal=ordinal,
        path=path,
        before_version=full_version(before),
        before_mode=0o755,
        before_content=before,
        after_version=full_version(b"after"),
        after_mode=0o644,
        temporary=f".{ordinal}.tmp",
    )


ADDED = JournalEntry(
    ordinal=0,
    path="new/file",
    before_version=ABSENT,
    before_mode=None,
    before_content=None,
    after_version=full_version(b"after"),
    after_mode=0o644,
    temporary=".0.tmp",
)


async def _written(ledger: Ledger, *entries: JournalEntry) -> str:
    operation_id = (await begun_patch(ledger)).operation_id
    await ledger.journal.write(
        operation_id, entries, ["new", "new/er"], planned_outcome={"status": "applied"}
    )
    return operation_id


async def test_what_was_written_is_read_back_in_order(ledger: Ledger) -> None:
    operation_id = await _written(ledger, ADDED, _updated(1, "small", SMALL))
    assert await ledger.journal.entries(operation_id) == (ADDED, _updated(1, "small", SMALL))
    assert await ledger.journal.folders(operation_id) == ("new", "new/er")
    assert await ledger.journal.planned_outcome(operation_id) == {"status": "applied"}


async def test_an_operation_without_a_journal_has_none(ledger: Ledger) -> None:
    operation_id = (await begun_patch(ledger)).operation_id
    assert await ledger.journal.entries(operation_id) == ()
    assert await ledger.journal.folders(operation_id) == ()
    assert await ledger.journal.planned_outcome(operation_id) is None
    assert await ledger.journal.planned_outcome("op-unknown") is None


@pytest.mark.parametrize(("before", "blobs"), [(SMALL, 0), (BIG, 1)], ids=["in the row", "blob"])
async def test_a_before_image_is_had_back(
    ledger: Ledger, tmp_path: Path, before: bytes, blobs: int
) -> None:
    operation_id = await _written(ledger, _updated(0, "a", before), _updated(1, "b", before))
    for entry in await ledger.journal.entries(operation_id):
        assert await ledger.journal.content(entry) == before
    assert len(list((tmp_path / "state" / "blobs").iterdir())) == blobs


@pytest.mark.guarantee("field-70")
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO])
async def test_a_before_image_that_cannot_be_kept_leaves_no_journal(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    def failing(_: int) -> None:
        raise OSError(fault, os.strerror(fault))

    operation_id = (await begun_patch(ledger)).operation_id
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(LedgerUnavailable):
            await ledger.journal.write(
                operation_id, [_updated(0, "a", BIG)], [], planned_outcome={}
            )
    assert await ledger.journal.entries(operation_id) == ()
    assert list((tmp_path / "state" / "blobs").iterdir()) == []
    await ledger.journal.write(operation_id, [_updated(0, "a", BIG)], [], planned_outcome={})


@pytest.mark.parametrize("damage", ["altered", "gone"])
async def test_a_damaged_before_image_is_not_given_out(
    ledger: Ledger, tmp_path: Path, damage: str
) -> None:
    operation_id = await _written(ledger, _updated(0, "a", BIG))
    (blob,) = (tmp_path / "state" / "blobs").iterdir()
    if damage == "altered":
        blob.write_bytes(b"other")
    else:
        blob.unlink()
    (entry,) = await ledger.journal.entries(operation_id)
    with pytest.raises(BlobDamaged):
        await ledger.journal.content(entry)


async def test_half_written_blobs_are_cleared_at_the_next_opening(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "0123.draft").write_bytes(b"half")
    ledger = await Ledger.open(tmp_path, FakeClock())
    await ledger.close()
    assert list((tmp_path / "blobs").iterdir()) == []
