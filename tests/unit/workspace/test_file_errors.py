import errno

import pytest

from workspace_server.domain.errors import WorkspaceServerError
from workspace_server.workspace.file_errors import file_error, translated


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOENT, "FILE_NOT_FOUND"),
        (errno.ENOTDIR, "PATH_NOT_DIRECTORY"),
        (errno.ELOOP, "SYMLINK_REJECTED"),
        (errno.EXDEV, "PATH_ESCAPE"),
        (errno.ENXIO, "SPECIAL_FILE_REJECTED"),
        (errno.EISDIR, "SPECIAL_FILE_REJECTED"),
        (errno.ENOSPC, "FILE_OPERATION_FAILED"),
        (errno.EUCLEAN, "FILE_OPERATION_FAILED"),
    ],
)
def test_each_refusal_has_its_code(code: int, expected: str) -> None:
    error = file_error(OSError(code, "private", "/host/path"), "a")

    assert error.code == expected
    assert error.details["path"] == "a"
    assert "private" not in error.message
    assert "/host" not in error.message
    assert error.recovery is not None


def test_the_private_cause_is_kept_for_the_log() -> None:
    with pytest.raises(WorkspaceServerError) as caught, translated("a"):
        raise PermissionError(errno.EACCES, "private")
    assert isinstance(caught.value.__cause__, PermissionError)


def test_a_clients_error_passes_as_it_is() -> None:
    error = file_error(OSError(errno.ENOENT, ""), "b")
    with pytest.raises(WorkspaceServerError) as caught, translated("a"):
        raise error
    assert caught.value is error
