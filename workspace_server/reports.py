"""What a person reads of the ledger, beside a running server or without one."""

import json
import shlex
import signal
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

from workspace_server.domain.clock import SystemClock
from workspace_server.domain.operation import Operation, OperationKind
from workspace_server.domain.process import Process, ProcessEnd, ProcessState
from workspace_server.domain.version import shown_version
from workspace_server.ledger.audit import verify
from workspace_server.ledger.events import Event
from workspace_server.ledger.journal import JournalEntry
from workspace_server.ledger.ledger import Ledger
from workspace_server.ledger.operations import OperationFilter
from workspace_server.ledger.ownership import owner_of
from workspace_server.ledger.processes import ProcessFilter

_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, format, half a pair, separators
_SHOWN_COMMAND = 60  # characters of a command in a list


def visible(line: str) -> str:
    """Return `line` with what would steer a terminal, or reorder its text, spelled out.

    Commands, names and output are an agent's, who is not trusted with the operator's screen.
    """
    return "".join(
        char if unicodedata.category(char) not in _UNSEEN else f"\\u{ord(char):04x}"
        for char in line
    )


class ReportFailed(Exception):
    """There is nothing to report; the message says what was looked for."""


async def status_report(state_folder: Path) -> list[str]:
    """Tell who owns the state folder and what is under way."""
    owner = owner_of(state_folder)
    lines = [f"state folder  {state_folder}"]
    lines.append(f"server        {owner.described() if owner else 'none runs'}")
    async with _ledger(state_folder) as ledger:
        running = await ledger.processes.page(_processes(ProcessState.RUNNING, limit=50))
        unfinished = [
            operation
            for kind in OperationKind
            for operation in await ledger.operations.unfinished(kind)
        ]
    lines.append(f"running       {len(running)} commands")
    lines += [f"  {_process_line(process)}" for process in running]
    lines.append(f"unfinished    {len(unfinished)} operations")
    return lines + [f"  {_operation_line(operation)}" for operation in unfinished]


async def process_report(state_folder: Path) -> list[str]:
    """List the processes, newest first."""
    async with _ledger(state_folder) as ledger:
        processes = await ledger.processes.page(_processes(None, limit=30))
    return [_process_line(process) for process in processes] or ["no commands yet"]


async def log_report(state_folder: Path, limit: int) -> list[str]:
    """List the operations, newest first."""
    async with _ledger(state_folder) as ledger:
        operations = await ledger.operations.page(OperationFilter(roots=None, limit=limit))
    return [_operation_line(operation) for operation in operations] or ["no operations yet"]


async def operation_report(state_folder: Path, ending: str) -> list[str]:
    """Tell all of one operation, named by a unique ending of its id or of its process's."""
    async with _ledger(state_folder) as ledger:
        operation = await _named(ledger, ending)
        entries = await ledger.journal.entries(operation.operation_id)
        events = await ledger.events.of(operation.operation_id)
        process = await ledger.processes.by_operation(operation.operation_id)
    lines = [
        f"operation  {operation.operation_id}",
        f"kind       {operation.kind}",
        f"status     {operation.status}",
        f"workspace  {operation.root}",
        f"asked by   {operation.principal}",
        f"key        {operation.operation_key or '-'}",
    ]
    lines += [f"process    {_process_line(process)}"] if process else []
    lines += [f"file       {_entry_line(entry)}" for entry in entries]
    lines += [f"event      {_event_line(event)}" for event in events]
    lines += ["request", _indented(operation.request)]
    return lines + (["outcome", _indented(operation.outcome)] if operation.outcome else [])


async def audit_report(state_folder: Path) -> list[str]:
    """Check the chain of events; raise ReportFailed naming the first altered row."""
    async with _ledger(state_folder) as ledger:
        report = await verify(ledger.connection)
    if not report.intact:
        raise ReportFailed(f"event {report.first_altered} of {report.count} was altered")
    return [f"intact: {report.count} events, head {report.head}"]


@asynccontextmanager
async def _ledger(state_folder: Path) -> AsyncIterator[Ledger]:
    ledger = await Ledger.open_read_only(state_folder, SystemClock())
    try:
        yield ledger
    finally:
        await ledger.close()


async def _named(ledger: Ledger, ending: str) -> Operation:
    found = await ledger.operations.ending_in(ending)
    if len(found) != 1:
        raise ReportFailed(f"{len(found) or 'no'} operations end in {ending!r}")
    return found[0]


def _processes(state: ProcessState | None, limit: int) -> ProcessFilter:
    return ProcessFilter(roots=None, state=state, limit=limit)


def _operation_line(operation: Operation) -> str:
    return (
        f"{_local(operation.created_at)}  {operation.operation_id}  {operation.kind:<7}  "
        f"{operation.status:<18}  {_subject(operation)}"
    )


def _subject(operation: Operation) -> str:
    match operation.kind:
        case OperationKind.COMMAND:
            command = operation.request.get("command")
            text = operation.request.get("shell") or (
                shlex.join(map(str, command)) if isinstance(command, Sequence) else ""
            )
            return _short(str(text))
        case OperationKind.PATCH:
            return _short(" ".join(_changed_files(operation)) or operation.operation_key or "")


def _changed_files(operation: Operation) -> list[str]:
    """Return the paths that the stored result tells of; none for a failure."""
    files = (operation.outcome or {}).get("files")
    if not isinstance(files, Sequence):
        return []
    return [str(file["path"]) for file in files if isinstance(file, Mapping)]


def _process_line(process: Process) -> str:
    return (
        f"{process.process_id}  {_state(process):<24}  {_age(process):>8}  "
        f"{_short(shlex.join(process.argv))}"
    )


def _age(process: Process) -> str:
    if process.state is ProcessState.NOT_STARTED:
        return "-"
    until = process.end.ended_at if process.end else SystemClock().now()
    return _duration(until - process.created_at)


def _state(process: Process) -> str:
    return _end(process.end) if process.end else process.state.value


def _end(end: ProcessEnd) -> str:
    how = f"exit {end.exit_code}" if end.exit_code is not None else f"{_signal(end.signal)}"
    known = end.exit_code is not None or end.signal is not None
    return f"{end.termination}, {how}" if known else end.termination.value


def _signal(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def _entry_line(entry: JournalEntry) -> str:
    before, after = shown_version(entry.before_version), shown_version(entry.after_version)
    return f"{entry.path}  {before} -> {after}"


def _event_line(event: Event) -> str:
    data = json.dumps(event.data, ensure_ascii=False)
    return f"{event.seq:>6}  {_local(event.at)}  {event.kind}  {event.actor}  {data}"


def _indented(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _local(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _duration(span: timedelta) -> str:
    seconds = span.total_seconds()
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_COMMAND else f"{line[: _SHOWN_COMMAND - 1]}…"
