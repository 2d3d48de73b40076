"""Colleagues of other workspaces of one Enterprise Grid organisation are heard; other organisations are not."""

from typing import Any

from daemon.core.sentences import SENTENCES
from tests.given import CLOSING, OPENING
from tests.journeys.house import House, said
from tests.journeys.problems import YES

GRID, SISTER = "E0LOCAL", "T0SISTER"


async def grid(house: House, **changes: Any) -> None:  # noqa: ANN401  # any setting
    """The workspace is one of an organisation; Sue is of a sister workspace, Tom a guest there, Xena of elsewhere."""
    await house.people.post("organisation", enterprise=GRID)
    people = (("Sue", "member", GRID), ("Tom", "guest", GRID), ("Xena", "stranger", "E0OTHER"))
    for name, standing, enterprise in people:
        await house.people.post("person", name=name, standing=standing, team=SISTER, enterprise=enterprise)
    await house.start(**changes)


async def refusals(house: House) -> list[object]:
    """Why the gate refused messages."""
    return [one["reason"] for one in house.events.named("gate.refused")]


async def test_colleagues_of_a_sister_workspace_are_heard_and_strangers_and_guests_are_not(empty_house: House) -> None:
    await grid(empty_house)
    assert await empty_house.answered("Sue", "dm", "good morning") == "Echo: good morning"
    post = await empty_house.reply("D0SUE")
    payload = {
        "type": "block_actions",
        "user": {"id": "U0XENA", "team_id": SISTER},
        "team": {"id": "T0LOCAL"},
        "enterprise": {"id": GRID},
        "channel": {"id": "D0SUE"},
        "container": {"type": "message", "message_ts": post["ts"], "channel_id": "D0SUE"},
        "actions": [{"type": "button", "action_id": YES, "value": "approve:a-1", "action_ts": empty_house.ts()}],
    }
    await empty_house.people.emit_envelope({"type": "interactive", "envelope_id": "forged-1", "payload": payload})
    await empty_house.events.until("slack.press_refused", reason="stranger")
    for person in ("Xena", "Tom"):
        ts = await empty_house.say(person, "dm", "good morning")
        assert await empty_house.final_state(ts) == "ignored"
    assert await refusals(empty_house) == ["stranger", "guest"]
    await empty_house.answered("Sue", "dm", "forget me")
    asked = await empty_house.reply("D0SUE", "forget")
    assert await empty_house.people.click("Sue", "dm", asked["ts"], YES)
    await empty_house.reply("D0SUE", "Forgotten:")


async def test_without_an_organisation_a_sister_workspace_is_any_other(house: House) -> None:
    await house.people.post("person", name="Sue", team=SISTER, enterprise=GRID)
    ts = await house.say("Sue", "dm", "good morning")
    assert await house.final_state(ts) == "ignored"
    assert await refusals(house) == ["stranger"]


async def test_an_admin_can_keep_them_out_and_they_hear_so(empty_house: House) -> None:
    await grid(empty_house, allow_organisation=False)
    await empty_house.say("Sue", "dm", "good morning")
    assert said(await empty_house.reply("D0SUE")) == SENTENCES["only_members"]


async def test_a_stream_in_a_channel_names_the_workspace_of_who_is_answered(empty_house: House) -> None:
    await grid(empty_house, slack_streaming="everywhere")
    await empty_house.people.add_channel("hall", kind="channel", members=["Ada", "Sue", "U0SOUL"])
    for person in ("Sue", "Ada"):
        flow = empty_house.flow()
        await empty_house.say(person, "hall", "@soul good morning")
        flow.say(f"{OPENING}{'Good morning to all of you. ' * 4}")
        await empty_house.draft("hall", "Good morning")
        flow.end(CLOSING)
        await empty_house.idle()
    starts = await empty_house.people.calls("chat.startStream")
    assert [one["args"]["recipient_team_id"] for one in starts] == [SISTER, "T0LOCAL"]


async def test_before_a_colleague_nothing_of_the_workspace_is_recalled(empty_house: House) -> None:
    await grid(empty_house)
    await empty_house.answered("Ben", "general", "@soul the kiln cracks because of the heliotrope glaze")
    await empty_house.people.add_channel("hall", kind="channel", members=["Ada", "Sue", "U0SOUL"])
    for person, room in (("Sue", "dm"), ("Ada", "hall")):
        await empty_house.answered(
            person, room, "@soul why does the kiln crack?" if room != "dm" else "why does the kiln crack?"
        )
        assert "heliotrope" not in empty_house.last_prompt()
    await empty_house.answered("Ada", "dm", "why does the kiln crack?")
    assert "heliotrope" in empty_house.last_prompt()
    members = ["Ada", "Ben", "U0SOUL"]
    made = await empty_house.people.post("channel", name="all", kind="channel", members=members, org_shared=True)
    await empty_house.answered("Ada", "all", "@soul why does the kiln crack?")
    assert "heliotrope" not in empty_house.last_prompt()
    rows = await empty_house.rows(
        "SELECT DISTINCT audience FROM turns WHERE conversation LIKE ?", f"%/{made['channel']['id']}/%"
    )
    assert [row["audience"] for row in rows] == [f"channel:{made['channel']['id']}"]
