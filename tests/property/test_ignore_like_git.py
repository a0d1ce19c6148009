import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from workspace_server.workspace.finder import find
from workspace_server.workspace.root import Root

FILES = [
    f"{folder}{name}"
    for folder in ("", "a/", "b/", "a/b/", "a/a/", "b/a/b/")
    for name in ("x", "ab.c", "a-b", "#x", "x ")
]
components = st.sampled_from(
    ["a", "b", "x", "*", "**", "a*", "*b", "?", "[ab]", "[!a]", "*.c", "ab.c", r"\#x", "a?b", "*-*"]
)
patterns = st.builds(
    lambda sign, start, middle, end: sign + start + "/".join(middle) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(components, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "  ", "\\ "]),
)
ignore_files = st.lists(patterns, max_size=5).map("\n".join)


def plant(folder: Path, root_rules: str, nested_rules: str, exclude: str) -> None:
    for path in FILES:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    (folder / ".gitignore").write_text(root_rules)
    (folder / "a/.gitignore").write_text(nested_rules)
    subprocess.run(["git", "init", "-q", "--template=", str(folder)], check=True)
    (folder / ".git/info").mkdir()
    (folder / ".git/info/exclude").write_text(exclude)


def listed_by_git(folder: Path) -> tuple[str, ...]:
    command = ["git", "-C", str(folder), "ls-files", "-z", "--others", "--exclude-standard"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    listed = subprocess.run(command, check=True, capture_output=True, env=environment).stdout
    return tuple(sorted(listed.decode().split("\0")[:-1]))


@settings(deadline=None)
@given(root_rules=ignore_files, nested_rules=ignore_files, exclude=ignore_files)
def test_a_listing_leaves_out_what_git_ignores(
    root_rules: str, nested_rules: str, exclude: str
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        plant(folder, root_rules, nested_rules, exclude)
        with Root.open(folder) as root:
            assert find(root).paths == listed_by_git(folder)
