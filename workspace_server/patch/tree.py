"""The files of a patch while its operations are applied to them, one after the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from workspace_server.domain.errors import InvalidPatch
from workspace_server.domain.paths import parent_of
from workspace_server.patch.file_text import shared_start
from workspace_server.patch.model import (
    ChangeKind,
    FileImage,
    FileReport,
    HunkReport,
    LineRange,
    PathChange,
    Plan,
)
from workspace_server.patch.rewriting import Rewritten


@dataclass(frozen=True, kw_only=True)
class _File:
    """A file as it is by now, and how it came to be so."""

    image: FileImage
    origin: str | None  # where it was before the patch; None: the patch made it
    updates: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    ranges: tuple[LineRange, ...] = ()
    hunks: tuple[HunkReport, ...] = ()


class Tree:
    """What the paths hold, before the patch and by now."""

    def __init__(self, before: Mapping[str, FileImage | None]) -> None:
        self._before = before
        self._now = {
            path: _File(image=image, origin=path) for path, image in before.items() if image
        }
        self._lifted: dict[str, _File] = {}

    def lift(self, paths: Iterable[str]) -> None:
        """Take files that will move off their paths, so that others can move there first."""
        for path in paths:
            if path in self._now:
                self._lifted[path] = self._now.pop(path)

    def holds(self, path: str) -> bool:
        """Tell whether a file is there to be changed, if only to be moved away."""
        return path in self._now or path in self._lifted

    def is_free(self, path: str) -> bool:
        """Tell whether a file may be put there."""
        return path not in self._now

    def held(self, path: str) -> bool:
        """Tell whether a file was there before the patch."""
        return self._before.get(path) is not None

    def image(self, path: str) -> FileImage:
        """Return what a path holds by now; something must be there."""
        return self._file(path).image

    def add(self, path: str, image: FileImage) -> None:
        """Put a new file there."""
        lines = _lines(image)
        self._now[path] = _File(
            image=image,
            origin=None,
            lines_added=lines,
            lines_removed=_lines(self._before.get(path)),
            ranges=(LineRange(start=1, end=lines),) if lines else (),
        )

    def delete(self, path: str) -> None:
        """Take the file away."""
        self._take(path)

    def update(self, path: str, destination: str, image: FileImage, made: Rewritten) -> None:
        """Give a file new content, mode or path."""
        file = self._take(path)
        updates = file.updates + bool(made.hunks)
        self._now[destination] = replace(
            file,
            image=image,
            updates=updates,
            lines_added=file.lines_added + sum(hunk.lines_added for hunk in made.hunks),
            lines_removed=file.lines_removed + sum(hunk.lines_removed for hunk in made.hunks),
            ranges=made.ranges or file.ranges,
            hunks=file.hunks + made.hunks,
        )

    def plan(self) -> Plan:
        """Return what changed on the whole; raise InvalidPatch if nothing did."""
        changes = tuple(
            PathChange(path=path, before=self._before.get(path), after=self._image(path))
            for path in dict.fromkeys((*self._before, *self._now))
            if self._before.get(path) != self._image(path)
        )
        if not changes:
            raise InvalidPatch(
                "The patch as a whole changes nothing.",
                recovery="Nothing need be done if the files are as they should be.",
            )
        self._check_folders()
        reports = (self._report(change) for change in changes)
        return Plan(changes=changes, files=tuple(report for report in reports if report))

    def _check_folders(self) -> None:
        """Refuse a tree in which one path is a file and a folder."""
        for path in self._now:
            folder = parent_of(path)
            while folder != ".":
                if folder in self._now:
                    raise InvalidPatch(
                        f"{folder} would be a file, and a folder for {path}.",
                        recovery="Delete or move the file in the same patch, or use another path.",
                        details={"path": folder},
                    )
                folder = parent_of(folder)

    def _report(self, change: PathChange) -> FileReport | None:
        file = self._now.get(change.path)
        if file is None:
            return self._report_of_deletion(change)
        origin = self._before.get(file.origin) if file.origin else change.before
        return FileReport(
            path=change.path,
            kind=self._kind(change, file),
            moved_from=file.origin if file.origin != change.path else None,
            lines_added=file.lines_added,
            lines_removed=file.lines_removed,
            ranges=file.ranges if file.updates < 2 else _changed(origin, file.image),
            hunks=file.hunks,
            mode_changed=origin is not None and origin.mode != file.image.mode,
        )

    def _report_of_deletion(self, change: PathChange) -> FileReport | None:
        if any(file.origin == change.path for file in self._now.values()):
            return None  # told where it moved to
        return FileReport(
            path=change.path,
            kind=ChangeKind.DELETE,
            moved_from=None,
            lines_added=0,
            lines_removed=_lines(change.before),
            ranges=(),
            hunks=(),
            mode_changed=False,
        )

    def _kind(self, change: PathChange, file: _File) -> ChangeKind:
        if file.origin not in (None, change.path):
            return ChangeKind.MOVE
        return ChangeKind.UPDATE if change.before else ChangeKind.ADD

    def _image(self, path: str) -> FileImage | None:
        return self._now[path].image if path in self._now else None

    def _file(self, path: str) -> _File:
        return self._lifted.get(path) or self._now[path]

    def _take(self, path: str) -> _File:
        return self._lifted.pop(path) if path in self._lifted else self._now.pop(path)


def _lines(image: FileImage | None) -> int:
    if image is None or not image.content:
        return 0
    return image.content.count(b"\n") + (not image.content.endswith(b"\n"))


def _changed(before: FileImage | None, after: FileImage) -> tuple[LineRange, ...]:
    """Return the one range that holds all that differs: after several updates, no more is known."""
    old = before.content.split(b"\n") if before else []
    new = after.content.split(b"\n")
    start = shared_start(old, new)
    end = len(new) - shared_start(old[start:][::-1], new[start:][::-1])
    return (LineRange(start=start + 1, end=end),) if end > start else ()
