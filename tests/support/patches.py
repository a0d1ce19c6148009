"""Patches applied to trees that are just values, and plans written to a folder."""

from collections.abc import Mapping
from pathlib import Path

from workspace_server.patch.model import FileImage, Plan
from workspace_server.patch.parser import parse_patch
from workspace_server.patch.planner import plan


def planned(text: str, files: Mapping[str, bytes]) -> Plan:
    """Plan a patch on files of mode 0o644."""
    patch = parse_patch(text, None)
    images = {path: FileImage(content=content, mode=0o644) for path, content in files.items()}
    return plan(patch, {path: images.get(path) for path in patch.paths})


def patched(text: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return what the files hold after the patch."""
    after = dict(files)
    for change in planned(text, files).changes:
        if change.after:
            after[change.path] = change.after.content
        else:
            del after[change.path]
    return after


def v4a(*lines: str) -> str:
    """Return a V4A document with these lines between its markers."""
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


def write_plan(planned: Plan, folder: Path) -> None:
    """Make the folder hold what the plan says."""
    for change in planned.changes:
        path = folder / change.path
        if change.after is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change.after.content)
        path.chmod(change.after.mode)
