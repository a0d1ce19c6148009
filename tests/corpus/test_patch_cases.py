"""Each folder of the corpus: an input tree, a patch, the tree expected and the outcome."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.patches import write_plan
from tests.support.trees import Tree, tree_of
from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.patch.file_text import decode
from workspace_server.patch.model import FileImage, FileReport, ParsedPatch, Plan
from workspace_server.patch.parser import parse_patch
from workspace_server.patch.planner import plan
from workspace_server.workspace.atomic_write import snapshot
from workspace_server.workspace.root import Root

_CASES = sorted(Path(__file__).parent.joinpath("patch").glob("*/patch.txt"))


@pytest.mark.parametrize("patch_file", _CASES, ids=lambda path: path.parent.name)
def test_tree_and_outcome_are_as_the_case_says(patch_file: Path, tmp_path: Path) -> None:
    case, tree = patch_file.parent, tmp_path / "tree"
    _copy(case / "input", tree)
    _copy(case / "expected", tmp_path / "expected")
    found = _outcome(decode(patch_file.read_bytes()), tree)
    assert found == json.loads((case / "outcome.json").read_text())
    assert _files(tree) == _files(tmp_path / "expected")


def test_there_are_cases() -> None:
    assert len(_CASES) > 150


def _outcome(text: str, tree: Path) -> dict[str, object]:
    try:
        planned = _planned(parse_patch(text, None), tree)
    except WorkspaceServerError as error:
        return {"code": error.code}
    write_plan(planned, tree)
    return {"files": [_told(report) for report in planned.files]}


def _planned(patch: ParsedPatch, tree: Path) -> Plan:
    root = Root.open(tree)
    try:
        found = {path: snapshot(root, path) for path in patch.paths}
    finally:
        root.close()
    return plan(
        patch,
        {
            path: FileImage(content=seen.content, mode=seen.mode) if seen else None
            for path, seen in found.items()
        },
    )


def _told(report: FileReport) -> str:
    origin = f" from {report.moved_from}" if report.moved_from else ""
    return f"{report.kind} {report.path}{origin}"


def _copy(source: Path, target: Path) -> None:
    if source.exists():
        shutil.copytree(source, target)
    target.mkdir(exist_ok=True)


def _files(folder: Path) -> Tree:
    """Return the files with their executable bits; the other mode bits are the checkout's."""
    return {
        path: (mode & 0o111, content)
        for path, (mode, content) in tree_of(folder).items()
        if content is not None
    }
