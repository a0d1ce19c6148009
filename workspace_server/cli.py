"""The command line: arguments, environment, signals, exit codes."""

import argparse
import gc
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import anyio
import platformdirs

from workspace_server.config import (
    ServerConfig,
    SettingsError,
    check_workspaces,
    load_settings,
    workspaces_at,
    workspaces_from,
)
from workspace_server.domain.errors import LedgerUnavailable
from workspace_server.ledger.errors import LedgerNotOpened
from workspace_server.ledger.ownership import StateFolderOwned
from workspace_server.reports import (
    ReportFailed,
    audit_report,
    log_report,
    operation_report,
    process_report,
    status_report,
    visible,
)
from workspace_server.workspace.registry import Workspace

DONE, FAILED, BAD_USAGE = 0, 1, 2

_OWN_FOLDER = "Give this server a state folder of its own: workspace-server serve … --state-dir DIR"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return 0 done, 1 failed, 2 bad usage or settings."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except SettingsError as error:
        print(f"workspace-server: {error}", file=sys.stderr)
        return BAD_USAGE
    except StateFolderOwned as error:
        print(f"workspace-server: {error}\n{_OWN_FOLDER}", file=sys.stderr)
        return FAILED
    except LedgerUnavailable as error:
        print(f"workspace-server: {error.message}", file=sys.stderr)
        return FAILED
    except (LedgerNotOpened, ReportFailed) as error:
        print(f"workspace-server: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # whoever read our output has seen enough
        return DONE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="workspace-server",
        description="An MCP server that gives coding agents hands on a repository.",
    )
    parser.add_argument("--version", action="version", version=version("workspace-server"))
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_serve(commands)
    _add_reports(commands)
    return parser


def _add_serve(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    serve = commands.add_parser("serve", help="what an MCP client starts: MCP on stdio")
    serve.add_argument(
        "roots",
        nargs="*",
        type=Path,
        metavar="ROOT",
        help="folders to serve; without any, the git repository around the current folder",
    )
    serve.add_argument("--config", type=Path, metavar="FILE", help="settings, instead of ROOTs")
    serve.add_argument("--read-only", action="store_true", help="no change and no command")
    serve.add_argument(
        "--in-process", action="store_true", help="run the server in this process (as it does now)"
    )
    _add_state_folder(serve)
    serve.set_defaults(run=_serve)


def _add_reports(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    status = commands.add_parser("status", help="who serves, and what is under way")
    status.set_defaults(run=_report, report=status_report)
    processes = commands.add_parser("ps", help="commands that run, and those that ran last")
    processes.set_defaults(run=_report, report=process_report)
    log = commands.add_parser("log", help="what was done, newest first; with an ID, all of it")
    log.add_argument(
        "operation", nargs="?", metavar="ID", help="an operation or process id, or its ending"
    )
    log.add_argument("--limit", type=_positive, default=20, help="at most so many (20)")
    log.set_defaults(run=_log)
    audit = commands.add_parser("audit", help="check the chain of events")
    audit.add_argument("action", choices=["verify"])
    audit.set_defaults(run=_report, report=audit_report)
    for command in (status, processes, log, audit):
        _add_state_folder(command)


def _add_state_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--state-dir", type=Path, metavar="DIR", help="where ledger, locks and output are kept"
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def _serve(options: argparse.Namespace) -> int:
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("mcp").setLevel(logging.WARNING)
    config = _server_config(options)
    if sys.stdin.isatty():
        print("workspace-server: waiting for an MCP client on stdin; Ctrl-C ends", file=sys.stderr)
    # The SDK takes most of a second to import; the other commands do without it.
    from workspace_server.app import serve_stdio

    gc.freeze()
    gc.enable()
    return anyio.run(serve_stdio, config, dict(os.environ), version("workspace-server"))


def _server_config(options: argparse.Namespace) -> ServerConfig:
    state_folder = _state_folder(options)
    workspaces = _workspaces(options)
    check_workspaces(workspaces, state_folder=state_folder, home=Path.home().resolve())
    return ServerConfig(state_folder=state_folder, workspaces=workspaces)


def _workspaces(options: argparse.Namespace) -> tuple[Workspace, ...]:
    file = options.config or _path_from("WORKSPACE_SERVER_CONFIG")
    if options.roots and options.config:
        raise SettingsError("Give either ROOTs or --config, not both.")
    if options.roots:
        return workspaces_at(options.roots, read_only=options.read_only)
    if file:
        return workspaces_from(load_settings(file), read_only=options.read_only)
    return workspaces_at([_repository_here()], read_only=options.read_only)


def _repository_here() -> Path:
    """Return the git top level around the current folder."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / ".git").exists():
            return folder
    raise SettingsError(
        f"{here} is in no git repository; name a folder: workspace-server serve ROOT"
    )


def _state_folder(options: argparse.Namespace) -> Path:
    folder = options.state_dir or _path_from("WORKSPACE_SERVER_STATE_DIR")
    return Path(folder or platformdirs.user_state_dir("workspace-server")).resolve()


def _path_from(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _report(options: argparse.Namespace) -> int:
    return _print(anyio.run(options.report, _state_folder(options)))


def _log(options: argparse.Namespace) -> int:
    folder = _state_folder(options)
    if options.operation:
        return _print(anyio.run(operation_report, folder, options.operation))
    return _print(anyio.run(log_report, folder, options.limit))


def _print(lines: Sequence[str]) -> int:
    print("\n".join(visible(line) for text in lines for line in text.split("\n")), flush=True)
    return DONE
