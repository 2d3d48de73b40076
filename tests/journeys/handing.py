"""For journeys in which a thread goes from Tess to Rolf, two souls in the local workspace."""

from typing import Any

from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.souls import write_soul

ACTS = "subprocesses = []\n[ism]\nenabled = true\n"
TESS_THERE, ROLF_THERE = "You are Tess, a weaver.", "You are Rolf, a sailor."
GIVEN = "From now on Rolf answers here; what was said is passed on."
TAKEN = "From now on I answer here in place of Tess, and I know what was said."


async def two(house: House, **settings: Any) -> None:  # noqa: ANN401  # any setting
    """Start Tess and Rolf, who solve problems and have no background jobs."""
    write_soul(house.settings.home, more=ACTS)
    write_soul(house.settings.home, "rolf", ACTS, shown="Rolf", personality=ROLF_THERE)
    await house.start(name="tess", souls=("rolf",), **settings)


async def talking(house: House, text: str = "my kiln is red", *replies: str) -> str:
    """Ada says this to Tess in a thread, who replies; both souls' further replies follow. Gives the thread's ts."""
    house.model.replies += [tagged(one) for one in ("I see.", *replies)]
    ts = await house.say("Ada", "general", f"@soul {text}")
    await house.reply("general", "I see.")
    await house.idle()
    return ts


async def words(house: House, room: str = "C0GENERAL") -> list[str]:
    """What the souls said in a room, in the order in which it stands there."""
    posts = await house.people.posts_by_bot(room)
    return [said(one) for one in sorted(posts, key=lambda one: float(one["ts"]))]


async def handed(house: House, ts: str, text: str = "@soul hand this thread to Rolf", room: str = "general") -> None:
    """Have the thread handed over by its phrase, and both souls say so."""
    taken = "From now on I answer here in place of"
    known = sum(one.startswith(taken) for one in await house.replies(room))
    await house.say("Ada", room, text, thread=ts)
    await house.reply(room, taken, count=known + 1)
    await house.idle()


async def goes_on(house: House, ts: str, text: str, reply: str = "") -> None:
    """Ada says this in the thread, and a soul replies."""
    await house.say("Ada", "general", text, thread=ts)
    await house.reply("general", reply or text)
    await house.idle()
