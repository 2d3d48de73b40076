"""For journeys in which threads are bound to Ada's session."""

from tests.journeys.house import House

BOUND = "From now on what Ada Lovelace says here goes to `ada-api` in my place. *unbind* ends that."
FOR_ALL = "From now on what anybody says here goes to `ada-api` in my place. *unbind* ends that."
HEAD = "*Ada Lovelace's session `ada-api`:*"


async def bound_thread(house: House, how: str = "bind ada-api here", person: str = "Ada") -> str:
    """A thread that Ada has bound to her session; gives its ts."""
    ts = await house.say(person, "general", f"@soul {how}")
    await house.reply("general", "From now on what")
    await house.idle()
    return ts


async def put(house: House, person: str, thread: str, text: str) -> str:
    """Say something in a thread that goes to a session; gives its ts."""
    ts = await house.say(person, "general", text, thread=thread)
    await house.final_state(ts)
    await house.idle()
    return ts
