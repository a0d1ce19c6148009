"""Stands in for a supervisor's socket, and cuts the connection around one dispatch."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path

import anyio
from anyio.abc import SocketStream


class Cut(StrEnum):
    """What is lost."""

    REPLY = "reply"  # the dispatch arrives, its reply does not
    REQUEST = "request"  # the dispatch does not arrive


@asynccontextmanager
async def cutting_proxy(folder: Path, cut: Cut) -> AsyncIterator[None]:
    """While the block runs, clients of the supervisor of `folder` come through here."""
    address, moved = folder / "socket", folder / "moved"
    await anyio.Path(address).rename(moved)
    listener = await anyio.create_unix_listener(address)
    proxy = _Proxy(moved, cut)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, proxy.serve)
        yield
        tasks.cancel_scope.cancel()
    await anyio.Path(moved).rename(address)


class _Proxy:
    def __init__(self, address: Path, cut: Cut) -> None:
        self._address = address
        self._cut: Cut | None = cut

    async def serve(self, client: SocketStream) -> None:
        supervisor = await anyio.connect_unix(self._address)
        async with client, supervisor, anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_replies, supervisor, client, tasks.cancel_scope)
            async for data in client:
                if b'"dispatch"' in data and self._cut is not None:
                    await self._lose(data, supervisor)
                    break
                await supervisor.send(data)
            tasks.cancel_scope.cancel()

    async def _lose(self, data: bytes, supervisor: SocketStream) -> None:
        cut, self._cut = self._cut, None
        if cut is Cut.REPLY:
            await supervisor.send(data)

    @staticmethod
    async def _pass_replies(
        supervisor: SocketStream, client: SocketStream, scope: anyio.CancelScope
    ) -> None:
        async for data in supervisor:
            await client.send(data)
        scope.cancel()
