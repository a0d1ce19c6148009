"""Bounded, sorted listings of a workspace's files."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from workspace_server.domain.errors import InvalidArguments
from workspace_server.workspace.glob_pattern import parse_glob
from workspace_server.workspace.root import Root
from workspace_server.workspace.tree_walk import MAX_ENTRIES, MAX_SECONDS, Skipped, TreeWalk

DEFAULT_LIMIT = 200
MAX_LIMIT = 10_000
MAX_FOLDERS_COUNTED = 40


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A page of the paths that a glob asks for, sorted by their bytes."""

    paths: tuple[str, ...]
    truncated: bool  # there are more after this page
    incomplete: bool  # the walk met its bound, so the whole listing may lack files
    next_offset: int | None
    listing_version: str  # equal for equal listings: pages of two versions do not fit together
    total: int
    counts_by_folder: tuple[tuple[str, int], ...]  # of the whole listing; empty if all is shown
    skipped: Mapping[Skipped, int]


def find(
    root: Root,
    *,
    glob: str | None = None,
    include_ignored: bool = False,
    offset: int = 0,
    limit: int = DEFAULT_LIMIT,
    max_entries: int = MAX_ENTRIES,
    deadline_seconds: float = MAX_SECONDS,
    monotonic: Callable[[], float] = time.monotonic,
) -> Listing:
    """List the regular files that `glob` fits, from `offset` on, at most `limit` (10,000).

    Raises InvalidArguments for a malformed glob and bounds, PathEscape for a glob that leads out,
    FileNotFound if the root is gone.
    """
    _check_page(offset, limit)
    walk = TreeWalk(
        root,
        glob=None if glob is None else parse_glob(glob),
        include_ignored=include_ignored,
        max_entries=max_entries,
        max_seconds=deadline_seconds,
        monotonic=monotonic,
    )
    return _page(sorted(walk.files()), offset, limit, walk)


def _page(listing: list[str], offset: int, limit: int, walk: TreeWalk) -> Listing:
    paths = tuple(listing[offset : offset + limit])
    has_more = offset + limit < len(listing)
    return Listing(
        paths=paths,
        truncated=has_more,
        incomplete=not walk.is_complete,
        next_offset=offset + limit if has_more else None,
        listing_version=_version(listing),
        total=len(listing),
        counts_by_folder=_counts_by_folder(listing) if len(paths) < len(listing) else (),
        skipped=dict(walk.skipped),
    )


def _check_page(offset: int, limit: int) -> None:
    if offset < 0:
        raise _out_of_bounds("offset", "at least 0")
    if not 1 <= limit <= MAX_LIMIT:
        raise _out_of_bounds("limit", f"from 1 to {MAX_LIMIT}")


def _out_of_bounds(field: str, bounds: str) -> InvalidArguments:
    return InvalidArguments(
        f"{field} is out of bounds.",
        recovery=f"Give {field} as a number {bounds}.",
        details={"field": field},
    )


def _version(listing: list[str]) -> str:
    joined = "\0".join(listing).encode()
    return f"sha256:{hashlib.sha256(joined).hexdigest()[:16]}"


def _counts_by_folder(listing: list[str]) -> tuple[tuple[str, int], ...]:
    """Count by the folders directly below what all paths have in common, the 40 fullest of them."""
    folders = [path.split("/")[:-1] for path in listing]
    depth = _common_depth(folders) + 1
    counts = Counter("/".join(folder[:depth]) or "." for folder in folders)
    return tuple(sorted(counts.most_common(MAX_FOLDERS_COUNTED)))


def _common_depth(folders: Sequence[list[str]]) -> int:
    # In sorted order the first and the last differ as early as any two.
    first, last = min(folders), max(folders)
    same = [one == other for one, other in zip(first, last, strict=False)]
    return same.index(False) if False in same else len(same)
