import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workspace_server.domain.errors import FileNotFound, InvalidArguments
from workspace_server.workspace.finder import MAX_FOLDERS_COUNTED, MAX_LIMIT, find
from workspace_server.workspace.root import Root
from workspace_server.workspace.tree_walk import Skipped


def plant(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def test_all_files_are_listed_in_the_order_of_their_bytes(folder: Path, root: Root) -> None:
    plant(folder, "b", "a/z", "a-b", "a/b/c", "Ä", "Z", "😀", "\uffff")
    listing = find(root)

    assert listing.paths == ("Z", "a-b", "a/b/c", "a/z", "b", "Ä", "\uffff", "😀")
    assert (listing.total, listing.truncated, listing.incomplete) == (8, False, False)
    assert (listing.next_offset, listing.counts_by_folder) == (None, ())
    assert listing.skipped == {}


def test_a_glob_picks_files(folder: Path, root: Root) -> None:
    plant(folder, "a.py", "src/b.py", "src/c.txt", "docs/d.py")

    assert find(root, glob="*.py").paths == ("a.py", "docs/d.py", "src/b.py")
    assert find(root, glob="src/*").paths == ("src/b.py", "src/c.txt")
    assert find(root, glob="none").paths == ()


def test_pages_make_up_the_listing(folder: Path, root: Root) -> None:
    plant(folder, *(f"{number:02}" for number in range(25)))
    whole = find(root)
    first, second, third = (find(root, offset=offset, limit=10) for offset in (0, 10, 20))

    assert first.paths + second.paths + third.paths == whole.paths
    assert (first.next_offset, second.next_offset, third.next_offset) == (10, 20, None)
    assert (first.truncated, second.truncated, third.truncated) == (True, True, False)
    assert first.listing_version == third.listing_version == whole.listing_version
    assert find(root, offset=99).paths == ()


def test_the_version_changes_with_the_listing(folder: Path, root: Root) -> None:
    plant(folder, "a", "b")
    before = find(root, limit=1).listing_version
    plant(folder, "c")

    assert find(root, limit=1).listing_version != before


def test_a_cut_listing_counts_files_by_folder(folder: Path, root: Root) -> None:
    plant(folder, "top", "src/a", "src/b", "src/x/c", "docs/d")

    assert find(root, limit=1).counts_by_folder == ((".", 1), ("docs", 1), ("src", 3))
    assert find(root, glob="src/**", limit=1).counts_by_folder == (("src", 2), ("src/x", 1))


def test_of_very_many_folders_the_fullest_are_counted(folder: Path, root: Root) -> None:
    plant(folder, *(f"f{number}/a" for number in range(MAX_FOLDERS_COUNTED + 5)), "zz/a", "zz/b")
    counts = find(root, limit=1).counts_by_folder

    assert len(counts) == MAX_FOLDERS_COUNTED
    assert ("zz", 2) in counts


@pytest.mark.guarantee("field-80")
def test_what_is_ignored_is_counted_and_can_be_listed(folder: Path, root: Root) -> None:
    plant(folder, "a.py", "a.pyc", "b.pyc", "build/out/x", "keep/build")
    (folder / ".gitignore").write_text("*.pyc\nbuild/\n")
    listing = find(root)

    assert listing.paths == (".gitignore", "a.py", "keep/build")
    assert listing.skipped == {Skipped.IGNORED_FILES: 2, Skipped.IGNORED_FOLDERS: 1}
    assert find(root, include_ignored=True).total == 6
    assert find(root, include_ignored=True).skipped == {}


@pytest.mark.guarantee("field-80")
def test_only_what_the_glob_could_mean_counts_as_skipped(folder: Path, root: Root) -> None:
    plant(folder, "a.py", "a.pyc", "src/a.pyc", "docs/build/x")
    (folder / ".gitignore").write_text("*.pyc\nbuild/\n")

    assert find(root, glob="src/*").skipped == {Skipped.IGNORED_FILES: 1}


def test_a_nearer_ignore_file_overrules_a_farther_one(folder: Path, root: Root) -> None:
    plant(folder, "a.log", "src/a.log", "src/deep/a.log", ".git/info/exclude")
    (folder / ".git/info/exclude").write_text("*.txt\n*.log\n")
    (folder / ".gitignore").write_text("/a.log\n")
    (folder / "src/.gitignore").write_text("!a.log\n/deep/*.log\n")

    assert find(root, glob="*.log").paths == ("src/a.log",)


def test_what_a_repository_keeps_is_never_listed(folder: Path, root: Root) -> None:
    plant(folder, ".git/config", "sub/.git/config", "other/.git", "odd/.GIT/config", ".github/x")

    assert find(root, include_ignored=True).paths == (".github/x",)
    assert find(root, glob=".git/**").paths == ()


@pytest.mark.guarantee("field-80")
def test_links_special_files_and_odd_names_are_counted(folder: Path, root: Root) -> None:
    plant(folder, "a")
    (folder / "link").symlink_to("a")
    (folder / "to-folder").symlink_to(".")
    os.mkfifo(folder / "fifo")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).touch()
    listing = find(root)

    assert listing.paths == ("a",)
    assert listing.skipped == {
        Skipped.SYMLINKS: 2,
        Skipped.SPECIAL_FILES: 1,
        Skipped.UNDECODABLE_NAMES: 1,
    }


@pytest.mark.guarantee("field-80")
def test_a_folder_that_cannot_be_read_is_counted(
    folder: Path, root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(folder, "a", "closed/b")
    really_open = root._opener

    def refusing(directory: int, path: str, flags: int) -> int:
        if path == "closed":
            raise OSError(errno.EACCES, "refused")
        return really_open(directory, path, flags)

    monkeypatch.setattr(root, "_opener", refusing)
    assert find(root).paths == ("a",)
    assert find(root).skipped == {Skipped.UNREADABLE_FOLDERS: 1}


@pytest.mark.parametrize("kind", ["link", "folder", "too large"])
def test_an_ignore_file_that_cannot_be_read_says_nothing(
    folder: Path, root: Root, kind: str
) -> None:
    plant(folder, "a", "rules")
    (folder / "rules").write_text("a\n")
    match kind:
        case "link":
            (folder / ".gitignore").symlink_to("rules")
        case "folder":
            (folder / ".gitignore").mkdir()
        case _:
            (folder / ".gitignore").write_text("a\n" + "#" * 2**20)

    assert "a" in find(root).paths


def test_a_walk_that_is_too_long_is_incomplete(folder: Path, root: Root) -> None:
    plant(folder, *(f"f{number}/a" for number in range(20)))
    listing = find(root, max_entries=25)

    assert listing.incomplete
    assert 0 < listing.total < 20
    assert not find(root, max_entries=100).incomplete


def test_a_folder_that_is_too_full_is_incomplete(folder: Path, root: Root) -> None:
    plant(folder, *(f"{number}" for number in range(30)))
    listing = find(root, max_entries=10)

    assert (listing.incomplete, listing.total) == (True, 10)
    assert not find(root, max_entries=30).incomplete


def ticking(seconds: float) -> Callable[[], float]:
    ticks: Iterator[float] = (seconds * count for count in range(1000))
    return lambda: next(ticks)


def test_a_walk_that_takes_too_long_is_incomplete(folder: Path, root: Root) -> None:
    plant(folder, *(f"f{number}/a" for number in range(20)))

    assert find(root, deadline_seconds=10, monotonic=ticking(1)).incomplete
    assert not find(root, deadline_seconds=10, monotonic=ticking(0.1)).incomplete


@pytest.mark.parametrize("page", [{"offset": -1}, {"limit": 0}, {"limit": MAX_LIMIT + 1}])
def test_a_page_out_of_bounds_is_refused(root: Root, page: dict[str, int]) -> None:
    with pytest.raises(InvalidArguments):
        find(root, **page)  # type: ignore[arg-type]


def test_a_root_that_is_gone_is_told(folder: Path, root: Root) -> None:
    folder.rmdir()

    with pytest.raises(FileNotFound, match="workspace folder itself is gone"):
        find(root)


def test_an_empty_workspace_has_an_empty_listing(root: Root) -> None:
    assert find(root).paths == ()
