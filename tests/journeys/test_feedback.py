"""What people say of a reply: thanked for, asked about once, kept once."""

import json

from daemon.channels.slack.incoming.dialogs import COMPLAINT
from daemon.local_slack.model import Json
from tests.journeys.house import House

KEPT = "SELECT author, value, how, why FROM feedback ORDER BY author"


async def press(house: House, person: str, value: str) -> str:
    """Judge the soul's last reply in the person's direct messages; gives the ts of that reply."""
    post = await house.reply(f"D0{person.upper()}")
    await house.idle()
    await house.people.click(person, "dm", post["ts"], "soul_feedback", value)
    return str(post["ts"])


async def dialog(house: House, person: str) -> Json:
    """Wait for the dialog that a person is shown."""

    async def look() -> Json | None:
        return next(iter(await house.people.modals(person)), None)

    return await house.until(look)


async def shown(house: House, person: str) -> list[str]:
    """What was shown to a person alone in their direct messages."""
    return [one["text"] for one in await house.people.ephemerals(person, "dm")]


async def test_a_good_answer_is_thanked_for_in_private(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await press(house, "Ada", "good")
    assert await house.until(lambda: shown(house, "Ada")) == ["Thank you, that helps me."]
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "good", "button", "")]
    assert await house.people.modals("Ada") == []


async def test_a_bad_answer_is_asked_about_once_and_the_answer_is_kept(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    ts = await press(house, "Ada", "bad")
    asked = await dialog(house, "Ada")
    await house.people.submit("Ada", asked["id"], **{COMPLAINT: "It is the *other* lamp."})
    assert await house.until(lambda: shown(house, "Ada")) == ["Thank you, I have noted what was wrong."]
    await house.people.click("Ada", "dm", ts, "soul_feedback", "good")
    await house.people.click("Ada", "dm", ts, "soul_feedback", "bad")

    async def thanked() -> bool:
        return len(await shown(house, "Ada")) == 3

    await house.until(thanked)
    assert await house.people.modals("Ada") == []
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "bad", "button", "It is the *other* lamp.")]


async def test_a_dialog_that_is_sent_twice_counts_once(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await press(house, "Ada", "bad")
    asked = await dialog(house, "Ada")
    for words in ("First.", "Second."):
        payload = {
            "type": "view_submission",
            "team": {"id": "T0LOCAL"},
            "user": {"id": "U0ADA", "team_id": "T0LOCAL"},
            "view": {**asked, "state": {"values": {COMPLAINT: {COMPLAINT: {"value": words}}}}},
        }
        await house.people.emit_envelope({"type": "interactive", "envelope_id": f"e-{words}", "payload": payload})
        await house.events.until("slack.heard", kind="Complaint")
    await house.events.until("slack.duplicate")
    assert [one["why"] for one in await house.rows(KEPT)] == ["First."]


async def test_the_dialog_of_another_reply_or_person_is_not_believed(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await press(house, "Ada", "bad")
    asked = await dialog(house, "Ada")
    payload = {
        "type": "view_submission",
        "team": {"id": "T0LOCAL"},
        "user": {"id": "U0BEN", "team_id": "T0LOCAL"},
        "view": {**asked, "state": {"values": {COMPLAINT: {COMPLAINT: {"value": "Said by Ben."}}}}},
    }
    await house.people.emit_envelope({"type": "interactive", "envelope_id": "e-ben", "payload": payload})
    await house.events.until("slack.heard", kind="Complaint", became="ignored")
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "bad", "button", "")]


async def test_where_no_dialog_can_be_opened_it_is_thanked_for(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await house.people.fault("views.open", body={"ok": False, "error": "expired_trigger_id"}, times=1)
    await press(house, "Ada", "bad")
    [said] = await house.until(lambda: shown(house, "Ada"))
    assert said.startswith("Thank you for telling me.")


async def test_a_thumb_at_a_reply_is_feedback_and_goes_when_it_is_removed(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    post = await house.reply("D0ADA")
    await house.idle()
    await house.people.react("Ada", "dm", post["ts"], "+1::skin-tone-2")
    assert await house.until(lambda: shown(house, "Ada")) == ["Thank you, that helps me."]
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "good", "reaction", "")]
    await house.people.react("Ada", "dm", post["ts"], "+1::skin-tone-2", remove=True)
    await house.when(lambda: _none_left(house))


async def _none_left(house: House) -> bool:
    return not await house.rows(KEPT)


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
    await house.when(lambda: _said_why(house))
    assert [tuple(one) for one in await house.rows(KEPT)] == [("U0ADA", "bad", "button", "Too curt.")]


async def _said_why(house: House) -> bool:
    return bool(await house.rows("SELECT 1 FROM feedback WHERE why <> ''"))


async def test_other_emoji_other_posts_and_guests_judge_nothing(house: House) -> None:
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


async def test_the_admin_reads_what_was_wrong(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await press(house, "Ada", "bad")
    asked = await dialog(house, "Ada")
    await house.people.submit("Ada", asked["id"], **{COMPLAINT: "Too curt."})
    await house.when(lambda: _said_why(house))
    [found] = json.loads(await house.command("feedback", "--bad", "--json"))
    assert (found["author"], found["value"], found["why"], found["reply"]) == (
        "U0ADA",
        "bad",
        "Too curt.",
        "Echo: hello",
    )
    assert "Too curt." in await house.command("feedback")
