"""Verdicts as a client and the ledger get to see them."""

from collections.abc import Sequence

from workspace_server.domain.json_value import JsonValue
from workspace_server.domain.operation import OperationStatus
from workspace_server.domain.version import shown_version
from workspace_server.patch.undo import PathVerdict

MAX_TOLD = 20  # a failure has to stay short
MEND_BY_HAND = "Not everything could be put back: read the files in details.paths and mend them."


def status_of(verdicts: Sequence[PathVerdict]) -> OperationStatus:
    """Return what the paths of an undone patch add up to."""
    if all(each.is_as_before for each in verdicts):
        return OperationStatus.FAILED_ROLLED_BACK
    return OperationStatus.FAILED_PARTIAL


def told(status: OperationStatus, verdicts: Sequence[PathVerdict]) -> dict[str, JsonValue]:
    """Return the details of a failure: its status and paths, those that matter most first."""
    ordered = sorted(verdicts, key=lambda each: each.is_as_before)
    details: dict[str, JsonValue] = {
        "status": status,
        "paths": [_told(each) for each in ordered[:MAX_TOLD]],
    }
    if len(ordered) > MAX_TOLD:
        details["paths_omitted"] = len(ordered) - MAX_TOLD
    return details


def _told(judged: PathVerdict) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {
        "path": judged.entry.path,
        "verdict": judged.verdict,
        "before": shown_version(judged.entry.before_version),
        "after": shown_version(judged.entry.after_version),
    }
    if judged.now is not None:
        told["now"] = shown_version(judged.now)
    return told
