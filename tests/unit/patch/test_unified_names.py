import pytest

from workspace_server.patch.unified_names import (
    added_path,
    deleted_name,
    git_names,
    has_prefixes,
    header_name,
    unquoted,
    updated_name,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a/f", "a/f"),
        ("a/f\r", "a/f"),
        ("a/my f\t", "a/my f"),
        ("f\t2024-01-01 10:00:00.000000000 +0100", "f"),
        ("f  Mon Jan  1 10:00:00 2024", "f"),
        ("f 2024", "f 2024"),
        ('"a/caf\\303\\251\\t\\"x\\""\t2024-01-01 10:00', 'a/café\t"x"'),
        ("/dev/null", None),
        ("/dev/null\t1970-01-01", None),
        ("b/f\t1970-01-01 00:00:00.000000000 +0000", None),
    ],
)
def test_a_header_tells_a_name(text: str, name: str | None) -> None:
    assert header_name(text) == name


def test_only_whole_quoted_names_are_unquoted() -> None:
    assert unquoted('"é\\\\"') == "é\\"
    assert unquoted('say "x"') == 'say "x"'


def test_a_git_line_is_split_where_both_names_are_the_same() -> None:
    assert git_names("a/x b/y b/x b/y") == ("a/x b/y", "b/x b/y")
    assert git_names('"a/\\303\\251" "b/\\303\\251"') == ("a/é", "b/é")
    assert git_names("a/old b/new") is None


def test_prefixes_show_in_two_names_that_differ_in_nothing_else() -> None:
    assert has_prefixes("a/f", "b/f")
    assert not has_prefixes("b/f", "b/f")
    assert not has_prefixes("a/f", "b/g")


def test_a_name_means_what_its_header_leaves_open() -> None:
    assert updated_name("a/f", "b/f", prefixed=None).candidates == ("f",)
    assert updated_name("b/f", "b/f", prefixed=None).candidates == ("b/f", "f")
    assert updated_name("b/f", "b/f", prefixed=False).candidates == ("b/f",)
    assert updated_name("f", "b/f", prefixed=None).candidates == ("f",)
    assert deleted_name("a/f", prefixed=None).candidates == ("f", "a/f")
    assert deleted_name("a/f", prefixed=True).candidates == ("f",)
    assert added_path("b/f", prefixed=None) == "f"
    assert added_path("b/f", prefixed=False) == "b/f"
    assert added_path("w/f", prefixed=None) == "w/f"


def test_two_different_names_leave_the_new_one_and_its_rival() -> None:
    name = updated_name("a/f.orig", "b/f", prefixed=None)
    assert (name.candidates, name.rival) == (("f",), "f.orig")
