import anyio
import pytest

from tests.support.clock import FakeClock
from workspace_server.domain.errors import WorkspaceBusy
from workspace_server.workspace.lease import HolderKind, Leases

ROOT = "/repository"


async def take(leases: Leases, name: str, kind: HolderKind = HolderKind.PATCH) -> None:
    await leases.acquire(ROOT, kind=kind, operation_id=name, process_id=f"proc-{name}")


async def waiting(leases: Leases) -> None:
    """Let every task that can run do so."""
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


async def test_patches_get_the_lease_in_the_order_they_asked() -> None:
    leases, order = Leases(FakeClock()), []

    async def patch(name: str) -> None:
        await take(leases, name)
        order.append(name)
        leases.release(ROOT, name)

    await take(leases, "first")
    async with anyio.create_task_group() as tasks:
        for name in ("second", "third", "fourth"):
            tasks.start_soon(patch, name)
            await waiting(leases)
        leases.release(ROOT, "first")
    assert order == ["second", "third", "fourth"]
    assert leases.holder_of(ROOT) is None


async def test_behind_a_command_others_are_refused_at_once_naming_it() -> None:
    leases = Leases(FakeClock())
    await take(leases, "op-run", HolderKind.COMMAND)
    with pytest.raises(WorkspaceBusy) as refused:
        await take(leases, "op-patch")
    assert refused.value.retryable
    assert refused.value.process_id == "proc-op-run"
    assert "terminate_process" in (refused.value.recovery or "")
    assert leases.holder_of(ROOT) is not None


async def test_a_command_that_gets_the_lease_sends_the_whole_line_away() -> None:
    leases = Leases(FakeClock())
    refused: list[str | None] = []

    async def patch() -> None:
        try:
            await take(leases, "late")
        except WorkspaceBusy as busy:
            refused.append(busy.process_id)

    await take(leases, "first")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take, leases, "op-run", HolderKind.COMMAND)
        await waiting(leases)
        tasks.start_soon(patch)
        await waiting(leases)
        leases.release(ROOT, "first")
    assert refused == ["proc-op-run"]
    holder = leases.holder_of(ROOT)
    assert holder is not None
    assert holder.operation_id == "op-run"


async def test_a_wait_that_is_over_names_the_holder_and_leaves_the_line() -> None:
    leases = Leases(FakeClock())
    await take(leases, "first")
    with pytest.raises(WorkspaceBusy):
        await leases.acquire(ROOT, kind=HolderKind.PATCH, operation_id="second", wait_seconds=0.01)
    leases.release(ROOT, "first")
    assert leases.holder_of(ROOT) is None


async def test_a_cancelled_waiter_gives_its_place_up() -> None:
    leases = Leases(FakeClock())
    await take(leases, "first")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take, leases, "second")
        await waiting(leases)
        tasks.cancel_scope.cancel()
    leases.release(ROOT, "first")
    assert leases.holder_of(ROOT) is None


async def test_a_waiter_cancelled_just_as_it_is_granted_passes_the_lease_on() -> None:
    leases = Leases(FakeClock())
    await take(leases, "first")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take, leases, "second")
        await waiting(leases)
        tasks.cancel_scope.cancel()
        leases.release(ROOT, "first")
    assert leases.holder_of(ROOT) is None


async def test_only_the_holder_can_release() -> None:
    leases = Leases(FakeClock())
    await take(leases, "first")
    leases.release(ROOT, "somebody else")
    holder = leases.holder_of(ROOT)
    assert holder is not None
    assert holder.operation_id == "first"
