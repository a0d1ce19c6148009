from pathlib import Path

import pytest

from workspace_server.config import (
    SettingsError,
    check_workspaces,
    load_settings,
    workspaces_at,
    workspaces_from,
)
from workspace_server.workspace.registry import Profile


def settings_file(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text)
    return file


def test_a_settings_file_names_workspaces_and_their_profiles(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    file = settings_file(
        tmp_path, f'[workspaces.web]\nroot = "{tmp_path}/site"\nprofile = "read-only"\n'
    )
    (workspace,) = workspaces_from(load_settings(file), read_only=False)
    assert workspace.workspace_id == "web"
    assert workspace.root == str(tmp_path / "site")
    assert workspace.profile is Profile.READ_ONLY


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[workspaces.a]\nroot = "/x"\napprovals = "off"\n', "workspaces.a.approvals"),
        ("[worksapces.a]\n", "worksapces"),
        ("[workspaces.a]\n", "workspaces.a.root"),
        ('[workspaces.a]\nroot = "/x"\nprofile = "all"\n', "workspaces.a.profile"),
        ("not toml", "not TOML"),
    ],
)
def test_what_is_wrong_with_the_settings_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        load_settings(settings_file(tmp_path, text))


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"settings\.toml"):
        load_settings(tmp_path / "settings.toml")


def test_a_root_is_canonical_and_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    (workspace,) = workspaces_at([tmp_path / "link"], read_only=False)
    assert workspace.root == str(tmp_path / "real")
    for wrong in ("file", "absent"):
        with pytest.raises(SettingsError, match=wrong):
            workspaces_at([tmp_path / wrong], read_only=False)


def test_what_must_not_be_handed_out_is_refused(tmp_path: Path) -> None:
    home, inner = tmp_path / "home", tmp_path / "home" / "a"
    inner.mkdir(parents=True)
    state = home / "state"
    for roots, named in (
        ([Path("/")], "too much"),
        ([home], "too much"),
        ([tmp_path], "state folder"),
        ([inner, inner / "."], "named"),
    ):
        with pytest.raises(SettingsError, match=named):
            check_workspaces(workspaces_at(roots, read_only=False), state_folder=state, home=home)


def test_roots_within_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    nested = workspaces_at([tmp_path / "a", tmp_path / "a" / "b"], read_only=False)
    with pytest.raises(SettingsError, match="within each other"):
        check_workspaces(nested, state_folder=Path("/state"), home=Path("/home/me"))


def test_no_workspace_at_all_is_refused() -> None:
    with pytest.raises(SettingsError, match="name a folder"):
        check_workspaces((), state_folder=Path("/state"), home=Path("/home/me"))
