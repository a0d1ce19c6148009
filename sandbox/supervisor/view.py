"""What the protocol says of a command: one shape, of a living one or from its record."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from sandbox.supervisor.managed import Managed
from sandbox.supervisor.record import Entry
from sandbox.supervisor.spool import Stream

View: TypeAlias = dict[str, Any]


def view_of(managed: Managed, seq: int) -> View:
    """Return the view of a command that this supervisor started."""
    order, end, failure = managed.order, managed.end, managed.failure
    return {
        "operation_id": order.operation_id,
        "process_id": order.process_id,
        "group": order.group,
        "argv": order.argv,
        "tty": order.tty is not None,
        "pid": managed.pid,
        "state": "not_started" if failure else "running" if end is None else "exited",
        "termination": end and end.termination,
        "exit_code": end and end.exit_code,
        "signal": end and end.signal,
        "reason": end and end.reason,
        "error": failure and {"errno": failure.errno, "message": failure.message},
        "started_at": managed.started_at,
        "ended_at": end and end.ended_at,
        "elapsed_ms": managed.elapsed_ms,
        "idle_ms": managed.idle_ms,
        "stdin": "open" if managed.feed and managed.feed.is_open else "closed",
        "stdin_accepted": managed.feed.accepted if managed.feed else 0,
        "output": managed.totals,
        "eof": {
            stream: stream not in managed.open_streams for stream in (Stream.STDOUT, Stream.STDERR)
        },
        "descendants": len(managed.descendants),
        "descendants_ended": managed.descendants_ended,
        "cleanup_failed": managed.cleanup_failed,
        "ending": managed.is_ending,
        "seq": seq,
    }


def recorded_view(entries: Sequence[Entry], totals: Mapping[Stream, int]) -> View:
    """Return the view of a command that an earlier supervisor started; its record has an end."""
    facts: dict[str, Any] = {}
    for entry in entries:
        facts.update(entry)
    refused = "errno" in facts
    printed = facts.get("output", {})  # by its end; the spool may have been lost since, or grown
    return {
        "operation_id": facts["operation_id"],
        "process_id": facts["process_id"],
        "group": facts["group"],
        "argv": facts["argv"],
        "tty": facts["tty"],
        "pid": None,
        "state": "not_started" if refused else "exited",
        "termination": facts.get("termination"),
        "exit_code": facts.get("exit_code"),
        "signal": facts.get("signal"),
        "reason": facts.get("reason"),
        "error": {"errno": facts["errno"], "message": facts["message"]} if refused else None,
        "started_at": facts["started_at"],
        "ended_at": facts.get("ended_at"),
        "elapsed_ms": facts.get("elapsed_ms"),
        "idle_ms": None,
        "stdin": "closed",
        "stdin_accepted": 0,
        "output": {stream: max(total, printed.get(stream, 0)) for stream, total in totals.items()},
        "eof": {Stream.STDOUT: True, Stream.STDERR: True},
        "descendants": 0,
        "descendants_ended": facts.get("descendants_ended", 0),
        "cleanup_failed": facts.get("cleanup_failed", False),
        "ending": False,
        "seq": 0,
    }
