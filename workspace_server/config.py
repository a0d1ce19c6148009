"""The settings: one TOML file as frozen values; an unknown key is an error that names it."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workspace_server.workspace.registry import Profile, Workspace


class SettingsError(Exception):
    """The settings cannot be used; the message names the setting and what would work."""


class WorkspaceSettings(BaseModel):
    """One workspace."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    root: Annotated[str, Field(min_length=1, description="The folder; ~ stands for your home.")]
    profile: Annotated[
        Profile, Field(description="read-only: tools may look. workspace-write: and change.")
    ] = Profile.WORKSPACE_WRITE


class Settings(BaseModel):
    """The settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspaces: Annotated[
        dict[
            Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")], WorkspaceSettings
        ],
        Field(description="By name; the name is the workspace_id that clients see."),
    ] = {}


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """What a server is started with."""

    state_folder: Path
    workspaces: tuple[Workspace, ...]


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of the settings file."""
    return Settings.model_json_schema()


def load_settings(path: Path) -> Settings:
    """Read a settings file; raise SettingsError naming the first thing wrong with it."""
    try:
        return Settings.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not TOML: {error}.") from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"] if part != "[key]")
        what = "unknown setting" if problem["type"] == "extra_forbidden" else problem["msg"]
        raise SettingsError(f"{path}: {key}: {what}.") from error


def workspaces_from(settings: Settings, *, read_only: bool) -> tuple[Workspace, ...]:
    """Return the workspaces of a settings file; `read_only` lowers every profile."""
    return tuple(
        Workspace(
            workspace_id=name,
            root=_canonical(Path(entry.root).expanduser(), f"workspaces.{name}.root"),
            profile=Profile.READ_ONLY if read_only else entry.profile,
        )
        for name, entry in settings.workspaces.items()
    )


def workspaces_at(roots: Sequence[Path], *, read_only: bool) -> tuple[Workspace, ...]:
    """Return a workspace for each folder, named after it."""
    profile = Profile.READ_ONLY if read_only else Profile.WORKSPACE_WRITE
    canonical = [_canonical(root, f"ROOT {root}") for root in roots]
    return tuple(
        Workspace(workspace_id=Path(root).name or "root", root=root, profile=profile)
        for root in canonical
    )


def check_workspaces(workspaces: Sequence[Workspace], *, state_folder: Path, home: Path) -> None:
    """Raise SettingsError unless each root is a folder of its own that may be handed out."""
    if not workspaces:
        raise SettingsError("No workspace: name a folder (workspace-server serve ROOT).")
    for index, workspace in enumerate(workspaces):
        _check_root(Path(workspace.root), state_folder, home)
        for other in workspaces[:index]:
            _check_pair(workspace, other)


def _canonical(root: Path, setting: str) -> str:
    try:
        canonical = root.resolve(strict=True)
    except OSError as error:
        raise SettingsError(f"{setting}: {root}: {error.strerror}.") from error
    if not canonical.is_dir():
        raise SettingsError(f"{setting}: {root} is not a folder.")
    return str(canonical)


def _check_root(root: Path, state_folder: Path, home: Path) -> None:
    if root in (Path("/"), home):
        raise SettingsError(
            f"{root} is too much to hand to an agent; name a project: "
            f"workspace-server serve {root / 'PROJECT'}"
        )
    if state_folder.is_relative_to(root):
        raise SettingsError(
            f"{root} holds the state folder {state_folder}; name another one: "
            f"workspace-server serve {root} --state-dir ELSEWHERE"
        )


def _check_pair(workspace: Workspace, other: Workspace) -> None:
    if workspace.workspace_id == other.workspace_id:
        raise SettingsError(
            f"Two workspaces are named {workspace.workspace_id!r} ({other.root}, "
            f"{workspace.root}); give them names in a settings file."
        )
    one, two = Path(workspace.root), Path(other.root)
    if one.is_relative_to(two) or two.is_relative_to(one):
        raise SettingsError(f"{one} and {two} lie within each other; name just one of them.")
