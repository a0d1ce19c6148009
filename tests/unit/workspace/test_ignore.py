import pytest

from workspace_server.workspace.ignore import IgnoreRules


def ignored(rules: str, path: str) -> bool | None:
    """Ask about a file, or about a folder if the path ends in a slash."""
    return IgnoreRules(rules).ignores(path.rstrip("/").split("/"), is_folder=path.endswith("/"))


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ("*.pyc", "a.pyc"),
        ("*.pyc", "deep/a.pyc"),
        ("build/", "build/"),
        ("build/", "deep/build/"),
        ("/build", "build"),
        ("docs/*.txt", "docs/a.txt"),
        ("**/logs", "a/b/logs"),
        ("a/**", "a/b/c"),
        ("a/**/b", "a/b"),
        (r"\#a", "#a"),
        (r"\!a", "!a"),
        ("a  ", "a"),
        ("a\\ ", "a "),
        ("a\r\n", "a"),
        ("\ufeffa", "a"),
        ("!a\na", "a"),
        ("a\n[\nb", "b"),
    ],
)
def test_a_rule_ignores(rules: str, path: str) -> None:
    assert ignored(rules, path) is True


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ("build/", "build"),
        ("/build", "deep/build"),
        ("docs/*.txt", "x/docs/a.txt"),
        ("a/**", "a/"),
        ("# a", "# a"),
        ("", "a"),
        ("[", "["),
        ("a//b", "a/b"),
        ("/", "a"),
        ("!", "a"),
    ],
)
def test_a_rule_says_nothing(rules: str, path: str) -> None:
    assert ignored(rules, path) is None


def test_the_last_rule_that_fits_decides() -> None:
    assert ignored("*.log\n!keep.log", "keep.log") is False
    assert ignored("*.log\n!keep.log\nkeep.*", "keep.log") is True
    assert ignored("*.log\n!keep.log", "a.log") is True
