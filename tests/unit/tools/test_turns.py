import anyio

from workspace_server.tools.turns import Turns


async def test_blocks_of_one_name_take_turns_and_others_do_not_wait() -> None:
    turns, log = Turns(), []

    async def take(name: str, number: int) -> None:
        async with turns.of(name):
            log.append(("in", name, number))
            await anyio.sleep(0.01)
            log.append(("out", name, number))

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(take, "a", number)
        tasks.start_soon(take, "b", 0)
    assert [event for event in log if event[1] == "a"] == [
        (step, "a", number) for number in range(3) for step in ("in", "out")
    ]
    assert log.index(("in", "b", 0)) < log.index(("out", "a", 0))


async def test_who_gives_up_waiting_leaves_the_turn_to_the_next() -> None:
    turns, log = Turns(), []

    async def take(name: str) -> None:
        async with turns.of("a"):
            log.append(name)

    async with anyio.create_task_group() as impatient, turns.of("a"):
        impatient.start_soon(take, "impatient")
        await anyio.sleep(0.01)
        impatient.cancel_scope.cancel()
    await take("next")
    assert log == ["next"]
