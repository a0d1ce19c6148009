import errno
import os
from pathlib import Path

import pytest

from workspace_server.domain.errors import (
    FileNotFound,
    FileOperationFailed,
    PathNotDirectory,
    SpecialFileRejected,
    SymlinkRejected,
)
from workspace_server.workspace import beneath, kernel
from workspace_server.workspace.root import Root


def read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def test_a_file_in_a_folder_is_opened_for_reading(folder: Path, either_root: Root) -> None:
    (folder / "src").mkdir()
    (folder / "src/a.txt").write_bytes(b"hello")

    assert read_all(either_root.open_file("src/a.txt")) == b"hello"


def test_a_missing_file_and_a_missing_folder_are_file_not_found(either_root: Root) -> None:
    for path in ("a.txt", "none/a.txt"):
        with pytest.raises(FileNotFound) as caught:
            either_root.open_file(path)
        assert caught.value.details == {"path": path}


def test_a_file_in_place_of_a_folder_is_named_so(folder: Path, either_root: Root) -> None:
    (folder / "file").touch()

    for attempt in (either_root.open_file, either_root.open_folder, either_root.status):
        with pytest.raises(PathNotDirectory):
            attempt("file/a.txt")
    with pytest.raises(PathNotDirectory):
        either_root.open_folder("file")


def test_a_folder_is_no_regular_file(folder: Path, either_root: Root) -> None:
    (folder / "src").mkdir()

    for path in ("src", "."):
        with pytest.raises(SpecialFileRejected):
            either_root.open_file(path)


def test_a_folder_descriptor_can_be_synced_and_listed(folder: Path, either_root: Root) -> None:
    (folder / "src").mkdir()
    (folder / "src/a").touch()

    with either_root.folder("src") as descriptor:
        os.fsync(descriptor)
        assert os.listdir(descriptor) == ["a"]


def test_status_tells_absent_from_present(folder: Path, either_root: Root) -> None:
    (folder / "a").write_bytes(b"abc")
    found = either_root.status("a")

    assert found is not None
    assert found.st_size == 3
    assert either_root.status("b") is None
    assert either_root.status("none/b") is None


def test_status_refuses_a_link_that_leads_nowhere(folder: Path, either_root: Root) -> None:
    (folder / "link").symlink_to("missing")

    with pytest.raises(SymlinkRejected):
        either_root.status("link")


def test_only_missing_folders_are_made(folder: Path, either_root: Root) -> None:
    (folder / "a").mkdir()

    assert either_root.make_folders("a/b/c/file.txt") == ("a/b", "a/b/c")
    assert either_root.make_folders("a/b/c/file.txt") == ()
    assert either_root.make_folders("file.txt") == ()
    assert [path.name for path in (folder / "a/b").iterdir()] == ["c"]


def test_a_file_in_the_way_of_a_folder_leaves_nothing_made(folder: Path, either_root: Root) -> None:
    (folder / "file").touch()

    with pytest.raises(PathNotDirectory):
        either_root.make_folders("file/b/c.txt")
    assert sorted(os.listdir(folder)) == ["file"]


def test_folders_made_before_a_failure_are_removed_again(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_make = os.mkdir

    def full_at_c(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if name == "c":
            raise OSError(errno.ENOSPC, "no space")
        really_make(name, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", full_at_c)
    with pytest.raises(FileOperationFailed) as caught:
        root.make_folders("a/b/c/d.txt")
    assert caught.value.details["reason"] == "no space"
    assert list(folder.iterdir()) == []


def test_a_folder_that_another_makes_first_is_not_ours(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_make = os.mkdir

    def make_second(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        for _ in range(2):
            really_make(name, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", make_second)
    assert root.make_folders("a/b") == ()
    assert (folder / "a").is_dir()


def test_a_folder_that_is_in_use_is_not_removed(folder: Path, root: Root) -> None:
    made = root.make_folders("a/b/c/file.txt")
    (folder / "a/other").touch()

    root.remove_folders(made)
    assert os.listdir(folder / "a") == ["other"]


def test_a_root_that_was_deleted_and_made_again_stays_gone(folder: Path, either_root: Root) -> None:
    folder.rmdir()
    folder.mkdir()
    (folder / "a").touch()

    for attempt in (either_root.open_file, either_root.open_folder, either_root.status):
        with pytest.raises(FileNotFound, match="workspace folder itself is gone"):
            attempt("a")


def test_a_root_that_is_missing_does_not_open(tmp_path: Path) -> None:
    with pytest.raises(FileNotFound, match="workspace folder itself is gone"):
        Root.open(tmp_path / "none")


def test_a_root_that_is_a_file_does_not_open(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(PathNotDirectory):
        Root.open(tmp_path / "file")


@pytest.mark.parametrize("opener", [beneath.open_by_kernel, beneath.open_by_walk])
def test_a_root_below_a_link_does_not_open(tmp_path: Path, opener: beneath.Opener) -> None:
    (tmp_path / "real/repo").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(SymlinkRejected):
        Root.open(tmp_path / "link/repo", opener=opener)
    Root.open(tmp_path / "real/repo", opener=opener).close()


def test_closing_twice_closes_no_other_descriptor(folder: Path) -> None:
    opened = Root.open(folder)
    opened.close()
    other = os.open(folder, os.O_RDONLY)
    opened.close()

    os.fstat(other)
    os.close(other)


def test_refused_opens_leave_no_descriptor_behind(folder: Path, either_root: Root) -> None:
    (folder / "link").symlink_to("a")
    (folder / "src").mkdir()
    before = sorted(os.listdir("/proc/self/fd"))

    for path in ("link", "link/x", "src", "none", "none/x"):
        with pytest.raises((SymlinkRejected, SpecialFileRejected, FileNotFound)):
            either_root.open_file(path)
    assert sorted(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("refusal", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_that_refuses_the_call_is_walked_around(
    refusal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(directory: int, path: str, flags: int) -> int:
        raise OSError(refusal, "not offered")

    monkeypatch.setattr(beneath, "openat2", refuse)
    beneath.best_opener.cache_clear()
    assert beneath.best_opener() is beneath.open_by_walk
    monkeypatch.undo()
    beneath.best_opener.cache_clear()
    assert beneath.best_opener() is beneath.open_by_kernel


def test_a_nul_never_reaches_the_kernel(folder: Path) -> None:
    (folder / "a").touch()

    opened = Root.open(folder, opener=beneath.open_by_kernel)
    with opened as root, pytest.raises(FileOperationFailed):
        root.open_file("a\0b")


def test_a_race_with_a_rename_is_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really_call, answers = kernel._call, [errno.EAGAIN, errno.EAGAIN]

    def racing(number: int, *arguments: int | bytes) -> int:
        if answers:
            raise OSError(answers.pop(), "raced")
        return really_call(number, *arguments)

    monkeypatch.setattr(kernel, "_call", racing)
    with Root.open(folder, opener=beneath.open_by_kernel) as root:
        assert root.status("missing") is None
    assert answers == []


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (errno.EACCES, "permission denied"),
        (errno.EIO, "input/output error"),
        (errno.EMFILE, "too many open files"),
        (errno.EBADF, "system error"),
    ],
)
def test_a_refusal_by_the_system_is_told_in_fixed_words(
    folder: Path, code: int, reason: str
) -> None:
    def refuse(directory: int, path: str, flags: int) -> int:
        raise OSError(code, "/secret/host/path")

    with Root.open(folder) as root:
        refusing = Root("/", os.dup(root._descriptor), refuse)
        with refusing, pytest.raises(FileOperationFailed) as caught:
            refusing.open_file("a")
    assert caught.value.details == {"path": "a", "reason": reason}
    assert "secret" not in caught.value.message
