import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace_server.domain.errors import PathEscape
from workspace_server.domain.paths import is_inside_git, parent_of, parse_path


@pytest.mark.guarantee("field-78")
@pytest.mark.parametrize(
    "text", ["", "/etc/passwd", "..", "a/../../b", "a/..", "a\0b", "\ud800", "x" * 5000]
)
def test_what_is_not_beneath_the_root_is_refused(text: str) -> None:
    with pytest.raises(PathEscape):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "spelling"), [("a//b/", "a/b"), ("./a", "a"), (".", "."), ("a/./b", "a/b")]
)
def test_a_path_has_one_spelling(text: str, spelling: str) -> None:
    assert parse_path(text) == spelling


@given(st.text(min_size=1, max_size=50))
def test_whatever_is_accepted_stays_beneath(text: str) -> None:
    try:
        path = parse_path(text)
    except PathEscape:
        return
    assert not path.startswith("/")
    assert ".." not in path.split("/")
    assert parse_path(path) == path


def test_git_is_recognised_at_any_depth_and_in_any_case() -> None:
    assert is_inside_git(".git/config")
    assert is_inside_git("vendor/x/.GIT/hooks/pre-commit")
    assert not is_inside_git(".github/workflows/ci.yml")


def test_the_parent_of_what_lies_in_the_root_is_the_root() -> None:
    assert (parent_of("a/b/c"), parent_of("a")) == ("a/b", ".")
