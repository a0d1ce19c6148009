"""The tools that look at files: workspace_info, read, find."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from workspace_server.domain.version import shown_version
from workspace_server.tools.tool import Annotations, Arguments, Call, Result, Tool
from workspace_server.workspace.finder import Listing, find
from workspace_server.workspace.reader import FileWindow, read_window

Path = Annotated[str, Field(min_length=1, description="Relative to the workspace root.")]
FIND_SECONDS = 10.0


class ReadArguments(Arguments):
    """A window of a file, by lines or by bytes."""

    path: Path
    start_line: Annotated[int, Field(ge=1)] | None = None
    end_line: Annotated[int, Field(ge=1, description="Inclusive.")] | None = None
    offset: Annotated[int, Field(ge=0, description="In bytes.")] | None = None
    limit: Annotated[int, Field(ge=1, le=256 * 1024, description="In bytes.")] | None = None
    line_numbers: bool = False


class ReadResult(Result):
    """What a window of a file holds."""

    path: str
    content: str
    version: str = Field(description="Of the whole file; expected_versions takes it.")
    size_bytes: int
    start_line: int | None = None
    end_line: int | None = None
    total_lines: int | None = None
    start_offset: int
    end_offset: int
    encoding: str
    newline: str
    truncated: bool
    next_line: int | None = None
    next_offset: int | None = None
    content_lossy: bool
    binary: bool


async def read(call: Call, arguments: ReadArguments) -> ReadResult:
    """Read a window of one file."""
    window = await call.services.files.read(
        call.target.root,
        lambda root: read_window(
            root,
            arguments.path,
            start_line=arguments.start_line,
            end_line=arguments.end_line,
            offset=arguments.offset,
            limit=arguments.limit,
            line_numbers=arguments.line_numbers,
        ),
    )
    return _read_result(window)


def _read_result(window: FileWindow) -> ReadResult:
    return ReadResult(
        path=window.path,
        content=window.content,
        version=shown_version(window.version),
        size_bytes=window.size_bytes,
        start_line=window.start_line,
        end_line=window.end_line,
        total_lines=window.total_lines,
        start_offset=window.start_byte,
        end_offset=window.end_byte,
        encoding=window.encoding,
        newline=window.newline,
        truncated=window.truncated,
        next_line=window.next_line,
        next_offset=window.next_offset,
        content_lossy=window.content_lossy,
        binary=window.binary,
    )


def _read_text(result: ReadResult) -> Sequence[str]:
    """The content as it is, then one line about it."""
    facts = [f"version {result.version}", f"{result.size_bytes} bytes"]
    if result.binary:
        facts.append("binary")
    elif not result.size_bytes:
        facts.append("empty")
    elif result.total_lines is not None and not result.content:
        facts.append(f"past the end: it has {result.total_lines} lines")
    elif result.total_lines is not None and result.start_line is not None:
        facts.append(f"lines {result.start_line}-{result.end_line} of {result.total_lines}")
    if result.next_line is not None:
        facts.append(f"go on with start_line={result.next_line}")
    elif result.next_offset is not None:
        facts.append(f"go on with offset={result.next_offset}")
    if result.content_lossy:
        facts.append(f"not all bytes are text ({result.encoding})")
    return (result.content, f"[{result.path}: {'; '.join(facts)}]")


class FindArguments(Arguments):
    """Which files to list."""

    glob: str | None = Field(
        default=None,
        description="Such as *.py (at any depth), src/**/*.ts, {a,b}/*.md. All files without it.",
    )
    include_ignored: bool = Field(
        default=False, description="Also list what the repository's ignore rules leave out."
    )
    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=10_000)] = 200


class FindResult(Result):
    """A page of a sorted listing."""

    paths: list[str]
    total: int
    truncated: bool
    incomplete: bool = Field(description="True: time or size ran out before all was seen.")
    next_offset: int | None = None
    listing_version: str = Field(description="Changes when the listing does.")
    counts_by_folder: dict[str, int] | None = None
    skipped: dict[str, int] = Field(description="How many entries were left out, by reason.")


async def find_files(call: Call, arguments: FindArguments) -> FindResult:
    """List files, sorted, a page at a time."""
    listing = await call.services.files.read(
        call.target.root,
        lambda root: find(
            root,
            glob=arguments.glob,
            include_ignored=arguments.include_ignored,
            offset=arguments.offset,
            limit=arguments.limit,
            deadline_seconds=FIND_SECONDS,
        ),
    )
    return _find_result(listing)


def _find_result(listing: Listing) -> FindResult:
    return FindResult(
        paths=list(listing.paths),
        total=listing.total,
        truncated=listing.truncated,
        incomplete=listing.incomplete,
        next_offset=listing.next_offset,
        listing_version=listing.listing_version,
        counts_by_folder=dict(listing.counts_by_folder) if listing.counts_by_folder else None,
        skipped={reason.value: count for reason, count in listing.skipped.items()},
    )


READ = Tool(
    name="read",
    title="Read a file",
    description=(
        "Read a text file, by default its first 1,000 lines or 32 KiB. Give start_line/end_line, "
        "or offset/limit in bytes, for another part. The result names the version of the whole "
        "file, which expected_versions of apply_patch takes, and where to go on."
    ),
    arguments=ReadArguments,
    result=ReadResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=read,
    text=_read_text,
)

FIND = Tool(
    name="find",
    title="Find files",
    description=(
        "List the workspace's files in sorted order, all or those that match a glob. Ignored "
        "files, links and special files are left out and counted in skipped."
    ),
    arguments=FindArguments,
    result=FindResult,
    annotations=Annotations(read_only=True, idempotent=True),
    run=find_files,
)
