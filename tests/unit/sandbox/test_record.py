import errno
import os
from pathlib import Path

import pytest

from sandbox.supervisor.record import Record


def kinds(record: Record) -> list[str]:
    return [entry["event"] for entry in record.entries()]


def test_lines_come_back_in_order(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.append("spawning", argv=["true"])
    record.append("running", pid=7)

    assert record.entries() == [
        {"event": "spawning", "argv": ["true"]},
        {"event": "running", "pid": 7},
    ]


def test_a_torn_last_line_is_as_if_never_written(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.append("spawning")
    with (tmp_path / "record").open("ab") as file:
        file.write(b'{"event": "runn')

    assert kinds(record) == ["spawning"]


def test_what_is_written_after_a_torn_line_can_be_read(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.append("spawning")
    with (tmp_path / "record").open("ab") as file:
        file.write(b'{"event": "runn')
    record.append("exited")

    assert kinds(record) == ["spawning", "exited"]


def test_a_line_that_the_disk_cut_short_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, write = Record(tmp_path), os.write
    record.append("spawning")
    room = iter([4])

    def nearly_full(descriptor: int, data: bytes) -> int:
        for left in room:
            return write(descriptor, data[:left])
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", nearly_full)
        with pytest.raises(OSError, match="full"):
            record.append("exited")
    record.append("running")
    assert kinds(record) == ["spawning", "running"]


def test_bytes_that_are_no_line_of_ours_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(b"\0\0\0\n")
    record = Record(tmp_path)
    record.append("spawning")

    assert kinds(record) == ["spawning"]


def test_a_line_is_synced_and_so_are_the_folders_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = list[str](), os.fsync

    def noting(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    (tmp_path / "proc-1").mkdir()
    record = Record(tmp_path / "proc-1")
    record.append("spawning")
    record.append("running")
    assert synced == ["record", "proc-1", tmp_path.name, "record"]
