"""The server's end of the supervisor's socket: requests, and the changes that it tells of."""

import logging
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from sandbox import Order, SupervisorUnavailable, connect, connect_or_start, parameters_of
from workspace_server.domain.clock import Clock
from workspace_server.domain.process import ProcessState
from workspace_server.process.supervisor_messages import (
    SupervisorProcess,
    process_from,
    write_parameters,
)
from workspace_server.process.supervisor_wire import SupervisorLost, SupervisorRefused, Wire

_log = logging.getLogger(__name__)

ENDED_KEPT = 256  # views of ended processes; older ones are asked for again

Listener = Callable[[SupervisorProcess], None]


class DispatchUnknown(Exception):
    """The dispatch may have arrived, and no reply came: only looking it up can tell."""


class DispatchRefused(Exception):
    """It is confirmed that the dispatch was not taken: nothing was tried."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SupervisorClient:
    """One connection for the whole server; when it is lost the next request makes another."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        self._wire: Wire | None = None
        self._connecting = anyio.Lock()
        self._connected = anyio.Event()
        self._latest: dict[str, SupervisorProcess] = {}
        self._ended: OrderedDict[str, SupervisorProcess] = OrderedDict()
        self._listener: Listener = lambda process: None
        self._changed: dict[str, anyio.Event] = {}

    def on_change(self, listener: Listener) -> None:
        """Have `listener` called with every view that arrives."""
        self._listener = listener

    def spool_folder(self, process_id: str) -> Path:
        """Return where the supervisor keeps the output of a process."""
        return self._folder / "processes" / process_id / "output"

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen for ever, on one connection after the other; end it when cancelled.

        The supervisor and its commands run on.
        """
        try:
            async with anyio.create_task_group() as tasks:
                task_status.started()
                while True:
                    await self._connected.wait()
                    self._connected = anyio.Event()
                    await self._listen(tasks)
        finally:
            if self._wire is not None:
                with anyio.CancelScope(shield=True):
                    await self._wire.close()

    async def connect_if_running(self) -> bool:
        """Connect if a supervisor is there; tell whether one is. None is started."""
        connection = await anyio.to_thread.run_sync(connect, self._folder)
        if connection is None:
            return False
        async with self._connecting:
            try:
                await self._take_over(connection)
            except SupervisorLost:  # it was about to leave
                return False
        return True

    async def dispatch(self, order: Order) -> SupervisorProcess:
        """Have a command started, by a supervisor that is started for it if none is there.

        Asking twice starts it once. The process may be one that could not be started. Raises
        DispatchRefused or DispatchUnknown.
        """
        try:
            wire = await self._connection()
        except SupervisorLost as lost:
            raise DispatchRefused("the supervisor could not be started") from lost
        try:
            reply = await wire.request("dispatch", parameters_of(order))
        except SupervisorRefused as refused:
            if refused.kind == "internal":  # it failed at some point, perhaps after the start
                raise DispatchUnknown(order.operation_id) from refused
            raise DispatchRefused(refused.message) from refused
        except SupervisorLost as lost:
            raise DispatchUnknown(order.operation_id) from lost
        return self._heard(reply["process"])

    async def lookup(self, operation_id: str, *, fence: bool) -> SupervisorProcess | None:
        """Return the process of an operation, if the supervisor ever heard of it.

        With `fence` an operation that it never heard of is never started from then on. Raises
        SupervisorLost.
        """
        reply = await self._request("lookup", {"operation_id": operation_id, "fence": fence})
        view = reply["process"]
        return None if view is None else self._heard(view)

    async def write(
        self, process_id: str, *, data: bytes, eof: bool, offset: int | None
    ) -> SupervisorProcess:
        """Feed input; raise SupervisorRefused or SupervisorLost."""
        parameters = write_parameters(process_id, data=data, eof=eof, offset=offset)
        return self._heard((await self._request("write", parameters))["process"])

    async def resize(self, process_id: str, *, rows: int, cols: int) -> SupervisorProcess:
        """Set the size of a terminal; raise SupervisorRefused or SupervisorLost."""
        parameters = {"process_id": process_id, "rows": rows, "cols": cols}
        return self._heard((await self._request("resize", parameters))["process"])

    async def terminate(
        self, process_id: str, *, signal: int, grace_ms: int, reason: str
    ) -> SupervisorProcess:
        """Begin to end a process; raise SupervisorRefused or SupervisorLost."""
        parameters = {
            "process_id": process_id,
            "signal": signal,
            "grace_ms": grace_ms,
            "reason": reason,
        }
        return self._heard((await self._request("terminate", parameters))["process"])

    def latest(self, process_id: str) -> SupervisorProcess | None:
        """Return the last view of a process that is under way there, or has ended of late.

        Its times are those of now: a process that does nothing is not told of anew.
        """
        process = self._known(process_id)
        return process and process.aged(int((self._clock.monotonic() - process.heard_at) * 1000))

    async def wait_changed(self, process_id: str, seen_seq: int) -> SupervisorProcess:
        """Return the first view after `seen_seq`; raise SupervisorLost if none can come."""
        while True:
            process = self.latest(process_id)
            if process is not None and process.seq > seen_seq:
                return process
            if process_id not in self._latest:
                raise SupervisorLost("it is not under way there any more")
            await self._changed.setdefault(process_id, anyio.Event()).wait()

    async def _request(self, method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        wire = await self._connection()
        return await wire.request(method, parameters)

    async def _connection(self) -> Wire:
        """Return the connection, made anew if need be; raise SupervisorLost."""
        async with self._connecting:
            if self._wire is None:
                try:
                    connection = await anyio.to_thread.run_sync(connect_or_start, self._folder)
                except SupervisorUnavailable as error:
                    raise SupervisorLost("no supervisor could be started") from error
                await self._take_over(connection)
            assert self._wire is not None
            return self._wire

    async def _take_over(self, connection: socket.socket) -> None:
        self._wire = await Wire.over(connection)
        self._connected.set()
        reply = await self._wire.request("list", {})
        for view in reply["processes"]:
            self._heard(view)

    async def _listen(self, tasks: TaskGroup) -> None:
        """Listen until the connection ends; then find out what became of what was running."""
        wire = self._wire
        assert wire is not None
        await wire.listen(self._heard)
        await wire.close()
        _log.warning("the supervisor's connection was lost")
        for process in self._forget(wire):
            tasks.start_soon(self._ask_again, process)

    def _forget(self, wire: Wire) -> Sequence[SupervisorProcess]:
        """Forget what that connection told, and return the processes that were running."""
        if self._wire is wire:
            self._wire = None
        unfinished, self._latest = self._latest, {}
        for process_id in unfinished:
            self._wake(process_id)
        return [each for each in unfinished.values() if each.state is ProcessState.RUNNING]

    async def _ask_again(self, process: SupervisorProcess) -> None:
        try:
            await self.lookup(process.operation_id, fence=False)
        except SupervisorLost as lost:
            _log.warning("what became of %s is not known: %s", process.process_id, lost)

    def _heard(self, view: Mapping[str, Any]) -> SupervisorProcess:
        process = process_from(view, heard_at=self._clock.monotonic())
        known = self._known(process.process_id)
        if known is not None and known.seq > process.seq:
            return known  # a reply that is read after the change that followed it
        if process.is_settled:
            self._latest.pop(process.process_id, None)
            self._ended[process.process_id] = process
            if len(self._ended) > ENDED_KEPT:
                self._ended.popitem(last=False)
        else:
            self._latest[process.process_id] = process
        self._listener(process)
        self._wake(process.process_id)
        return process

    def _known(self, process_id: str) -> SupervisorProcess | None:
        return self._latest.get(process_id) or self._ended.get(process_id)

    def _wake(self, process_id: str) -> None:
        event = self._changed.pop(process_id, None)
        if event is not None:
            event.set()
