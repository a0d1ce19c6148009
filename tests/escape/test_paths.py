"""No path that a client can name leads out of the workspace, nor makes the server wait."""

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from workspace_server.domain.errors import (
    FileNotFound,
    PathEscape,
    PathNotDirectory,
    SpecialFileRejected,
    SymlinkRejected,
    VersionConflict,
    WorkspaceServerError,
)
from workspace_server.workspace.atomic_write import publish, remove, snapshot, stage
from workspace_server.workspace.beneath import Opener, open_by_kernel, open_by_walk
from workspace_server.workspace.finder import find
from workspace_server.workspace.kernel import RENAME_EXCHANGE, renameat2
from workspace_server.workspace.reader import read_window
from workspace_server.workspace.root import Root

pytestmark = pytest.mark.timeout(20)

SECRET = b"secret of the neighbour"
RACE_ROUNDS = 3000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace with a secret beside it, in a folder whose name begins the same."""
    folder = tmp_path / "repo"
    (folder / "src").mkdir(parents=True)
    (folder / "src/file").write_bytes(b"inside")
    (tmp_path / "repo-secret").mkdir()
    (tmp_path / "repo-secret/file").write_bytes(SECRET)
    return folder


@pytest.fixture(params=[open_by_kernel, open_by_walk])
def root(folder: Path, request: pytest.FixtureRequest) -> Iterator[Root]:
    """Open the workspace in each way there is."""
    opener: Opener = request.param
    with Root.open(folder, opener=opener) as opened:
        yield opened


def neighbour(folder: Path) -> Path:
    return folder.parent / "repo-secret"


def untouched(folder: Path) -> bool:
    """Tell whether the neighbour's folder is as it was made."""
    files = {path.name: path.read_bytes() for path in neighbour(folder).iterdir()}
    return files == {"file": SECRET}


OUTWARD = [
    "../repo-secret/file",
    "src/../../repo-secret/file",
    "src/./.././../repo-secret/file",
    "..",
    "/etc/passwd",
    "//etc/passwd",
    "src/file\0.txt",
    "",
]


@pytest.mark.parametrize("path", OUTWARD)
@pytest.mark.guarantee("field-78")
@pytest.mark.guarantee("files-stay-beneath-the-root")
def test_a_path_that_leads_out_is_an_escape(root: Root, path: str) -> None:
    with pytest.raises(PathEscape):
        read_window(root, path)


@pytest.mark.parametrize("path", ["../repo-secret/file", "src/../../repo-secret/file"])
@pytest.mark.guarantee("field-78")
def test_the_root_itself_refuses_what_no_parser_has_seen(root: Root, path: str) -> None:
    """The second line of defence: the same paths, handed to the root unparsed."""
    for attempt in (root.open_file, root.open_folder, root.status):
        with pytest.raises(PathEscape):
            attempt(path)


@pytest.mark.parametrize("path", ["~/.ssh/id_ed25519", "$HOME/.netrc", "file:///etc/passwd"])
def test_a_path_is_never_expanded(root: Root, path: str) -> None:
    with pytest.raises(FileNotFound):
        read_window(root, path)


@pytest.mark.parametrize("glob", ["../*", "../repo-secret/*", "/etc/*", "{src,../repo-secret}/*"])
def test_a_glob_that_leads_out_is_an_escape(root: Root, glob: str) -> None:
    with pytest.raises(PathEscape):
        find(root, glob=glob)


def link_somewhere(folder: Path, target: str) -> tuple[str, str, str]:
    """Return paths to the target's file with a link as first, middle and last component."""
    (folder / "first").symlink_to(target)
    (folder / "src/middle").symlink_to(target)
    (folder / "src/last").symlink_to(f"{target}/file")
    return "first/file", "src/middle/file", "src/last"


@pytest.mark.parametrize("target", ["outside", "inside", "relative"])
@pytest.mark.guarantee("field-78")
@pytest.mark.guarantee("files-stay-beneath-the-root")
def test_a_link_in_any_component_is_refused(folder: Path, root: Root, target: str) -> None:
    targets = {
        "outside": str(neighbour(folder)),
        "inside": str(folder / "src"),
        "relative": "../../repo-secret",
    }
    for path in link_somewhere(folder, targets[target]):
        for attempt in (root.open_file, root.status, lambda path: snapshot(root, path)):
            with pytest.raises(SymlinkRejected):
                attempt(path)
        with pytest.raises(SymlinkRejected):
            read_window(root, path)


def test_a_link_to_a_folder_is_neither_opened_nor_listed(folder: Path, root: Root) -> None:
    (folder / "link").symlink_to(neighbour(folder))

    with pytest.raises(SymlinkRejected):
        root.open_folder("link")
    assert find(root).paths == ("src/file",)


@pytest.mark.parametrize("target", ["/proc/self/environ", "/proc/self/fd/0", "/dev/zero"])
def test_a_link_into_the_system_is_refused(folder: Path, root: Root, target: str) -> None:
    (folder / "link").symlink_to(target)

    with pytest.raises(SymlinkRejected):
        read_window(root, "link")


@pytest.mark.guarantee("field-77")
def test_nothing_is_created_through_a_linked_folder(folder: Path, root: Root) -> None:
    (folder / "link").symlink_to(neighbour(folder))

    with pytest.raises(SymlinkRejected):
        stage(root, "link/new", b"x", 0o644, ".temporary")
    with pytest.raises(SymlinkRejected):
        root.make_folders("link/new/file")
    with pytest.raises(SymlinkRejected):
        root.make_folders("link/file")
    assert untouched(folder)


@pytest.mark.guarantee("field-77")
def test_nothing_is_created_through_a_link_that_leads_nowhere(folder: Path, root: Root) -> None:
    stage(root, "link", b"x", 0o644, ".temporary")
    (folder / "link").symlink_to(neighbour(folder) / "new")

    with pytest.raises(SymlinkRejected):
        stage(root, "link", b"x", 0o644, ".other")
    with pytest.raises(VersionConflict):
        publish(root, "link", ".temporary", None)
    assert untouched(folder)


def test_a_file_swapped_for_a_link_is_neither_replaced_nor_removed(
    folder: Path, root: Root
) -> None:
    found = snapshot(root, "src/file")
    assert found is not None
    stage(root, "src/file", b"x", 0o644, ".temporary")
    (folder / "src/file").unlink()
    (folder / "src/file").symlink_to(neighbour(folder) / "file")

    with pytest.raises(VersionConflict):
        publish(root, "src/file", ".temporary", found.identity)
    with pytest.raises(VersionConflict):
        remove(root, "src/file", ".other", found.identity)
    assert (folder / "src/file").is_symlink()
    assert untouched(folder)


@contextmanager
def special_files(folder: Path) -> Iterator[list[str]]:
    """Make a FIFO, a socket and, where one may, a device that never ends."""
    os.mkfifo(folder / "fifo")
    names = ["fifo", "socket"]
    if os.geteuid() == 0:
        os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        names.append("device")
    with socket.socket(socket.AF_UNIX) as listener:
        # By way of a descriptor, since a socket's path may only be short.
        at = os.open(folder, os.O_PATH)
        listener.bind(f"/proc/self/fd/{at}/socket")
        os.close(at)
        yield names


@pytest.mark.guarantee("files-special-never-opened")
def test_special_files_are_refused_without_waiting(folder: Path, root: Root) -> None:
    with special_files(folder) as names:
        for name in names:
            for attempt in (root.open_file, lambda path: snapshot(root, path)):
                with pytest.raises(SpecialFileRejected):
                    attempt(name)
            with pytest.raises(SpecialFileRejected):
                read_window(root, name)
            with pytest.raises(PathNotDirectory):
                root.open_folder(name)
        assert find(root).skipped == {"special_files": len(names)}


def test_a_file_swapped_for_a_fifo_after_the_look_is_refused_without_waiting(
    folder: Path,
) -> None:
    os.mkfifo(folder / "fifo")

    def swapping(directory: int, path: str, flags: int) -> int:
        looks = bool(flags & os.O_PATH)
        return open_by_walk(directory, "src/file" if looks else "fifo", flags)

    swapped = Root(str(folder), os.open(folder, os.O_RDONLY), swapping)
    with swapped, pytest.raises(SpecialFileRejected):
        swapped.open_file("src/file")


@contextmanager
def exchanging(folder: Path, one: str, other: str) -> Iterator[None]:
    """Exchange two names in another thread, as fast as it can, while the block runs."""
    done = threading.Event()
    directory = os.open(folder, os.O_RDONLY)

    def exchange() -> None:
        while not done.is_set():
            renameat2(directory, one, other, RENAME_EXCHANGE)

    racer = threading.Thread(target=exchange)
    racer.start()
    try:
        yield
    finally:
        done.set()
        racer.join()
        os.close(directory)


def outcomes(attempt: Callable[[], bytes], rounds: int) -> set[bytes | str]:
    """Return all that was ever read, or the code of the refusal."""
    seen: set[bytes | str] = set()
    for _ in range(rounds):
        try:
            seen.add(attempt())
        except WorkspaceServerError as refusal:
            seen.add(refusal.code)
        except OSError:
            seen.add("refused")
        if {SECRET, b"inside"} <= seen:
            break
    return seen


def checked_then_opened(folder: Path) -> bytes:
    """Read as one would naively: look where the path leads, then open it by name."""
    path = folder / "src/file"
    if not path.resolve().is_relative_to(folder):
        raise PathEscape("outside")
    return path.read_bytes()


def test_control_a_check_before_opening_reads_the_secret(folder: Path) -> None:
    """Shows that the race of the next tests is one: the naive reader loses it."""
    (folder / "link").symlink_to(neighbour(folder))
    with exchanging(folder, "src", "link"):
        seen = outcomes(lambda: checked_then_opened(folder), RACE_ROUNDS * 20)

    assert SECRET in seen


def test_a_folder_exchanged_for_a_link_while_reading_shows_nothing(
    folder: Path, root: Root
) -> None:
    (folder / "link").symlink_to(neighbour(folder))
    with exchanging(folder, "src", "link"):
        seen = outcomes(lambda: read_window(root, "src/file").content.encode(), RACE_ROUNDS)

    assert SECRET not in seen
    assert {b"inside", SymlinkRejected.code} <= seen


def test_a_folder_exchanged_for_a_link_while_listing_shows_nothing(
    folder: Path, root: Root
) -> None:
    (neighbour(folder) / "secret-name").touch()
    (folder / "link").symlink_to(neighbour(folder))
    with exchanging(folder, "src", "link"):
        names = {path for _ in range(RACE_ROUNDS // 3) for path in find(root).paths}

    assert "src/file" in names
    assert not any("secret-name" in name for name in names)


@pytest.mark.guarantee("files-stay-beneath-the-root")
def test_a_folder_exchanged_for_a_link_while_writing_changes_nothing_outside(
    folder: Path, root: Root
) -> None:
    (folder / "link").symlink_to(neighbour(folder))

    def write() -> bytes:
        found = snapshot(root, "src/file")
        assert found is not None
        stage(root, "src/file", b"inside", 0o644, ".temporary")
        publish(root, "src/file", ".temporary", found.identity)
        return b"written"

    with exchanging(folder, "src", "link"):
        seen = outcomes(write, RACE_ROUNDS // 3)

    assert "SYMLINK_REJECTED" in seen
    assert untouched(folder)
