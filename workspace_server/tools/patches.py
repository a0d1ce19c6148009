"""The tool that changes files: apply_patch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from workspace_server.domain.errors import InvalidArguments, LedgerUnavailable
from workspace_server.domain.failure import stored_failure
from workspace_server.domain.json_value import JsonObject
from workspace_server.domain.operation import Operation, OperationKind, OperationStatus
from workspace_server.domain.paths import parse_path
from workspace_server.domain.version import ABSENT, full_version, is_version, shown_version
from workspace_server.patch.applier import PatchApplier, PatchRequest
from workspace_server.patch.model import FileReport, PatchFormat, Plan
from workspace_server.patch.parser import parse_patch
from workspace_server.tools.settling import settled
from workspace_server.tools.tool import (
    Annotations,
    Call,
    Mutation,
    MutationArguments,
    MutationResult,
    Result,
    Tool,
)

# What was done must be told however much it is; so it is told in part.
MAX_FILES = 200
MAX_HUNKS = 50  # of one file


class ApplyPatchArguments(MutationArguments):
    """A patch and what it expects to find."""

    patch: Annotated[str, Field(min_length=1, description="V4A or a unified diff.")]
    format: Literal["v4a", "unified"] | None = Field(
        default=None, description="Recognised without it."
    )
    expected_versions: dict[str, str] | None = Field(
        default=None,
        description="Path to the version that read gave, or to 'absent'. A mismatch is "
        "VERSION_CONFLICT and nothing is written.",
    )
    check_only: bool = Field(default=False, description="Plan and report; write nothing.")

    @property
    def only_previews(self) -> bool:
        """A check writes nothing, takes no lease and uses up no key."""
        return self.check_only


class HunkResult(Result):
    """How one hunk was matched."""

    matched: str
    old_start: int
    new_start: int


class FileResult(Result):
    """What the patch made of one file."""

    path: str
    kind: Literal["add", "update", "delete", "move"]
    moved_from: str | None = None
    version: str = Field(description="After the patch; 'absent' for a deleted file.")
    lines_added: int
    lines_removed: int
    ranges: list[tuple[int, int]] | None = Field(
        default=None, description="Changed lines of the new file, first and last."
    )
    hunks: list[HunkResult] | None = None
    hunks_not_listed: int | None = None


class ApplyPatchResult(MutationResult):
    """What was done, so that nothing need be read again."""

    status: Literal["applied", "checked"]
    files: list[FileResult]
    files_not_listed: int | None = Field(default=None, description="Beyond the first 200.")


@dataclass(frozen=True, kw_only=True)
class _PreparedPatch:
    applier: PatchApplier
    request: PatchRequest
    process: None = None

    async def perform(self, operation: Operation) -> None:
        def report(plan: Plan) -> JsonObject:
            result = _result(plan, "applied", operation.operation_id)
            return result.model_dump(mode="json", exclude_none=True)

        await self.applier.apply(operation, self.request, report)


async def check(call: Call, arguments: ApplyPatchArguments) -> ApplyPatchResult:
    """Tell what the patch would do."""
    plan = await call.services.patches.preview(await _request(call, arguments))
    return _result(plan, "checked", None)


async def prepare(call: Call, arguments: ApplyPatchArguments, operation_id: str) -> _PreparedPatch:
    """Parse and place the patch; nothing is written."""
    request = await _request(call, arguments)
    await call.services.patches.check(request)
    return _PreparedPatch(applier=call.services.patches, request=request)


async def answer(
    call: Call, arguments: ApplyPatchArguments, operation: Operation
) -> ApplyPatchResult:
    """Return the stored result, or raise the stored failure."""
    operation = await settled(call, operation)
    if operation.status is OperationStatus.APPLIED and operation.outcome is not None:
        return ApplyPatchResult.model_validate(operation.outcome)
    if operation.outcome is not None:
        raise stored_failure(operation.outcome)
    raise LedgerUnavailable(
        "The patch was begun and its outcome is not recorded yet.",
        recovery=f'Look it up: operation_status(operation_id="{operation.operation_id}").',
        operation_id=operation.operation_id,
        details={"status": operation.status.value},
        retryable=False,
    )


async def _request(call: Call, arguments: ApplyPatchArguments) -> PatchRequest:
    format = PatchFormat(arguments.format) if arguments.format else None
    return PatchRequest(
        root=call.target.root,
        patch=await call.services.files.compute(lambda: parse_patch(arguments.patch, format)),
        expected_versions={
            parse_path(path): _checked_version(path, version)
            for path, version in (arguments.expected_versions or {}).items()
        },
    )


def _checked_version(path: str, version: str) -> str:
    if not is_version(version):
        raise InvalidArguments(
            f"expected_versions: {version!r} for {path!r} is no version.",
            recovery="Give the version that read returned, or 'absent'.",
            details={"field": f"expected_versions.{path}"},
        )
    return version


def _result(
    plan: Plan, status: Literal["applied", "checked"], operation_id: str | None
) -> ApplyPatchResult:
    versions = {
        change.path: full_version(change.after.content) if change.after else ABSENT
        for change in plan.changes
    }
    return ApplyPatchResult(
        operation_id=operation_id,
        status=status,
        files=[
            _file(report, versions.get(report.path, ABSENT)) for report in plan.files[:MAX_FILES]
        ],
        files_not_listed=max(len(plan.files) - MAX_FILES, 0) or None,
    )


def _file(report: FileReport, version: str) -> FileResult:
    return FileResult(
        path=report.path,
        kind=report.kind.value,
        moved_from=report.moved_from,
        version=shown_version(version),
        lines_added=report.lines_added,
        lines_removed=report.lines_removed,
        ranges=[(each.start, each.end) for each in report.ranges[:MAX_HUNKS]] or None,
        hunks=[
            HunkResult(matched=hunk.matched, old_start=hunk.old_start, new_start=hunk.new_start)
            for hunk in report.hunks[:MAX_HUNKS]
        ]
        or None,
        hunks_not_listed=max(len(report.hunks) - MAX_HUNKS, 0) or None,
    )


def _text(result: ApplyPatchResult) -> Sequence[str]:
    head = "Applied." if result.status == "applied" else "Would apply; nothing is written."
    if result.replayed:
        head = "Was applied before; nothing was done now."
    lines = [head + (f" {result.operation_id}" if result.operation_id else "")]
    lines += [_file_line(file) for file in result.files]
    if result.files_not_listed:
        lines.append(f"and {result.files_not_listed} files more")
    return ("\n".join(lines),)


def _file_line(file: FileResult) -> str:
    moved = f" (from {file.moved_from})" if file.moved_from else ""
    ranges = ", ".join(f"{start}-{end}" for start, end in file.ranges or [])
    lines = f", lines {ranges}" if ranges else ""
    return (
        f"{file.kind} {file.path}{moved}: +{file.lines_added} -{file.lines_removed}{lines}; "
        f"version {file.version}"
    )


APPLY_PATCH = Tool(
    name="apply_patch",
    title="Change files",
    description=(
        "Add, update, move or delete files by a patch: all of it or nothing. V4A:\n"
        "*** Begin Patch\n*** Update File: path\n@@ class Name\n context line\n-old line\n"
        "+new line\n*** Add File: path\n+content\n*** Delete File: path\n*** End Patch\n"
        "('*** Move to: path' after an Update header moves the file.) Or a unified diff, as git "
        "makes it; line numbers may be off. Context must match the file exactly at one place: "
        "give about three lines around each change. The result has the new versions, so the file "
        "need not be read again. A failure says what to do next; nothing is changed then, unless "
        "its status is failed_partial."
    ),
    arguments=ApplyPatchArguments,
    result=ApplyPatchResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=False),
    run=check,
    mutation=Mutation(kind=OperationKind.PATCH, prepare=prepare, answer=answer),
    text=_text,
)
