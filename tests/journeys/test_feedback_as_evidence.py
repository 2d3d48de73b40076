"""A thumb counts for what had surfaced to the reply: within bounds, before its own readers, until it is taken back."""

import json

import pytest

from daemon.channels.slack.dialogs import COMPLAINT
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.local_slack.model import Json
from daemon.memory.retrieval.lanes import Floor
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.own_memory import forget
from tests.journeys.surfaces import dialog

GLAZE = "the kiln cracks because of the heliotrope glaze"
QUESTION = "why does the kiln crack?"
JUDGED = "SELECT id, author FROM judged_memories ORDER BY id, author"
EVERYBODY = Readers(Audience(AudienceKind.WORKSPACE, "T0LOCAL"), members_only=True)
IN_DM = Readers(Audience(AudienceKind.DM, "D0ADA"), members_only=True)


async def score(house: House, readers: Readers = EVERYBODY, channel: str = "C0GENERAL") -> float:
    """How well Ben's words fit the question for these readers."""
    here = ConversationKey("minoan", "T0LOCAL", channel, "" if channel.startswith("D") else "1.000000")
    found = await house.built.surfacing.find(here, readers, [QUESTION], 9, floor=Floor.NONE, again=True)
    return next(one.score for one in found.hits if one.text.endswith(GLAZE))


@pytest.fixture
async def guild(house: House) -> House:
    """Ben said why the kiln cracks, so that this surfaces to the answers about it."""
    await house.answered("Ben", "general", f"@soul {GLAZE}")
    return house


async def answer(house: House, person: str = "Ada", room: str = "general", count: int = 1) -> Json:
    """The soul answers the question with what surfaced; gives its message."""
    house.model.replies.append(tagged("It is the heliotrope glaze [m1]."))
    await house.say(person, room, QUESTION if room == "dm" else f"@soul {QUESTION}")
    post = await house.reply(f"D0{person.upper()}" if room == "dm" else room, "It is the", count=count)
    await house.idle()
    return post


async def thumb(house: House, person: str, room: str, ts: str, name: str, *, remove: bool = False) -> None:
    """React to a reply, and wait until that is stored."""
    before = len(_stored(house))
    await house.people.react(person, room, ts, name, remove=remove)

    async def heard() -> bool:
        return len(_stored(house)) > before

    await house.when(heard)


def _stored(house: House) -> list[str]:
    emitted = house.events.emitted
    return [name for name, more in emitted if name.startswith("inbox.") and more.get("kind") == "Feedback"]


async def complain(house: House, person: str, room: str, ts: str) -> None:
    """Call a reply bad, and say what was wrong with it."""
    await house.people.click(person, room, ts, "soul_feedback", "bad")
    asked = await dialog(house, person)
    await house.people.submit(person, asked["id"], **{COMPLAINT: "It is the clay."})
    await house.row("SELECT 1 FROM feedback WHERE why <> ''")


async def test_a_thumb_up_weighs_up_until_it_is_taken_back_and_one_down_only_with_a_reason(guild: House) -> None:
    house, post = guild, await answer(guild)
    before = await score(house)
    await thumb(house, "Ada", "general", post["ts"], "+1")
    after = await score(house)
    assert before < after <= before * 1.11
    assert len(await house.rows(JUDGED)) == 1
    await thumb(house, "Ada", "general", post["ts"], "+1", remove=True)
    assert await score(house) == before
    assert await house.rows(JUDGED) == []
    await thumb(house, "Ben", "general", post["ts"], "-1")
    assert await score(house) == before
    await complain(house, "Ada", "general", post["ts"])
    assert before * 0.89 <= await score(house) < before
    await house.people.click("Ada", "general", post["ts"], "soul_feedback", "good")
    await house.row("SELECT 1 FROM feedback WHERE author = 'U0ADA' AND value = 'good'")
    assert await score(house) > before


async def test_one_voice_a_person_over_a_restart_and_no_more_than_a_tenth_for_all(guild: House) -> None:
    house, post = guild, await answer(guild)
    before = await score(house)
    await thumb(house, "Ada", "general", post["ts"], "+1")
    once = await score(house)
    event = {
        "type": "reaction_added",
        "user": "U0ADA",
        "reaction": "+1",
        "item": {"type": "message", "channel": "C0GENERAL", "ts": post["ts"]},
        "item_user": "U0SOUL",
        "event_ts": house.ts(),
    }
    await house.people.emit(event, "C0GENERAL")
    await house.acknowledged()
    await house.restart()
    assert await score(house) == once
    assert len(await house.rows(JUDGED)) == 1
    again = await answer(house, "Ada", count=2)
    once = await score(house)
    await thumb(house, "Ada", "general", again["ts"], "+1")
    assert await score(house) == once
    await thumb(house, "Ben", "general", post["ts"], "+1")
    twice = await score(house)
    assert twice > once
    await thumb(house, "Chloe", "general", post["ts"], "+1")
    assert await score(house) == twice
    assert before < twice <= before * 1.15


async def test_a_word_in_direct_messages_counts_there_alone_and_goes_with_its_person(guild: House) -> None:
    house, post = guild, await answer(guild, "Ada", "dm")
    open_, own = await score(house), await score(house, IN_DM, "D0ADA")
    await thumb(house, "Ada", "dm", post["ts"], "+1")
    assert await score(house) == open_
    assert await score(house, IN_DM, "D0ADA") > own
    assert "(People on answers that had this: good 1, bad 0.)" in await house.answered("Ada", "dm", "why")
    [found] = json.loads(await house.command("queue", "feedback", "--json"))
    assert found["memories"] == [row["id"] for row in await house.rows(JUDGED)]
    assert "good 1, bad 0" in await house.command("memory", "why", post["ts"])
    public = await answer(house)
    before = await score(house)
    await thumb(house, "Chloe", "general", public["ts"], "+1")
    assert await score(house) > before
    await forget(house, "Chloe")
    await house.idle()
    assert {row["author"] for row in await house.rows(JUDGED)} == {"U0ADA"}
    assert await score(house) == before
