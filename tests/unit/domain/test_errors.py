import re

import pytest

from workspace_server.domain.errors import (
    Internal,
    VersionConflict,
    WorkspaceServerError,
    error_classes,
)
from workspace_server.domain.failure import failure_object, stored_failure


@pytest.mark.parametrize("cls", error_classes(), ids=lambda cls: cls.code)
def test_the_class_name_is_the_code(cls: type[WorkspaceServerError]) -> None:
    words = re.findall(r"[A-Z][a-z]+", cls.__name__)
    assert cls.code == "_".join(words).upper()
    assert cls.__doc__


def test_a_failure_object_has_the_fields_that_apply_and_no_others() -> None:
    error = VersionConflict("changed", operation_id="op-1", details={"path": "a"})
    assert failure_object(error) == {
        "error": {
            "code": "VERSION_CONFLICT",
            "message": "changed",
            "recovery": error.recovery,
            "retryable": False,
            "operation_id": "op-1",
            "details": {"path": "a"},
        }
    }


@pytest.mark.guarantee("failure-keeps-secrets")
def test_the_private_cause_is_no_part_of_the_failure_object() -> None:
    error = Internal("it failed")
    error.__cause__ = OSError("/home/me/secret")
    assert "secret" not in str(failure_object(error))


def test_a_stored_failure_can_be_raised_again_as_it_was() -> None:
    error = VersionConflict("changed", operation_id="op-1", details={"path": "a"})
    again = stored_failure(failure_object(error))
    assert type(again) is VersionConflict
    assert failure_object(again) == failure_object(error)
