"""What people had noted about others, and what thoughts noted in their direct messages, is theirs to decide on."""

import json

from tests.given import tagged, wanting
from tests.journeys.house import House
from tests.journeys.own_memory import KNOWN, content_of, note, shared_files
from tests.journeys.thinking import thought

CLAIM = "Ben has a white bicycle"
BEES = "Ada keeps bees on the roof"


async def _noted(thinker: House, where: str = "dm") -> None:
    """A thought on words of Ada's notes something."""
    ops = [{"type": "write_semantic", "content": BEES}]
    thinker.model.replies.append(thought("I see.", memory_ops=ops))
    await thinker.answered("Ada", where, "@soul the honey is good" if where != "dm" else "the honey is good")


async def _exported(house: House) -> list[dict[str, object]]:
    await house.answered("Ada", "dm", "export my memory")
    facts: list[dict[str, object]] = json.loads(content_of(house, (await shared_files(house))[-1]["id"]))["facts"]
    return facts


async def test_a_person_sees_has_exported_and_may_ask_about_what_they_had_noted_of_another(house: House) -> None:
    await house.answered("Ada", "dm", f"remember that {CLAIM}")
    said = await house.answered("Ada", "dm", KNOWN)
    assert f"1. {CLAIM} (" in said
    assert said.index("*What else I noted*") < said.index(CLAIM)
    assert f"> {CLAIM}" in await house.answered("Ada", "dm", "why 1")
    assert [(one["text"], one["trust"]) for one in await _exported(house)] == [(CLAIM, "claim")]
    assert await house.answered("Ada", "dm", "wrong 1: Ben has a red one") == "Corrected: 1 now says: Ben has a red one"
    said = await house.answered("Ada", "dm", KNOWN)
    assert "1. Ben has a red one (" in said
    assert CLAIM not in said
    row = await house.one(
        "SELECT trust, person, predicate FROM records r JOIN facts f ON f.id = r.id WHERE text = 'Ben has a red one'"
    )
    assert tuple(row) == ("claim", "", "said")
    assert await house.answered("Ada", "dm", "forget 1") == "Forgotten: Ben has a red one"
    assert await house.rows("SELECT * FROM facts") == []


async def test_a_person_sees_and_has_exported_what_a_thought_noted_in_their_direct_messages(thinker: House) -> None:
    await _noted(thinker)
    assert f"1. {BEES} (" in await thinker.answered("Ada", "dm", KNOWN)
    assert "I noted it myself" in await thinker.answered("Ada", "dm", "why 1")
    assert [(one["text"], one["trust"]) for one in await _exported(thinker)] == [(BEES, "inferred")]
    await thinker.answered("Ada", "dm", "wrong 1: Ada keeps wasps")
    said = await thinker.answered("Ada", "dm", KNOWN)
    assert "1. Ada keeps wasps (" in said
    assert BEES not in said
    assert await thinker.answered("Ada", "dm", "forget 1") == "Forgotten: Ada keeps wasps"
    assert await thinker.rows("SELECT * FROM facts") == []


async def test_what_a_thought_noted_is_in_no_list_of_others_and_none_that_others_read(thinker: House) -> None:
    await _noted(thinker, "general")
    await thinker.answered("Ben", "dm", "hello")
    assert "bees" not in await thinker.answered("Ada", "dm", KNOWN)
    assert "bees" not in await thinker.answered("Ben", "dm", KNOWN)
    await _noted(thinker)
    assert "bees" not in await thinker.answered("Ben", "dm", KNOWN)
    await thinker.answered("Ada", "general", f"@soul {KNOWN}")
    assert BEES in json.dumps(await thinker.reply("D0ADA", "This is what I know about you:"))
    await thinker.answered("Ada", "general", "@soul forget 1")
    await thinker.reply("D0ADA", f"Forgotten: {BEES}")


async def test_what_is_said_of_another_in_a_channel_is_in_the_list_of_who_had_it_noted_alone(house: House) -> None:
    await house.answered("Ada", "general", "@soul Ben has a white bicycle")
    await note(house, "U0BEN", "has a white bicycle", "Ben has a white bicycle", by="U0ADA")
    assert "bicycle" not in await house.answered("Ada", "dm", KNOWN)
    assert "bicycle" not in await house.answered("Ben", "dm", KNOWN)
    house.model.replies += [
        wanting("remember"),
        json.dumps({"line": CLAIM, "quote": CLAIM}),
        tagged("Yes."),
    ]
    await house.answered("Ada", "general", f"@soul Keep in mind that {CLAIM}")
    await house.answered("Ben", "general", "@soul hello")
    assert CLAIM in await house.answered("Ada", "dm", KNOWN)
    assert "bicycle" not in await house.answered("Ben", "dm", KNOWN)
