import errno
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from workspace_server.workspace import beneath, kernel
from workspace_server.workspace.kernel import RENAME_EXCHANGE, RENAME_NOREPLACE, openat2, renameat2


@pytest.fixture
def descriptor(folder: Path) -> Iterator[int]:
    """Hold the folder open, with two files in it."""
    (folder / "a").write_bytes(b"a")
    (folder / "b").write_bytes(b"b")
    opened = os.open(folder, os.O_RDONLY)
    yield opened
    os.close(opened)


def test_an_exchange_swaps_two_files(folder: Path, descriptor: int) -> None:
    renameat2(descriptor, "a", "b", RENAME_EXCHANGE)

    assert ((folder / "a").read_bytes(), (folder / "b").read_bytes()) == (b"b", b"a")


def test_no_replace_leaves_a_taken_name_alone(folder: Path, descriptor: int) -> None:
    with pytest.raises(FileExistsError):
        renameat2(descriptor, "a", "b", RENAME_NOREPLACE)

    assert (folder / "b").read_bytes() == b"b"


def test_a_processor_whose_call_number_is_not_known_has_no_such_call(
    descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")

    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)):
        renameat2(descriptor, "a", "b", RENAME_EXCHANGE)


def test_a_race_that_never_ends_is_given_up(
    descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def racing(number: int, *arguments: int | bytes) -> int:
        raise BlockingIOError(errno.EAGAIN, "raced")

    monkeypatch.setattr(kernel, "_call", racing)
    with pytest.raises(BlockingIOError):
        openat2(descriptor, "a", os.O_RDONLY)


def test_an_unexpected_answer_of_the_probe_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(directory: int, path: str, flags: int) -> int:
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(beneath, "openat2", broken)
    beneath.best_opener.cache_clear()
    with pytest.raises(OSError, match="too many"):
        beneath.best_opener()
