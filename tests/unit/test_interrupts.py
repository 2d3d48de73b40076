"""Attention: what runs in a conversation is cut when something new comes there, and only there."""

import asyncio

import pytest

from daemon.mind.interrupts import Interrupt, Interrupted, Interrupts


async def value() -> int:
    return 7


class Work:
    """Work without an end that tells whether it was begun and whether it was cancelled."""

    def __init__(self) -> None:
        self.begun, self.cut = asyncio.Event(), False

    async def run(self) -> None:
        """Go on for ever."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cut = True
            raise


async def test_work_that_nobody_interrupts_gives_what_it_gives() -> None:
    assert await Interrupt().unless_called(value()) == 7


async def test_a_call_cuts_what_runs() -> None:
    interrupt, work = Interrupt(), Work()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(_interrupted(interrupt, work))
        await work.begun.wait()
        interrupt.call()
    assert (running.result(), work.cut) == (True, True)


async def _interrupted(interrupt: Interrupt, work: Work) -> bool:
    try:
        await interrupt.unless_called(work.run())
    except Interrupted:
        return True
    return False


async def test_what_waits_already_keeps_work_from_beginning_until_it_is_taken_in() -> None:
    interrupt, work = Interrupt(), Work()
    interrupt.call()
    assert interrupt.pending
    with pytest.raises(Interrupted):
        await interrupt.unless_called(work.run())
    assert not work.begun.is_set()
    interrupt.clear()
    assert not interrupt.pending
    assert await interrupt.unless_called(value()) == 7


async def test_what_the_work_raises_comes_out_as_it_is() -> None:
    async def fails() -> None:
        raise LookupError("no tin")

    with pytest.raises(LookupError, match="no tin"):
        await Interrupt().unless_called(fails())


async def test_a_cancellation_from_outside_is_no_interruption() -> None:
    work = Work()
    running = asyncio.ensure_future(Interrupt().unless_called(work.run()))
    await work.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert work.cut


def test_the_switchboard_rings_through_to_all_who_listen_there_and_to_nobody_else() -> None:
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


def test_who_leaves_by_an_error_has_left() -> None:
    board = Interrupts()
    with pytest.raises(LookupError), board.attend("a"):
        raise LookupError
    assert not board._interrupts
