"""Every failure a client can meet: one class per code, and the class name is the code."""

import re
from collections.abc import Mapping
from typing import ClassVar

from workspace_server.domain.json_value import JsonValue


class WorkspaceServerError(Exception):
    """A failure with a stable code, a message that is safe to show and a way on.

    `message`, `recovery` and `details` reach the client: no host path, no exception text of a
    library, no secret. The private cause is the exception's `__cause__`, for the log alone.
    """

    code: ClassVar[str]
    retryable: bool = False  # may the same call succeed later without any change?
    default_recovery: ClassVar[str | None] = None

    def __init__(
        self,
        message: str,
        *,
        recovery: str | None = None,
        details: Mapping[str, JsonValue] | None = None,
        operation_id: str | None = None,
        process_id: str | None = None,
        approval_id: str | None = None,
        retry_after_ms: int | None = None,
        retryable: bool | None = None,  # where it differs from what the class says
    ) -> None:
        super().__init__(message)
        self.message = message
        self.recovery = recovery or self.default_recovery
        self.details: dict[str, JsonValue] = dict(details or {})
        self.operation_id = operation_id
        self.process_id = process_id
        self.approval_id = approval_id
        self.retry_after_ms = retry_after_ms
        if retryable is not None:
            self.retryable = retryable

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()


# access, arguments


class Unauthorized(WorkspaceServerError):
    """The workspace's policy denies this call; nothing was recorded as an operation."""

    default_recovery = "Use a read tool, or ask the operator to change the workspace's profile."


class Unavailable(WorkspaceServerError):
    """The server is shutting down, or the thing named is not offered to this caller."""

    retryable = True
    default_recovery = "Call again when the server is back; look up mutations by operation_key."


class InvalidArguments(WorkspaceServerError):
    """An argument is undeclared, missing, mistyped or out of bounds; nothing was recorded."""


class WorkspaceNotFound(WorkspaceServerError):
    """No workspace of that id exists in this caller's view."""

    default_recovery = "Call workspace_info without arguments for the registered workspaces."


# contention


class WorkspaceBusy(WorkspaceServerError):
    """Somebody else holds the lease of the workspace; nothing was recorded."""

    retryable = True


class Busy(WorkspaceServerError):
    """A bounded pool or slot is taken; nothing was recorded."""

    retryable = True
    default_recovery = "Call again in a moment."


# paths, files


class PathEscape(WorkspaceServerError):
    """The path is absolute, climbs out of the workspace, or names what no tool may touch."""

    default_recovery = "Use a path relative to the workspace root, without '..'."


class FileNotFound(WorkspaceServerError):
    """Nothing exists at that path."""

    default_recovery = "Call find with a glob to see which files exist."


class PathNotDirectory(WorkspaceServerError):
    """A component that must be a folder is not one."""

    default_recovery = "Call find to see which folders exist."


class SymlinkRejected(WorkspaceServerError):
    """A component of the path is a symbolic link; links are never followed."""

    default_recovery = "Use the path of the real file."


class SpecialFileRejected(WorkspaceServerError):
    """The path names a folder, FIFO, socket or device where a regular file is needed."""

    default_recovery = "Use the path of a regular file."


class FileOperationFailed(WorkspaceServerError):
    """The system refused a file operation; whatever was begun has been undone."""

    default_recovery = (
        "See details for the reason; when it is mended, call again, with a new operation_key."
    )


class NotText(WorkspaceServerError):
    """The file is not text, so it cannot be shown or patched line by line."""

    default_recovery = "Handle this file with a command."


# patches


class InvalidPatch(WorkspaceServerError):
    """The patch cannot be parsed or placed, or its result did not verify; nothing is changed."""


class AddFileExists(WorkspaceServerError):
    """The patch adds a file that already exists."""

    default_recovery = "Update the existing file instead, or delete it in the same patch first."


class MoveDestinationExists(WorkspaceServerError):
    """The patch moves a file onto one that already exists."""

    default_recovery = "Choose another destination, or delete the existing file first."


class VersionConflict(WorkspaceServerError):
    """A file is no longer the version that the call expects; nothing was written."""

    default_recovery = (
        "Read the files named in details again and make the patch anew, with a new operation_key."
    )


# ledger


class OperationKeyConflict(WorkspaceServerError):
    """The operation_key already belongs to another request."""

    default_recovery = "Use a new operation_key for a new request."


class OperationNotFound(WorkspaceServerError):
    """No such operation is known to this caller, or not exactly one identifier was given."""

    default_recovery = "Call operation_list for recent operations."


class LedgerUnavailable(WorkspaceServerError):
    """The operation could not be recorded, so nothing was started."""

    retryable = True
    default_recovery = "Ask the operator to look at the state folder (disk space, rights)."


# processes


class InvalidCommand(WorkspaceServerError):
    """The command is malformed; nothing was dispatched."""

    default_recovery = "Give command as a non-empty list of strings, or shell as a script."


class ProcessSpawnFailed(WorkspaceServerError):
    """The command could not be started; it is confirmed that nothing runs."""


class ProcessNotFound(WorkspaceServerError):
    """The process is unknown to this caller, or its output has expired (details say which)."""

    default_recovery = "Call process_list for the processes that are known."


class ProcessNotTty(WorkspaceServerError):
    """The process has pipes, not a terminal."""

    default_recovery = (
        "If it needs a terminal, end it with terminate_process and start it with tty: true."
    )


class ProcessNotRunning(WorkspaceServerError):
    """The process has ended."""

    default_recovery = "Call read_process for its output; start a new command if needed."


class StdinClosed(WorkspaceServerError):
    """The process takes no input; it may still run."""

    default_recovery = (
        "If it needs input, end it with terminate_process and start it with tty: true, "
        'or with stdin: "" to keep its input open.'
    )


class CleanupFailed(WorkspaceServerError):
    """The process could not be confirmed stopped; it may still run."""

    default_recovery = "Call terminate_process again with signal KILL, or tell the operator."


# bounds


class InputTooLarge(WorkspaceServerError):
    """An input exceeds its bound; both numbers are in details."""


class ResultTooLarge(WorkspaceServerError):
    """The result exceeds what one reply may carry."""

    default_recovery = "Ask for less at a time: a smaller limit, a narrower glob."


class InvalidCursor(WorkspaceServerError):
    """The cursor was not given out by this tool, or lies outside what exists."""

    default_recovery = "Start again without a cursor."


# defects


class InvalidResult(WorkspaceServerError):
    """A handler's result does not fit its published schema."""

    default_recovery = "Report this to the operator; the log has the reason."


class Internal(WorkspaceServerError):
    """A defect of the server; the log on stderr has the cause."""


def error_classes() -> tuple[type[WorkspaceServerError], ...]:
    """Return every class of a code, in the order of this file."""
    return tuple(WorkspaceServerError.__subclasses__())
