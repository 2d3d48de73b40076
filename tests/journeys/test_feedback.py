"""What people say of a reply: thanked for, asked about once, kept once."""

import json

from daemon.channels.slack.dialogs import COMPLAINT
from daemon.local_slack.model import Json
from tests.journeys.house import House
from tests.journeys.surfaces import dialog

KEPT = "SELECT author, value, how, why FROM feedback ORDER BY author"


async def press(house: House, person: str, value: str) -> str:
    """Judge the soul's last reply in the person's direct messages; gives the ts of that reply."""
    post = await house.reply(f"D0{person.upper()}")
    await house.idle()
    await house.people.click(person, "dm", post["ts"], "soul_feedback", value)
    return str(post["ts"])


async def shown(house: House, person: str) -> list[str]:
    """What was shown to a person alone in their direct messages."""
    return [one["text"] for one in await house.people.ephemerals(person, "dm")]


async def test_a_good_answer_is_thanked_for_and_a_bad_one_where_no_dialog_can_be_opened(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await press(house, "Ada", "good")
    assert await house.until(lambda: shown(house, "Ada")) == ["Thank you, that helps me."]
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "good", "button", "")]
    assert await house.people.modals("Ada") == []
    await house.answered("Ben", "dm", "hello")
    await house.people.fault("views.open", body={"ok": False, "error": "expired_trigger_id"}, times=1)
    await press(house, "Ben", "bad")
    [said] = await house.until(lambda: shown(house, "Ben"))
    assert said.startswith("Thank you for telling me.")


def sent(asked: Json, person: str, words: str) -> Json:
    """The envelope of a dialog that a person sends, made by hand."""
    payload = {
        "type": "view_submission",
        "team": {"id": "T0LOCAL"},
        "user": {"id": person, "team_id": "T0LOCAL"},
        "view": {**asked, "state": {"values": {COMPLAINT: {COMPLAINT: {"value": words}}}}},
    }
    return {"type": "interactive", "envelope_id": f"e-{words}", "payload": payload}


async def test_a_bad_answer_is_asked_about_once_and_what_its_person_says_is_kept_once(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    ts = await press(house, "Ada", "bad")
    asked = await dialog(house, "Ada")
    await house.people.emit_envelope(sent(asked, "U0BEN", "Said by Ben."))
    await house.events.until("slack.heard", kind="Complaint", became="ignored")
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "bad", "button", "")]
    await house.people.submit("Ada", asked["id"], **{COMPLAINT: "It is the *other* lamp."})
    assert await house.until(lambda: shown(house, "Ada")) == ["Thank you, I have noted what was wrong."]
    await house.people.emit_envelope(sent(asked, "U0ADA", "Sent twice."))
    await house.events.until("slack.duplicate")
    await house.people.click("Ada", "dm", ts, "soul_feedback", "good")
    await house.people.click("Ada", "dm", ts, "soul_feedback", "bad")

    async def thanked() -> bool:
        return len(await shown(house, "Ada")) == 3

    await house.until(thanked)
    assert await house.people.modals("Ada") == []
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "bad", "button", "It is the *other* lamp.")]
    [found] = json.loads(await house.command("queue", "feedback", "--bad", "--json"))
    assert (found["author"], found["why"], found["reply"]) == ("U0ADA", "It is the *other* lamp.", "Echo: hello")
    assert "It is the *other* lamp." in await house.command("queue", "feedback")


async def test_a_thumb_is_feedback_until_it_is_removed_and_others_judge_nothing(house: House) -> None:
    await house.people.join("Gus", "general")
    mine = await house.say("Ada", "general", "@soul hello")
    post = await house.reply("C0GENERAL")
    await house.idle()
    await house.people.react("Ada", "general", post["ts"], "tada")
    await house.people.react("Ben", "general", mine, "+1")
    await house.people.react("Gus", "general", post["ts"], "-1")
    await house.events.until("slack.feedback_refused", reason="guest")
    await house.acknowledged()
    assert await house.rows(KEPT) == []
    await house.answered("Ada", "dm", "hello")
    post = await house.reply("D0ADA")
    await house.idle()
    await house.people.react("Ada", "dm", post["ts"], "+1::skin-tone-2")
    assert await house.until(lambda: shown(house, "Ada")) == ["Thank you, that helps me."]
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "good", "reaction", "")]
    await house.people.react("Ada", "dm", post["ts"], "+1::skin-tone-2", remove=True)
    await house.no_row(KEPT)


async def test_a_thumb_down_offers_the_dialog_by_a_button(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    post = await house.reply("D0ADA")
    await house.idle()
    await house.people.react("Ada", "dm", post["ts"], "thumbsdown")
    await house.until(lambda: shown(house, "Ada"))
    [offer] = await house.people.ephemerals("Ada", "dm")
    [button] = offer["blocks"][1]["elements"]
    payload = {
        "type": "block_actions",
        "trigger_id": house.workspace.workspace.interactions.new_trigger("U0ADA"),
        "team": {"id": "T0LOCAL"},
        "user": {"id": "U0ADA", "team_id": "T0LOCAL"},
        "channel": {"id": "D0ADA"},
        "container": {"message_ts": offer["ts"], "channel_id": "D0ADA", "is_ephemeral": True},
        "actions": [{**button, "action_ts": "9.1"}],
    }
    await house.people.emit_envelope({"type": "interactive", "envelope_id": "e-offer", "payload": payload})
    asked = await dialog(house, "Ada")
    await house.people.submit("Ada", asked["id"], **{COMPLAINT: "Too curt."})
    await house.row("SELECT 1 FROM feedback WHERE why <> ''")
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "bad", "button", "Too curt.")]
