"""Interrupts: a new message cuts the work in its conversation, and only there."""

import asyncio

import pytest

from daemon.mind.process import Interrupt, Interrupted, Interrupts
from tests.fakes import EndlessWork


async def value() -> int:
    return 7


async def test_a_new_message_cuts_the_work() -> None:
    interrupt, work = Interrupt(), EndlessWork()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(_interrupted(interrupt, work))
        await work.started.wait()
        interrupt.call()
    assert (running.result(), work.cancelled) == (True, True)


async def _interrupted(interrupt: Interrupt, work: EndlessWork) -> bool:
    try:
        await interrupt.unless_called(work.forever())
    except Interrupted:
        return True
    return False


async def test_a_pending_message_keeps_work_from_beginning_until_it_is_absorbed() -> None:
    interrupt, work = Interrupt(), EndlessWork()
    interrupt.call()
    assert interrupt.pending
    with pytest.raises(Interrupted):
        await interrupt.unless_called(work.forever())
    assert not work.started.is_set()
    interrupt.clear()
    assert not interrupt.pending
    assert await interrupt.unless_called(value()) == 7


async def test_an_error_of_the_work_or_a_cancellation_from_outside_is_no_interruption() -> None:
    with pytest.raises(LookupError, match="no tin"):
        await Interrupt().unless_called(EndlessWork().fail(LookupError("no tin")))
    work = EndlessWork()
    running = asyncio.ensure_future(Interrupt().unless_called(work.forever()))
    await work.started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert work.cancelled


def test_a_new_message_interrupts_all_work_under_way_in_its_conversation_and_no_other() -> None:
    board = Interrupts()
    with board.attend("a") as one, board.attend("b") as other:
        with board.attend("a") as two:
            board.call("a")
            assert [one.pending, two.pending, other.pending] == [True, True, False]
        one.clear()
        two.clear()
        board.call("a")
        assert [one.pending, two.pending] == [True, False], "who has left is not called any more"
    board.call("a")
    assert not board._interrupts, "nothing is kept of those who left"
    board = Interrupts()
    with pytest.raises(LookupError), board.attend("a"):
        raise LookupError
    assert not board._interrupts
