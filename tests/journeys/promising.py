"""For journeys of promises: a soul that makes one, and time that passes until it is kept, or in quiet."""

from typing import Final

from tests.journeys.house import House
from tests.journeys.thinking import adding, thought

HOUR: Final = 3_600


def promising(goal: str, due: str = "in 2h") -> dict[str, object]:
    """A goal about which words are promised, as a model writes it."""
    return adding(goal, due=due, follow_up=True)


async def promised(house: House, goal: str, due: str = "in 2h", *, room: str = "dm", person: str = "Ada") -> str:
    """Say something that the soul answers with a promise; gives the reply."""
    house.model.replies.append(thought("I will look.", goal_updates=[promising(goal, due)]))
    return await house.answered(person, room, f"the {goal}, please")


async def said_after(house: House, seconds: float, containing: str, room: str = "D0ADA") -> None:
    """Let time pass until words are posted."""
    house.clock.turn(seconds)
    await house.reply(room, containing)


async def posts(house: House) -> int:
    """How many calls put words into the workspace."""
    return len(await house.posting_calls())


async def quiet_after(house: House, seconds: float) -> None:
    """Let time pass in which nothing is posted."""
    before = await posts(house)
    house.clock.turn(seconds)
    await house.idle()
    assert await posts(house) == before
