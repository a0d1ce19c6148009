import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox.helper import HelperOutputLimit, HelperResult, HelperTimeout, run_helper
from workspace_server.workspace import git_facts as module
from workspace_server.workspace.git_facts import GitFacts, git_facts

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    return done.stdout.strip()


@pytest.fixture
def repository(folder: Path) -> Path:
    """Return a repository with one commit of one file."""
    git(folder, "init", "-q", "-b", "main")
    (folder / "a").write_text("a\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_folder_without_git_has_no_facts(folder: Path) -> None:
    assert git_facts(str(folder)) is None


def test_a_machine_without_git_has_no_facts(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SYSTEM_PATH", "/nonexistent")

    assert git_facts(str(repository)) is None


def test_branch_head_and_changes_are_told(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    assert git_facts(str(repository)) == GitFacts(branch="main", head=head, changed=0)

    (repository / "a").write_text("changed\n")
    (repository / "new folder").mkdir()
    (repository / "new folder/b\nc").touch()
    assert git_facts(str(repository)) == GitFacts(branch="main", head=head, changed=2)


def test_before_the_first_commit_there_is_no_head(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "trunk")

    assert git_facts(str(folder)) == GitFacts(branch="trunk", head=None, changed=0)


def test_a_detached_head_is_on_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")

    facts = git_facts(str(repository))
    assert facts is not None
    assert (facts.branch, facts.head) == (None, git(repository, "rev-parse", "HEAD"))


def test_a_folder_within_a_repository_counts_its_own_changes(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "a").write_text("changed\n")
    (repository / "sub/b").touch()

    facts = git_facts(str(repository / "sub"))
    assert facts is not None
    assert (facts.branch, facts.changed) == ("main", 1)


def test_a_worktree_is_a_repository(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))

    facts = git_facts(str(tmp_path / "tree"))
    assert facts is not None
    assert facts.branch == "other"


def lay_traps(repository: Path, proof: Path) -> None:
    """Have git start programs wherever a repository's settings can."""
    trap = f"touch {proof}; cat"
    (repository / ".gitattributes").write_text("* filter=first\n*.b filter=se.co=nd\n")
    (repository / "x.b").write_text("b\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    for setting in (
        "filter.first.clean",
        "filter.first.process",
        "filter.se.co=nd.clean",
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
    ):
        git(repository, "config", setting, trap)
    git(repository, "config", "filter.first.required", "true")
    git(repository, "config", "core.hooksPath", ".git/hooks")
    hook = repository / ".git/hooks/post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {proof}\n")
    hook.chmod(0o755)
    for name in ("a", "x.b"):
        os.utime(repository / name, (1, 1))  # so that git has to look at the content


def test_no_program_that_the_repository_names_is_started(repository: Path, tmp_path: Path) -> None:
    lay_traps(repository, tmp_path / "proof")
    facts = git_facts(str(repository))

    assert facts is not None
    assert facts.changed == 0
    assert not (tmp_path / "proof").exists()


def test_control_plain_git_starts_them(repository: Path, tmp_path: Path) -> None:
    lay_traps(repository, tmp_path / "proof")
    subprocess.run(
        ["git", "-C", str(repository), "status"],
        check=False,
        capture_output=True,
        env=ENVIRONMENT,
    )

    assert (tmp_path / "proof").exists()


def test_settings_of_a_submodule_are_not_used(repository: Path, tmp_path: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "inner")
    git(repository, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(inner, "config", "core.fsmonitor", f"touch {tmp_path / 'proof'}; false")

    assert git_facts(str(repository)) is not None
    assert not (tmp_path / "proof").exists()


def test_files_that_look_like_a_bare_repository_are_not_one(folder: Path) -> None:
    git(folder, "init", "-q", "--bare")

    assert git_facts(str(folder)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_workspace_of_another_owner_is_trusted_and_a_folder_above_is_not(
    repository: Path,
) -> None:
    (repository / "sub").mkdir()
    for path in (repository, repository / ".git"):
        os.chown(path, 12345, 12345)

    assert git_facts(str(repository)) is not None
    assert git_facts(str(repository / "sub")) is None


def test_the_index_is_not_written(repository: Path) -> None:
    os.utime(repository / "a", (1, 1))
    before = (repository / ".git/index").read_bytes()

    git_facts(str(repository))
    assert (repository / ".git/index").read_bytes() == before
    assert not (repository / ".git/index.lock").exists()


@pytest.mark.parametrize("failure", [HelperTimeout, HelperOutputLimit, OSError])
def test_a_status_that_fails_leaves_the_count_unknown(
    repository: Path, monkeypatch: pytest.MonkeyPatch, failure: type[Exception]
) -> None:
    really_run = run_helper

    def failing(argv: list[str], **options: object) -> HelperResult:
        if "status" in argv:
            raise failure
        return really_run(argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "run_helper", failing)
    facts = git_facts(str(repository))
    assert facts is not None
    assert (facts.branch, facts.changed) == ("main", None)


def test_broken_settings_are_no_repository(repository: Path) -> None:
    (repository / ".git/config").write_text("[broken\n")

    assert git_facts(str(repository)) is None


def test_a_git_that_cannot_answer_at_all_has_no_facts(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(argv: list[str], **options: object) -> HelperResult:
        raise HelperTimeout

    monkeypatch.setattr(module, "run_helper", failing)
    assert git_facts(str(repository)) is None


def test_a_program_called_git_in_the_workspace_is_not_started(repository: Path) -> None:
    shutil.copy("/bin/false", repository / "git")

    facts = git_facts(str(repository))
    assert facts is not None
    assert facts.changed == 1
