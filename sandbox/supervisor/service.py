"""What the supervisor does for its clients: start once, look up, feed, end."""

import base64
import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sandbox.supervisor.adoption import adopted, reap
from sandbox.supervisor.archive import Archive
from sandbox.supervisor.family import Identity, boot_id, identities_of
from sandbox.supervisor.feed import InputRefused
from sandbox.supervisor.loop import Loop, Timer
from sandbox.supervisor.managed import Managed, now
from sandbox.supervisor.order import BadRequest, Order, id_from, order_from, terminal_from
from sandbox.supervisor.view import View, view_of

PROTOCOL = 1
TELL_SECONDS = 0.02  # output is told at most so often
STOP_GRACE_SECONDS = 2.0


class Refused(Exception):
    """The request cannot be done; `kind` is the protocol's word for why."""

    def __init__(self, kind: str, message: str, **facts: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.facts = facts  # what else its reply says


class Service:
    """All commands, and the requests about them. `tell` passes a changed view to every client."""

    def __init__(self, loop: Loop, archive: Archive, tell: Callable[[View], None]) -> None:
        self._loop = loop
        self._archive = archive
        self._tell = tell
        self._managed: dict[str, Managed] = {}  # by process id
        self._seq = 0
        self._seqs: dict[str, int] = {}
        self._untold: dict[str, Timer] = {}
        self._is_stopping = False
        self._orphan_timers: list[Timer] = []
        self._started_at = now()
        self._methods: Mapping[str, Callable[[Mapping[str, Any]], View]] = {
            "hello": self._hello,
            "dispatch": self._dispatch,
            "lookup": self._lookup,
            "list": self._list,
            "write": self._write,
            "resize": self._resize,
            "terminate": self._terminate,
            "stop": self._stop,
        }

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to follow."""
        return not self._managed

    @property
    def is_ending(self) -> bool:
        """Whether some command is being ended."""
        return any(managed.is_ending for managed in self._managed.values())

    def handle(self, method: str, parameters: Mapping[str, Any]) -> View:
        """Do one request and return its result; raise Refused or BadRequest."""
        if method not in self._methods:
            raise BadRequest(f"there is no method {method!r}")
        try:
            return self._methods[method](parameters)
        except InputRefused as refused:
            raise Refused(refused.kind, str(refused), accepted=refused.accepted) from refused
        except (KeyError, TypeError, ValueError) as error:
            raise BadRequest(f"{method}: {error!r}") from error

    def clients_are(self, present: bool) -> None:
        """Begin to count the grace of commands when the last client has gone; stop when one is."""
        for timer in self._orphan_timers:
            timer.cancel()
        self._orphan_timers = (
            []
            if present
            else [
                self._loop.after(grace / 1000, partial(self._orphaned, managed))
                for managed in self._managed.values()
                if (managed.is_running or managed.descendants)
                and (grace := managed.order.orphan_grace_ms) is not None
            ]
        )

    def child_ended(self) -> None:
        """Reap what was adopted, and count again what commands left behind."""
        leaders = [pid for managed in self._managed.values() if (pid := managed.pid)]
        if reap(adopted(leaders)):
            for managed in list(self._managed.values()):
                managed.look_for_descendants()

    def end_all(self, reason: str) -> None:
        """End every command and what it started, and start no more."""
        self._is_stopping = True
        for managed in self._managed.values():
            managed.end_by(signal.SIGTERM, STOP_GRACE_SECONDS, reason=reason)

    def _hello(self, parameters: Mapping[str, Any]) -> View:
        return {
            "protocol": PROTOCOL,
            "pid": os.getpid(),
            "boot_id": boot_id(),
            "started_at": self._started_at,
        }

    def _dispatch(self, parameters: Mapping[str, Any]) -> View:
        order = order_from(parameters)
        known = self._view_of_operation(order.operation_id)
        if known is not None:
            return {"known": True, "process": known}
        if self._archive.is_fenced(order.operation_id):
            raise Refused("fenced", "the operation was given up before it arrived")
        if self._is_stopping:
            raise Refused("stopping", "the supervisor is about to leave")
        if order.process_id in self._managed or self._archive.view(order.process_id):
            raise BadRequest("the process id is another operation's")
        return {"known": False, "process": self._start(order)}

    def _start(self, order: Order) -> View:
        managed = self._intended(order)
        # Known from here on, whatever happens: another dispatch must not start it again.
        self._managed[order.process_id] = managed
        try:
            managed.start()
        finally:
            self._next_seq(managed)
            view = self._view(managed)
            self._forget_settled(managed)
        return view

    def _intended(self, order: Order) -> Managed:
        try:
            managed = Managed(
                self._loop,
                order,
                self._archive.new_folder(order.operation_id, order.process_id),
                changed=self._changed,
                has_orphans=self._has_orphans,
                strays=self._strays,
            )
            managed.intend()
        except OSError as error:
            raise Refused("unrecorded", os.strerror(error.errno or 0).lower()) from error
        return managed

    def _lookup(self, parameters: Mapping[str, Any]) -> View:
        operation_id = id_from(parameters["operation_id"])
        view = self._view_of_operation(operation_id)
        if view is None and parameters["fence"]:
            self._archive.fence(operation_id)
        return {"process": view}

    def _list(self, parameters: Mapping[str, Any]) -> View:
        return {"processes": [self._view(managed) for managed in self._managed.values()]}

    def _write(self, parameters: Mapping[str, Any]) -> View:
        managed = self._known(parameters)
        offset = parameters["offset"]
        managed.write(
            base64.b64decode(parameters["data"], validate=True),
            eof=bool(parameters["eof"]),
            offset=None if offset is None else int(offset),
        )
        return {"process": self._view(managed)}

    def _resize(self, parameters: Mapping[str, Any]) -> View:
        managed = self._known(parameters)
        if managed.order.tty is None:
            raise Refused("not_tty", "it has pipes, no terminal")
        if not managed.is_running:
            raise Refused("not_running", "it has ended")
        managed.resize(terminal_from(parameters))
        return {"process": self._view(managed)}

    def _terminate(self, parameters: Mapping[str, Any]) -> View:
        managed = self._known(parameters)
        managed.end_by(
            int(parameters["signal"]),
            int(parameters["grace_ms"]) / 1000,
            reason=str(parameters["reason"]),
        )
        return {"process": self._view(managed)}

    def _stop(self, parameters: Mapping[str, Any]) -> View:
        return {}  # its process does the rest

    def _known(self, parameters: Mapping[str, Any]) -> Managed:
        process_id = str(parameters["process_id"])
        managed = self._managed.get(process_id)
        if managed is None:
            ended = self._archive.view(process_id)
            raise Refused("not_running" if ended else "not_found", "it is not under way here")
        return managed

    def _view_of_operation(self, operation_id: str) -> View | None:
        process_id = self._archive.process_of(operation_id)
        if process_id is None:
            return None
        managed = self._managed.get(process_id)
        return self._view(managed) if managed else self._archive.view(process_id)

    def _has_orphans(self) -> bool:
        return bool(self._adopted())

    def _strays(self) -> set[Identity]:
        """Return the orphans, if there is just one command that can have left them."""
        return identities_of(self._adopted()) if len(self._managed) == 1 else set()

    def _adopted(self) -> set[int]:
        return adopted(pid for managed in self._managed.values() if (pid := managed.pid))

    def _orphaned(self, managed: Managed) -> None:
        managed.end_by(signal.SIGTERM, STOP_GRACE_SECONDS, reason="no_server")

    def _view(self, managed: Managed) -> View:
        return view_of(managed, self._seqs.get(managed.order.process_id, 0))

    def _next_seq(self, managed: Managed) -> None:
        self._seq += 1
        self._seqs[managed.order.process_id] = self._seq

    def _changed(self, managed: Managed, at_once: bool) -> None:
        """Tell of a change now, or soon together with those that follow."""
        self._next_seq(managed)
        process_id = managed.order.process_id
        if at_once:
            self._tell_of(managed)
        elif process_id not in self._untold:
            self._untold[process_id] = self._loop.after(
                TELL_SECONDS, lambda: self._tell_of(managed)
            )

    def _tell_of(self, managed: Managed) -> None:
        timer = self._untold.pop(managed.order.process_id, None)
        if timer is not None:
            timer.cancel()
        self._tell(self._view(managed))
        self._forget_settled(managed)

    def _forget_settled(self, managed: Managed) -> None:
        """Leave a command of which nothing is left to follow to its record."""
        if managed.is_settled:
            self._managed.pop(managed.order.process_id, None)
            self._seqs.pop(managed.order.process_id, None)
