import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workspace_server.domain.errors import (
    FileNotFound,
    FileOperationFailed,
    InputTooLarge,
    SpecialFileRejected,
    SymlinkRejected,
    VersionConflict,
)
from workspace_server.workspace import atomic_write
from workspace_server.workspace.atomic_write import (
    FileIdentity,
    discard,
    publish,
    refuse_read_only,
    remove,
    snapshot,
    stage,
    sync_folder,
)
from workspace_server.workspace.kernel import renameat2
from workspace_server.workspace.root import Root

TEMPORARY = ".temporary"


@pytest.fixture(params=["flags known", "flags unknown"])
def renaming(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run once as it is here, once as on a file system without renameat2's flags."""
    if request.param == "flags unknown":
        monkeypatch.setattr(atomic_write, "renameat2", refusing(errno.EINVAL))


def refusing(code: int) -> Callable[..., int]:
    def refuse(*arguments: object) -> int:
        raise OSError(code, "refused")

    return refuse


def identity(root: Root, path: str) -> FileIdentity:
    found = snapshot(root, path)
    assert found is not None
    return found.identity


def write(root: Root, path: str, content: bytes, mode: int = 0o644) -> None:
    """Replace or create a file by all the steps of the real thing."""
    old = snapshot(root, path)
    stage(root, path, content, mode, TEMPORARY)
    publish(root, path, TEMPORARY, None if old is None else old.identity)
    sync_folder(root, ".")


@pytest.mark.usefixtures("renaming")
def test_a_new_file_appears_whole(folder: Path, root: Root) -> None:
    write(root, "a", b"hello", 0o755)

    assert (folder / "a").read_bytes() == b"hello"
    assert (folder / "a").stat().st_mode & 0o7777 == 0o755
    assert os.listdir(folder) == ["a"]


@pytest.mark.usefixtures("renaming")
def test_an_old_file_is_replaced_and_no_other_is_left(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")

    write(root, "a", b"new")
    assert (folder / "a").read_bytes() == b"new"
    assert os.listdir(folder) == ["a"]


@pytest.mark.usefixtures("renaming")
def test_a_file_in_a_folder_is_replaced_there(folder: Path, root: Root) -> None:
    root.make_folders("src/a")
    stage(root, "src/a", b"new", 0o644, TEMPORARY)
    publish(root, "src/a", TEMPORARY, None)

    assert os.listdir(folder / "src") == ["a"]
    assert os.listdir(folder) == ["src"]


@pytest.mark.usefixtures("renaming")
def test_a_name_taken_meanwhile_is_a_conflict_and_its_file_stays(folder: Path, root: Root) -> None:
    stage(root, "a", b"ours", 0o644, TEMPORARY)
    (folder / "a").write_bytes(b"theirs")

    with pytest.raises(VersionConflict) as caught:
        publish(root, "a", TEMPORARY, None)
    assert caught.value.details == {"path": "a"}
    assert (folder / "a").read_bytes() == b"theirs"


@pytest.mark.usefixtures("renaming")
@pytest.mark.guarantee("field-75")
def test_a_file_changed_meanwhile_is_a_conflict_and_stays(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")
    expected = identity(root, "a")
    stage(root, "a", b"ours", 0o644, TEMPORARY)
    (folder / "a").write_bytes(b"their change")

    with pytest.raises(VersionConflict):
        publish(root, "a", TEMPORARY, expected)
    assert (folder / "a").read_bytes() == b"their change"


@pytest.mark.usefixtures("renaming")
def test_a_file_gone_meanwhile_is_a_conflict(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")
    expected = identity(root, "a")
    stage(root, "a", b"ours", 0o644, TEMPORARY)
    (folder / "a").unlink()

    with pytest.raises(VersionConflict):
        publish(root, "a", TEMPORARY, expected)
    assert not (folder / "a").exists()


def count_up(root: Root, temporary: str, times: int) -> None:
    """Add one to the number in a file, so many times; begin again after each conflict."""
    while times:
        found = snapshot(root, "a")
        assert found is not None
        stage(root, "a", b"%d" % (int(found.content) + 1), 0o644, temporary)
        try:
            publish(root, "a", temporary, found.identity)
            times -= 1
        except VersionConflict:
            discard(root, "a", temporary)


@pytest.mark.guarantee("field-75")
def test_of_writers_side_by_side_none_is_lost(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"0")
    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(count_up, root, f".temporary-{number}", 50) for number in range(4)]
    for writer in writers:
        writer.result()

    assert (folder / "a").read_bytes() == b"200"
    assert os.listdir(folder) == ["a"]


def before_the_exchange(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something between the last look at the file and the rename."""
    acts = [act]

    def rename(directory: int, source: str, target: str, flags: int) -> None:
        if acts:
            acts.pop()()
        renameat2(directory, source, target, flags)

    monkeypatch.setattr(atomic_write, "renameat2", rename)


@pytest.mark.guarantee("patch-loses-no-foreign-edit")
def test_a_file_that_slips_in_before_the_exchange_is_given_back(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"old")
    (folder / "b").write_bytes(b"theirs")
    stage(root, "a", b"ours", 0o644, TEMPORARY)
    before_the_exchange(monkeypatch, lambda: os.replace(folder / "b", folder / "a"))

    with pytest.raises(VersionConflict):
        publish(root, "a", TEMPORARY, identity(root, "a"))
    assert (folder / "a").read_bytes() == b"theirs"
    assert (folder / TEMPORARY).read_bytes() == b"ours"


def test_a_file_that_vanishes_before_the_exchange_is_a_conflict(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"old")
    stage(root, "a", b"ours", 0o644, TEMPORARY)
    before_the_exchange(monkeypatch, (folder / "a").unlink)

    with pytest.raises(VersionConflict):
        publish(root, "a", TEMPORARY, identity(root, "a"))
    assert not (folder / "a").exists()


def test_of_two_files_that_slip_in_the_newer_one_stays(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"old")
    (folder / "b").write_bytes(b"theirs")
    (folder / "c").write_bytes(b"newest")
    stage(root, "a", b"ours", 0o644, TEMPORARY)
    expected = identity(root, "a")
    really_came_out = atomic_write._came_out

    def slow_look(directory: int, temporary: str, expected: FileIdentity) -> bool:
        os.replace(folder / "c", folder / "a")
        return really_came_out(directory, temporary, expected)

    monkeypatch.setattr(atomic_write, "_came_out", slow_look)
    before_the_exchange(monkeypatch, lambda: os.replace(folder / "b", folder / "a"))
    with pytest.raises(VersionConflict):
        publish(root, "a", TEMPORARY, expected)
    assert (folder / "a").read_bytes() == b"newest"


@pytest.mark.usefixtures("renaming")
def test_the_expected_file_is_removed(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")

    remove(root, "a", TEMPORARY, identity(root, "a"))
    assert os.listdir(folder) == []


@pytest.mark.usefixtures("renaming")
def test_a_file_changed_meanwhile_is_not_removed(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")
    expected = identity(root, "a")
    (folder / "a").write_bytes(b"their change")

    with pytest.raises(VersionConflict):
        remove(root, "a", TEMPORARY, expected)
    assert (folder / "a").read_bytes() == b"their change"


def test_a_file_that_slips_in_before_its_removal_is_put_back(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"old")
    (folder / "b").write_bytes(b"theirs")
    before_the_exchange(monkeypatch, lambda: os.replace(folder / "b", folder / "a"))

    with pytest.raises(VersionConflict):
        remove(root, "a", TEMPORARY, identity(root, "a"))
    assert (folder / "a").read_bytes() == b"theirs"
    assert os.listdir(folder) == ["a"]


@pytest.mark.guarantee("field-76")
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664, 0o4755])
def test_the_mode_asked_for_is_the_mode_of_the_file(folder: Path, root: Root, mode: int) -> None:
    write(root, "a", b"x", mode)

    found = snapshot(root, "a")
    assert found is not None
    assert found.mode == mode


@pytest.mark.guarantee("field-76")
def test_a_file_its_owner_may_not_write_is_refused() -> None:
    with pytest.raises(FileOperationFailed) as caught:
        refuse_read_only("a", 0o444)
    assert caught.value.details == {"path": "a", "reason": "the file is read-only"}
    assert caught.value.recovery is not None
    assert "chmod u+w" in caught.value.recovery
    refuse_read_only("a", 0o200)


@pytest.mark.guarantee("field-76")
def test_user_attributes_are_carried_over(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")
    os.setxattr(folder / "a", "user.note", b"kept")

    write(root, "a", b"new")
    assert os.getxattr(folder / "a", "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.guarantee("field-76")
def test_the_owner_is_carried_over(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")
    os.chown(folder / "a", 12345, 12346)

    write(root, "a", b"new", 0o750)
    found = (folder / "a").stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (12345, 12346, 0o750)


def test_an_owner_that_cannot_be_kept_is_no_failure(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "fchown", refusing(errno.EPERM))
    monkeypatch.setattr(os, "listxattr", refusing(errno.EOPNOTSUPP))

    write(root, "a", b"new")
    assert (folder / "a").read_bytes() == b"new"


def test_a_hard_link_keeps_the_old_content(folder: Path, root: Root) -> None:
    (folder / "a").write_bytes(b"old")
    os.link(folder / "a", folder / "b")

    write(root, "a", b"new")
    assert (folder / "b").read_bytes() == b"old"


def write_a_part(descriptor: int, content: memoryview) -> int:
    return REALLY_WRITE(descriptor, content[:3])


REALLY_WRITE = os.write


@pytest.mark.guarantee("field-70")
def test_short_writes_are_continued(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", write_a_part)

    write(root, "a", b"0123456789")
    assert (folder / "a").read_bytes() == b"0123456789"


@pytest.mark.parametrize("call", ["write", "fsync", "fchmod"])
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.ENOSPC, "no space"),
        (errno.EDQUOT, "no space"),
        (errno.EIO, "input/output error"),
        (errno.EACCES, "permission denied"),
    ],
)
@pytest.mark.guarantee("field-70")
def test_a_fault_while_staging_leaves_the_old_file_and_nothing_else(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch, call: str, code: int, reason: str
) -> None:
    (folder / "a").write_bytes(b"old")
    with monkeypatch.context() as fault:
        fault.setattr(os, call, refusing(code))
        with pytest.raises(FileOperationFailed) as caught:
            stage(root, "a", b"new", 0o644, TEMPORARY)

    assert caught.value.details == {"path": "a", "reason": reason}
    assert "nothing of it has changed" in caught.value.message
    assert (folder / "a").read_bytes() == b"old"
    assert os.listdir(folder) == ["a"]
    write(root, "a", b"new")  # once the fault is gone, all works


def test_a_fault_of_the_rename_leaves_the_old_file(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"old")
    stage(root, "a", b"new", 0o644, TEMPORARY)
    monkeypatch.setattr(atomic_write, "renameat2", refusing(errno.EIO))

    with pytest.raises(FileOperationFailed):
        publish(root, "a", TEMPORARY, identity(root, "a"))
    assert (folder / "a").read_bytes() == b"old"


def test_staging_never_writes_to_a_file_that_is_there(folder: Path, root: Root) -> None:
    (folder / TEMPORARY).write_bytes(b"somebody's")

    with pytest.raises(FileOperationFailed):
        stage(root, "a", b"new", 0o644, TEMPORARY)
    assert (folder / TEMPORARY).read_bytes() == b"somebody's"


def test_discarding_removes_what_was_staged_and_nothing_is_fine(folder: Path, root: Root) -> None:
    stage(root, "a", b"new", 0o644, TEMPORARY)

    discard(root, "a", TEMPORARY)
    discard(root, "a", TEMPORARY)
    discard(root, "none/a", TEMPORARY)
    assert os.listdir(folder) == []


def test_a_folder_without_sync_is_told(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", refusing(errno.EIO))

    with pytest.raises(FileOperationFailed):
        sync_folder(root, ".")
    with pytest.raises(FileNotFound):
        sync_folder(root, "none")


def test_a_snapshot_is_the_file_as_it_is(folder: Path, root: Root) -> None:
    content = os.urandom(300_000)
    (folder / "a").write_bytes(content)
    (folder / "a").chmod(0o640)

    found = snapshot(root, "a")
    assert found is not None
    assert (found.content, found.mode) == (content, 0o640)
    assert found.identity == FileIdentity.of((folder / "a").stat())
    assert snapshot(root, "b") is None
    assert snapshot(root, "none/b") is None


def test_a_snapshot_of_no_regular_file_is_refused(folder: Path, root: Root) -> None:
    (folder / "src").mkdir()
    (folder / "link").symlink_to("src")

    with pytest.raises(SpecialFileRejected):
        snapshot(root, "src")
    with pytest.raises(SymlinkRejected):
        snapshot(root, "link")


@pytest.mark.guarantee("field-79")
def test_a_file_too_large_for_a_snapshot_is_refused_before_it_is_read(
    folder: Path, root: Root
) -> None:
    with open(folder / "a", "wb") as file:
        file.truncate(4 * 1024**3)

    with pytest.raises(InputTooLarge) as caught:
        snapshot(root, "a", limit_bytes=1000)
    assert caught.value.details == {
        "path": "a", "size_bytes": 4 * 1024**3, "limit_bytes": 1000
    }  # fmt: skip


def changing_reads(monkeypatch: pytest.MonkeyPatch, path: Path, times: int) -> None:
    """Let the file grow while it is read, so many times."""
    really_read, left = os.read, [times]

    def read(descriptor: int, count: int) -> bytes:
        if left[0] > 0:
            left[0] -= 1
            with open(path, "ab") as file:
                file.write(b"+")
        return really_read(descriptor, count)

    monkeypatch.setattr(os, "read", read)


def test_a_file_that_changes_under_a_snapshot_is_read_again(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"a")
    changing_reads(monkeypatch, folder / "a", 1)

    found = snapshot(root, "a")
    assert found is not None
    assert found.content == b"a+"


def test_a_file_that_never_rests_is_told_so(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").write_bytes(b"a")
    changing_reads(monkeypatch, folder / "a", 1000)

    with pytest.raises(FileOperationFailed, match="keeps changing"):
        snapshot(root, "a")
