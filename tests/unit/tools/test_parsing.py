import pytest

from workspace_server.domain.errors import InputTooLarge, InvalidArguments
from workspace_server.tools.exec_command import EXEC_COMMAND, ExecCommandArguments
from workspace_server.tools.files import READ, ReadArguments
from workspace_server.tools.parsing import parse_arguments
from workspace_server.tools.patches import APPLY_PATCH, ApplyPatchArguments


def test_json_in_a_string_is_taken_where_it_is_exactly_what_is_declared() -> None:
    parsed = parse_arguments(
        EXEC_COMMAND, {"command": '["ls", "-l"]', "tty": "true", "env": '{"A": "1"}'}
    )
    assert isinstance(parsed, ExecCommandArguments)
    assert (parsed.command, parsed.tty, parsed.env) == (["ls", "-l"], True, {"A": "1"})


def test_a_declared_string_is_never_parsed() -> None:
    parsed = parse_arguments(READ, {"path": "12", "start_line": "3"})
    assert isinstance(parsed, ReadArguments)
    assert (parsed.path, parsed.start_line) == ("12", 3)


@pytest.mark.parametrize("value", ["no", "1.5", '"3"', "[3]", 1.5, True, [3], {"a": 1}])
def test_whatever_else_stands_for_a_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidArguments) as refused:
        parse_arguments(READ, {"path": "a", "start_line": value})  # type: ignore[dict-item]
    assert refused.value.details["field"] == "start_line"


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf"), "1" * 400])
def test_numbers_that_json_cannot_carry_are_refused(value: float | str) -> None:
    with pytest.raises(InvalidArguments):
        parse_arguments(READ, {"path": "a", "offset": value})


def test_an_undeclared_argument_names_the_one_that_is_likely_meant() -> None:
    with pytest.raises(InvalidArguments) as refused:
        parse_arguments(READ, {"file_path": "a"})
    assert "read takes: workspace_id?, path," in (refused.value.recovery or "")


def test_a_patch_may_be_larger_than_any_other_argument() -> None:
    large = "x" * 300_000
    parsed = parse_arguments(APPLY_PATCH, {"patch": large})
    assert isinstance(parsed, ApplyPatchArguments)
    assert parsed.patch == large
    with pytest.raises(InputTooLarge) as refused:
        parse_arguments(READ, {"path": large})
    assert refused.value.details == {
        "field": "path",
        "size_bytes": 300_000,
        "limit_bytes": 256 * 1024,
    }


def test_half_a_surrogate_pair_is_an_invalid_argument() -> None:
    with pytest.raises(InvalidArguments):
        parse_arguments(READ, {"path": "\ud800"})
