"""What a soul thought of words that a user takes back is gone from its stream, also where it only read along (P45)."""

from tests.journeys.house import House
from tests.journeys.own_memory import forget
from tests.journeys.thinking import thought

CANARY = "heliotrope"


def address(house: House, ts: str) -> str:
    """The address of a message in #general, as Slack gives it."""
    return f"{house.workspace.url}/archives/C0GENERAL/p{ts.replace('.', '')}"


async def thought_of(house: House, person: str, room: str, text: str, thread: str = "") -> None:
    """A message that is answered by a thought which repeats in private what it saw."""
    house.model.replies.append(thought("I see.", inner_speech=f"A {CANARY}."))
    await house.answered(person, room, text, thread=thread)
    assert CANARY in house.last_prompt()
    assert await held(house)


async def held(house: House) -> bool:
    """Whether the stream or what stands beside a reply holds the word."""
    rows = await house.rows(
        "SELECT input || output AS words FROM thoughts UNION ALL SELECT thought FROM turns WHERE speaker = 'soul'"
    )
    return any(CANARY in row["words"] for row in rows)


async def gone(house: House) -> bool:
    """Whether the word is in none of them, and the chain is as it was."""
    return not await held(house) and bool(await house.rows("SELECT 1 FROM thoughts WHERE emptied"))


async def test_a_linked_message_that_is_edited_takes_what_was_thought_of_it(thinker: House) -> None:
    ts = await thinker.say("Ben", "general", f"the {CANARY} deal")
    await thought_of(thinker, "Ada", "dm", f"what does {address(thinker, ts)} say?")
    await thought_of(thinker, "Ada", "dm", "and what of it?")
    await thinker.people.edit("Ben", "general", ts, "never mind")
    await thinker.when(lambda: gone(thinker))
    thinker.model.replies.append(thought("No.", inner_speech="Hm."))
    await thinker.answered("Ada", "dm", "so?")
    assert CANARY not in thinker.last_prompt()


async def test_words_only_read_along_take_what_was_thought_of_them_when_deleted_or_forgotten(thinker: House) -> None:
    root = await thinker.say("Ben", "general", f"the {CANARY} deal")
    await thought_of(thinker, "Ada", "general", "@soul what is this about?", thread=root)
    await thinker.people.delete("Ben", "general", root)
    await thinker.when(lambda: gone(thinker))
    root = await thinker.say("Ben", "general", f"the {CANARY} deal")
    await thought_of(thinker, "Ada", "general", "@soul what is this about?", thread=root)
    await forget(thinker, "Ben")
    await thinker.when(lambda: gone(thinker))
    rows = await thinker.rows("SELECT source FROM thought_sources UNION SELECT source FROM changed_words")
    assert "U0BEN" not in str([row["source"] for row in rows])
