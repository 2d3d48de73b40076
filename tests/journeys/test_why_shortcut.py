"""*Why did you say that?* in the menu of a message: answered to who asked, alone, once, and for their ears."""

import json

import pytest

from daemon.core.phrases import WHY_SHORTCUT
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.own_memory import files_with, forget
from tests.journeys.surfaces import shown

POINTER = "I have answered you in a direct message."
GLAZE = "heliotrope glaze"


@pytest.fixture
async def studio(empty_house: House) -> tuple[House, str]:
    """In a channel the soul said what Ben had said in another one; gives the ts of its message."""
    await empty_house.start(allow_guests=True)
    await empty_house.people.add_channel("studio", members=["Ada", "Ben", "Gus"])
    await empty_house.answered("Ben", "general", f"@soul the kiln cracks because of the {GLAZE}")
    await empty_house.people.leave("Gus", "studio")
    await empty_house.acknowledged()
    empty_house.model.replies.append(tagged("It is the glaze [m1]. The sky is blue."))
    await empty_house.say("Ada", "studio", "@soul why does the kiln crack?")
    reply = await empty_house.reply("studio")
    await empty_house.idle()
    return empty_house, str(reply["ts"])


async def _ask(house: House, person: str, room: str, ts: str) -> None:
    assert await house.people.shortcut(person, room, ts, WHY_SHORTCUT)


async def test_who_asks_in_a_channel_is_answered_in_direct_messages_without_a_model(studio: tuple[House, str]) -> None:
    house, ts = studio
    prompts, before = len(house.prompts), await house.replies("studio")
    await _ask(house, "Ben", "studio", ts)
    answer = said(await house.reply("D0BEN"))
    await house.idle()
    assert answer.startswith("Where it comes from, sentence by sentence:\n\n> It is the glaze.\n- “the kiln cracks")
    assert f"{GLAZE}” (Ben, " in answer
    assert answer.endswith(
        "> The sky is blue.\nNothing that I remember; it came from the talk itself or from what I know in general."
    )
    assert await house.replies("studio") == before
    assert await house.whispers("Ben") == [POINTER]
    assert len(house.prompts) == prompts
    house.model.replies.append(tagged(f"Ben says it is the {GLAZE}."))
    await house.answered("Ada", "dm", "the kiln, once more?")
    reply = await house.reply("D0ADA")
    await _ask(house, "Ada", "dm", reply["ts"])
    below = await house.reply("D0ADA", "Where it comes from")
    assert f"- “the kiln cracks because of the {GLAZE}” (Ben" in said(below)
    assert below["thread_ts"] == reply["thread_ts"]
    assert await house.whispers("Ada") == []
    await house.people.join("Gus", "studio")
    await house.acknowledged()
    await _ask(house, "Gus", "studio", ts)
    answer = said(await house.reply("D0GUS"))
    assert "> It is the glaze.\nIt rests on something that I may not show here." in answer
    assert GLAZE not in json.dumps(await house.people.messages("D0GUS", thread="*"))


async def test_at_a_message_that_is_no_answer_of_the_souls_it_says_so_to_who_asked(studio: tuple[House, str]) -> None:
    house, _ = studio
    theirs = await house.say("Ada", "studio", "lunch?")
    await _ask(house, "Ben", "studio", theirs)
    assert await shown(house, "Ben", "studio") == "That is not an answer of mine, so I can't say why it was written."
    assert await house.rows("SELECT * FROM inbox WHERE modality = 'decision'") == []
    await house.answered("Ada", "dm", "what do you know about me")
    reply = await house.reply("D0ADA")
    await _ask(house, "Ada", "dm", reply["ts"])
    assert await house.reply("D0ADA", "I have not said anything here yet that I could give reasons for.")


async def test_a_user_who_may_not_talk_with_the_soul_is_refused_alone(studio: tuple[House, str]) -> None:
    house, ts = studio
    await house.restart(allow_guests=False)
    await house.people.join("Gus", "studio")
    await house.acknowledged()
    before = await house.replies("studio")
    await _ask(house, "Gus", "studio", ts)
    await house.until(lambda: house.whispers("Gus"))
    await house.idle()
    assert "I only talk with full members" in (await house.whispers("Gus"))[0]
    assert await house.replies("studio") == before


@pytest.mark.slow
async def test_one_use_is_answered_once_although_it_comes_twice_over_a_kill(studio: tuple[House, str]) -> None:
    house, ts = studio
    await house.people.fault("conversations.open", delay=30.0, times=1)
    await _ask(house, "Ben", "studio", ts)
    await house.when(lambda: house.people.met("conversations.open"))
    [sent] = [one for one in await house.people.deliveries() if one["event_type"] == "message_action"]
    await house.cut()
    await house.people.clear_faults()
    await house.start(allow_guests=True)
    assert "Where it comes from" in said(await house.reply("D0BEN"))
    payload = {
        "type": "message_action",
        "callback_id": WHY_SHORTCUT,
        "action_ts": (await house.one("SELECT event_id FROM deliveries WHERE event_id LIKE 'why:%'"))[
            "event_id"
        ].rpartition(":")[2],
        "team": {"id": "T0LOCAL"},
        "user": {"id": "U0BEN", "team_id": "T0LOCAL"},
        "channel": {"id": (await house.one("SELECT channel FROM inbox WHERE modality = 'decision'"))["channel"]},
        "message_ts": ts,
        "message": {"ts": ts},
    }
    await house.people.emit_envelope(
        {"type": "interactive", "envelope_id": f"{sent['envelope_id']}x", "payload": payload}
    )
    await house.events.until("slack.duplicate")
    await house.idle()
    assert len(await house.replies("D0BEN")) == 1


async def test_where_no_direct_message_can_be_opened_it_is_shown_to_them_alone(studio: tuple[House, str]) -> None:
    house, ts = studio
    await house.people.fault("conversations.open", body={"ok": False, "error": "missing_scope"}, times=5)
    await _ask(house, "Ben", "studio", ts)
    await house.until(lambda: house.whispers("Ben"))
    [answer] = await house.whispers("Ben")
    assert f"{GLAZE}” (Ben, " in answer


@pytest.mark.slow
async def test_what_an_answer_quoted_goes_with_who_is_forgotten(studio: tuple[House, str]) -> None:
    house, ts = studio
    await _ask(house, "Ada", "studio", ts)
    assert GLAZE in said(await house.reply("D0ADA"))
    await house.idle()
    assert (await forget(house, "Ben")).startswith("Forgotten:")
    await house.idle()
    assert files_with(house.settings.home, "heliotrope") == []
    await _ask(house, "Ada", "studio", ts)
    assert await house.reply("D0ADA", "I have not said anything here yet that I could give reasons for."), (
        "it had his word, too"
    )
