"""What git says of a workspace, asked so that nothing from the repository's settings runs."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.helper import HelperOutputLimit, HelperResult, HelperTimeout, run_helper

CALL_SECONDS = 3.0
MAX_OUTPUT_BYTES = 4 * 1024 * 1024

_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"  # never a folder that an agent can write to
_NOT_A_REPOSITORY = 128
_NO_SUCH_SETTING = 1

# A repository's settings name programs that plain `git status` starts.
_INERT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.sshCommand": "false",
    "credential.helper": "",
    "diff.external": "",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",  # plain files of a workspace may look like a bare one
    "status.submoduleSummary": "false",
}
_ENVIRONMENT = {
    "PATH": _SYSTEM_PATH,
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
_STATUS = (
    "status",
    "--porcelain",
    "-z",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=all",  # a submodule has settings of its own
    "--",
    ".",
)


@dataclass(frozen=True, kw_only=True)
class GitFacts:
    """Where a repository stands."""

    branch: str | None  # None: no branch is checked out
    head: str | None  # the commit; None before the first one
    changed: int | None  # files and new folders that differ from it; None: could not be told


def git_facts(root_path: str) -> GitFacts | None:
    """Return what git says of the folder; None without git, repository or trust in its owner.

    Takes at most three seconds for each of four calls, and takes no locks in the repository.
    """
    git = shutil.which("git", path=_SYSTEM_PATH)
    if git is None:
        return None
    try:
        return _Git(git, root_path).facts()
    except (OSError, HelperTimeout, HelperOutputLimit):
        return None


class _Git:
    """The git program, told to leave alone what a repository's settings would have it run."""

    def __init__(self, program: str, root_path: str) -> None:
        self._program = program
        self._root_path = root_path
        # This folder may be another user's, a repository above it may not.
        self._settings = {**_INERT_SETTINGS, "safe.directory": root_path}

    def facts(self) -> GitFacts | None:
        branch = self._run("symbolic-ref", "--quiet", "--short", "HEAD")
        if branch.exit_code == _NOT_A_REPOSITORY:
            return None
        head = self._run("rev-parse", "--quiet", "--verify", "HEAD")
        return GitFacts(branch=_line(branch), head=_line(head), changed=self._changed())

    def _changed(self) -> int | None:
        try:
            filters = self._run("config", "--null", "--get-regexp", r"^filter\.")
            if filters.exit_code not in (0, _NO_SUCH_SETTING):
                return None
            status = self._run(*_STATUS, settings=_without_filters(filters.stdout))
        except (OSError, HelperTimeout, HelperOutputLimit):
            return None
        return status.stdout.count(b"\0") if status.exit_code == 0 else None

    def _run(self, *arguments: str, settings: Mapping[str, str] | None = None) -> HelperResult:
        return run_helper(
            [self._program, "--no-optional-locks", "-C", self._root_path, *arguments],
            cwd="/",
            environment=_ENVIRONMENT | _as_environment({**self._settings, **(settings or {})}),
            timeout_seconds=CALL_SECONDS,
            output_limit_bytes=MAX_OUTPUT_BYTES,
        )


def _as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings in the form that takes precedence over every file of them."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def _without_filters(listed: bytes) -> dict[str, str]:
    """Return settings that switch off every content filter that `listed` names."""
    settings: dict[str, str] = {}
    for entry in listed.split(b"\0"):
        key = entry.partition(b"\n")[0].decode("utf-8", "surrogateescape")
        prefix, _, _ = key.rpartition(".")
        if prefix.startswith("filter."):
            settings |= {f"{prefix}.{each}": "" for each in ("clean", "smudge", "process")}
            settings[f"{prefix}.required"] = "false"
    return settings


def _line(result: HelperResult) -> str | None:
    return result.stdout.decode("utf-8", "replace").strip() or None
