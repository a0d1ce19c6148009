"""What goes wrong between the ledger and its callers; none of these reaches a client as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workspace_server.domain.operation import Operation


class KeyTaken(Exception):
    """The operation_key belongs to another row already; nothing was recorded."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(f"the key belongs to {operation.operation_id}")
        self.operation = operation


class MovedMeanwhile(Exception):
    """The row no longer stands in the state it was to be moved from; nothing was recorded."""


class LedgerNotOpened(Exception):
    """The ledger cannot be used; its file is kept as it is. The message is for the operator."""


class LedgerDamaged(LedgerNotOpened):
    """The file is there, and is not a sound ledger."""

    def __init__(self, file: Path, finding: str) -> None:
        super().__init__(
            f"The ledger {file} is damaged ({finding}). It is kept as it is. "
            "Restore it from a copy, or move it away to begin a new one."
        )


class LedgerTooNew(LedgerNotOpened):
    """A newer version of this program has changed the schema."""

    def __init__(self, file: Path, *, found: int, known: int) -> None:
        super().__init__(
            f"The ledger {file} has schema version {found}; this program knows versions up to "
            f"{known}. Use the newer program that wrote it."
        )
        self.found = found
        self.known = known


class StateFolderUnusable(LedgerNotOpened):
    """The system refuses what must be done in the state folder."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(f"The state folder {folder} cannot be used: {error.strerror or error}.")


@contextmanager
def state_folder_errors(folder: Path) -> Iterator[None]:
    """Turn what the system refuses into StateFolderUnusable."""
    try:
        yield
    except OSError as error:
        raise StateFolderUnusable(folder, error) from error


class LedgerAbsent(LedgerNotOpened):
    """No ledger was ever made there."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"There is no ledger {file}; it is made when a server first starts.")
