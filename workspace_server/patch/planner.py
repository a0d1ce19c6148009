"""A patch and the files it names, to what each path will hold: all in memory, nothing written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workspace_server.domain.errors import (
    AddFileExists,
    FileNotFound,
    InvalidPatch,
    MoveDestinationExists,
    WorkspaceServerError,
)
from workspace_server.patch.file_text import (
    BYTE_ORDER_MARK,
    FileText,
    encode,
    read_text,
    shared_start,
)
from workspace_server.patch.model import (
    AddFile,
    DeleteFile,
    FileImage,
    FileOperation,
    Hunk,
    ParsedPatch,
    PatchFormat,
    PatchLine,
    PathName,
    Plan,
    UpdateFile,
)
from workspace_server.patch.placement import PlacementFailed, place
from workspace_server.patch.refusal import UnplacedFile, refusal
from workspace_server.patch.rewriting import Rewritten, rewrite
from workspace_server.patch.tree import Tree

_PLAIN, _EXECUTABLE = 0o644, 0o755


def plan(patch: ParsedPatch, files: Mapping[str, FileImage | None]) -> Plan:
    """Return what the patch makes of `files`: what each of `patch.paths` holds, or None.

    Raises InvalidPatch (details tell every hunk that fails), FileNotFound, AddFileExists,
    MoveDestinationExists, NotText.
    """
    planner = _Planner(files)
    if patch.format is PatchFormat.UNIFIED:
        planner.tree.lift(_renamed(patch.operations))
    planner.apply(patch.operations)
    return planner.tree.plan()


def _renamed(operations: Sequence[FileOperation]) -> list[str]:
    """Return what a diff renames: it means the old tree, so two files can swap their names."""
    return [
        operation.name.candidates[0]
        for operation in operations
        if isinstance(operation, UpdateFile) and operation.move_to is not None
    ]


class _Planner:
    def __init__(self, files: Mapping[str, FileImage | None]) -> None:
        self.tree = Tree(files)
        self._unplaced: list[UnplacedFile] = []

    def apply(self, operations: Sequence[FileOperation]) -> None:
        """Apply one operation after the other, and tell all hunks that fail together."""
        for operation in operations:
            try:
                self._apply(operation)
            except WorkspaceServerError:
                if self._unplaced:  # perhaps a mere consequence
                    break
                raise
        if self._unplaced:
            raise refusal(self._unplaced)

    def _apply(self, operation: FileOperation) -> None:
        match operation:
            case AddFile():
                self._add(operation)
            case DeleteFile():
                self._delete(operation)
            case UpdateFile() if self._creates(operation):
                lines = operation.hunks[0].lines
                path = operation.name.candidates[0]
                self._add(AddFile(path=path, lines=lines, executable=False))
            case UpdateFile():
                self._update(operation)

    def _add(self, operation: AddFile) -> None:
        if not self.tree.is_free(operation.path):
            raise AddFileExists(
                f"{operation.path} exists already.", details={"path": operation.path}
            )
        content = encode("".join(line.text + line.terminator for line in operation.lines))
        mode = _EXECUTABLE if operation.executable else _PLAIN
        self.tree.add(operation.path, FileImage(content=content, mode=mode))

    def _delete(self, operation: DeleteFile) -> None:
        path = self._existing(operation.name)
        if operation.lines is not None:
            _check_content(path, self.tree.image(path).content, operation.lines)
        self.tree.delete(path)

    def _creates(self, operation: UpdateFile) -> bool:
        """Tell whether this is a new file whose header forgot to say /dev/null."""
        name, hunks = operation.name, operation.hunks
        is_whole = len(hunks) == 1 and hunks[0].is_stated_insertion and not hunks[0].stated_start
        exists = any(self.tree.holds(path) for path in name.candidates)
        is_one_name = name.rival is None and operation.move_to is None
        return is_whole and not hunks[0].old and is_one_name and not exists

    def _update(self, operation: UpdateFile) -> None:
        path = self._existing(operation.name)
        destination = operation.move_to or path
        if destination != path and not self.tree.is_free(destination):
            raise MoveDestinationExists(
                f"{path} cannot move to {destination}, which exists already.",
                details={"path": path, "destination": destination},
            )
        before = self.tree.image(path)
        rewritten = self._rewritten(path, before.content, operation.hunks)
        if rewritten is None:
            return
        mode = _mode(before.mode, operation.executable)
        after = FileImage(content=rewritten.content, mode=mode)
        if after == before and destination == path:
            raise InvalidPatch(
                f"The patch would leave {path} as it is.",
                recovery="Write the lines as they should be after '+', or leave the file out.",
                details={"path": path},
            )
        self.tree.update(path, destination, after, rewritten)

    def _rewritten(self, path: str, content: bytes, hunks: Sequence[Hunk]) -> Rewritten | None:
        """Return the file with its hunks applied, or None if they cannot be placed."""
        if not hunks:
            return Rewritten(content=content, ranges=(), hunks=())
        file, hunks = _with_one_view_of_the_mark(read_text(path, content), hunks)
        try:
            return rewrite(path, file, place(hunks, file.texts))
        except PlacementFailed as failed:
            unplaced = UnplacedFile(path=path, texts=file.texts, hunks=failed.hunks)
            self._unplaced.append(unplaced)
            return None

    def _existing(self, name: PathName) -> str:
        """Return the one file that the name can mean."""
        found = [path for path in name.candidates if self.tree.holds(path)]
        is_rivalled = name.rival is not None and self.tree.holds(name.rival)
        if len(found) > 1 or is_rivalled:
            raise _unclear(name)
        if not found:
            raise _missing(name.candidates[0], self.tree)
        return found[0]


def _unclear(name: PathName) -> InvalidPatch:
    spellings = [*name.candidates, *([name.rival] if name.rival else [])]
    return InvalidPatch(
        f"It is not clear which file the patch means: {' or '.join(spellings)}.",
        recovery="Write the same path in both lines, after a/ and b/; to rename a file, add "
        "'rename from' and 'rename to' lines below 'diff --git'.",
        details={"candidates": spellings},
    )


def _missing(path: str, tree: Tree) -> FileNotFound:
    if tree.held(path):
        return FileNotFound(
            f"{path} is gone: an earlier operation of the patch moved or deleted it.",
            recovery="Use its new path, or change the order of the operations.",
            details={"path": path},
        )
    return FileNotFound(f"{path} does not exist.", details={"path": path})


def _mode(before: int, executable: bool | None) -> int:
    match executable:
        case None:
            return before
        case True:
            return before | (before & 0o444) >> 2  # whoever may read it may run it
        case False:
            return before & ~0o111


def _check_content(path: str, content: bytes, lines: Sequence[PatchLine]) -> None:
    """Refuse to delete a file that holds something else than the patch says."""
    if content == encode("".join(line.text + line.terminator for line in lines)):
        return
    texts = read_text(path, content).texts
    said = [line.text for line in lines]
    if said:
        said[0] = said[0].removeprefix(BYTE_ORDER_MARK)
    if texts != said:
        line = shared_start(texts, said) + 1
        raise InvalidPatch(
            f"{path} holds other lines than those the patch deletes; the first is line {line}.",
            recovery="Read the file; V4A's '*** Delete File: path' deletes it whatever it holds.",
            details={"path": path, "line": line},
        )


def _with_one_view_of_the_mark(
    file: FileText, hunks: Sequence[Hunk]
) -> tuple[FileText, Sequence[Hunk]]:
    """Make file and hunks agree on whether a byte-order mark is part of the first line.

    A hunk that quotes it means it literally. Where the file has none, quoting it is a slip.
    """
    if not any(_quotes_the_mark(hunk) for hunk in hunks):
        return file, hunks
    if file.has_mark:
        return file.with_mark_in_text(), hunks
    there = set(file.texts)
    return file, [
        _without_mark(hunk) if _quotes_the_mark(hunk) and hunk.old[0].text not in there else hunk
        for hunk in hunks
    ]


def _quotes_the_mark(hunk: Hunk) -> bool:
    first = next((line for line in hunk.lines if line.is_old), None)
    return first is not None and first.text.startswith(BYTE_ORDER_MARK)


def _without_mark(hunk: Hunk) -> Hunk:
    lines = [line._replace(text=line.text.removeprefix(BYTE_ORDER_MARK)) for line in hunk.lines]
    return replace(hunk, lines=tuple(lines))
