"""Reminders asked for in plain words: set, confirmed with their time, posted once, dropped on request."""

import json
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from tests.given import shown, tagged, wanting
from tests.journeys.house import House


def _wish(when: str = "", what: str = "", drop: tuple[int, ...] = ()) -> str:
    return json.dumps({"when": when, "what": what, "drop": drop})


def _nine_tomorrow(house: House, zone: str) -> datetime:
    now = datetime.fromtimestamp(house.clock.now_ms() / 1000, ZoneInfo(zone))
    return (now + timedelta(days=1)).replace(hour=9, minute=0, second=0, microsecond=0)


async def _due(house: House) -> None:
    """Wait until the reminder has fallen due and is answered."""
    await house.events.until("schedule.due")
    await house.idle()


async def test_a_reminder_is_set_confirmed_and_posted_once_at_its_time_or_dropped_on_request(house: House) -> None:
    house.model.replies += [wanting("reminder"), _wish("in 20m", "the build"), tagged("Noted.")]
    house.model.replies += [tagged("You wanted to look at the build.")]
    assert await house.answered("Ada", "dm", "Remind me of the build in 20 minutes") == "Noted."
    assert "You have set a reminder for" in shown(house.prompts[-1])
    house.clock.turn(20 * 60 + 1)
    await _due(house)
    room = await house.people.open_dm("Ada")
    assert (await house.replies(room))[-1] == "You wanted to look at the build."
    assert "the build" in house.last_prompt()
    house.clock.turn(3600)
    await house.idle()
    assert len(await house.replies(room)) == 2
    house.model.replies += [wanting("reminder"), _wish("in 20m", "the build"), tagged("Noted.")]
    await house.answered("Ada", "dm", "Remind me of the build in 20 minutes")
    wish = {"what": "the build", "unknown_zone": "Mars`<!channel>", "drop": [1]}
    house.model.replies += [wanting("reminder"), json.dumps(wish), tagged("Dropped.")]
    answer = await house.answered("Ada", "dm", "Drop that, and remind me of the build at 9 Mars time")
    assert "the build" in shown(house.prompts[-2])
    assert "I know of no time zone Mars" in answer
    assert "<!channel>" not in answer
    assert await house.rows("SELECT * FROM intentions WHERE state = 'waiting' AND slot <> 'idle'") == []


ATLANTIS = "I know of no time zone {zone}, so no reminder is set. Name another one, such as Europe/Berlin, or a time on"


async def test_a_zone_that_does_not_exist_gets_one_sentence_and_any_other_sets_the_reminder(house: House) -> None:
    for said, zone in (("9 Mars time", "Mars"), ("9 Europe/Atlantis time", "Europe/Atlantis")):
        wish = {"when": "2026-03-01T09:00", "what": "the build", "unknown_zone": zone}
        house.model.replies += [wanting("reminder"), json.dumps(wish), tagged("Hm.")]
        answer = await house.answered("Ada", "dm", f"Remind me of the build at {said}")
        assert answer.startswith("Hm."), zone
        assert ATLANTIS.format(zone=zone) in answer
        assert await house.rows("SELECT * FROM intentions WHERE slot <> 'idle'") == [], zone
    for zone in ("Europe/Berlin", "utc", "Narnia", "", "at 20 of"):
        wish = {"when": "in 20m", "what": "the build", "unknown_zone": zone}
        house.model.replies += [wanting("reminder"), json.dumps(wish), tagged("Noted.")]
        asked = "Remind me of it in 20 minutes; I am at Europe/Berlin, or UTC"
        assert await house.answered("Ada", "dm", asked) == "Noted.", zone
        assert "You have set a reminder for" in shown(house.prompts[-1]), zone


async def test_an_edit_of_the_message_that_asked_is_answered_once_by_what_holds(house: House) -> None:
    house.model.replies += [wanting("reminder"), _wish("in 2h", "the build"), tagged("Noted.")]
    ts = await house.say("Ada", "dm", "Remind me of the build in 2 hours")
    room = await house.people.open_dm("Ada")
    await house.reply(room, "Noted.")
    await house.idle()
    set_for = (await house.one("SELECT due_ms FROM intentions WHERE content = 'the build'"))["due_ms"]
    edits = (
        "Remind me of the build in 2 hours!",
        "Remind me of the build in 5 hours",
        "Remind me of the build in 6 hours",
    )
    for text in edits:
        await house.people.edit("Ada", room, ts, text)
        await house.acknowledged()
        await house.idle()
    told = (await house.replies(room))[1:]
    assert [one.partition(".")[0] for one in told] == [
        "You have changed the message in which you asked me for a reminder"
    ]
    assert "It stays as it was set then" in told[0]
    assert (await house.one("SELECT due_ms FROM intentions WHERE state = 'waiting' AND content <> ''"))[0] == set_for
    await house.people.edit("Ada", room, ts, "Never mind")
    assert "I have dropped it" in (await house.reply(room, "I have dropped it"))["text"]
    assert await house.rows("SELECT 1 FROM intentions WHERE state = 'waiting' AND slot <> 'idle'") == []


async def test_a_wish_for_a_reminder_in_which_none_can_be_made_out_promises_nothing(house: House) -> None:
    house.model.replies += [wanting("reminder"), _wish(), tagged("When?")]
    assert await house.answered("Ada", "dm", "Bring it up again, will you?") == "When?"
    assert "No reminder has been set or dropped" in shown(house.prompts[-1])
    house.model.replies += [wanting("reminder"), _wish("when pigs fly", "the build"), tagged("When?")]
    answer = await house.answered("Ada", "dm", "Remind me of the build one day")
    assert answer == "When?\n\n_No reminder is set._"
    assert "You could not set the reminder" in shown(house.prompts[-1])
    rooms = (("#random", "I'll say it there."), ("#nowhere", "Will do."))  # the app is in neither
    for room, promised in rooms:
        wish = json.dumps({"what": "the pump is back", "when": "in 1h", "where": room})
        house.model.replies += [wanting("reminder"), wish, tagged(promised)]
        answer = await house.answered("Ada", "dm", f"Tell {room} in an hour that the pump is back")
        assert answer == f"{promised}\n\n_No reminder is set._", room
    assert await house.rows("SELECT * FROM intentions WHERE slot <> 'idle'") == []


async def test_tomorrow_at_nine_is_nine_where_the_person_lives_who_asks(house: House) -> None:
    """Ada lives in Athens; Ben, who asks in the same room, in Tokyo."""
    await house.people.add_person("Kei", zone="Asia/Tokyo")
    await house.people.join("Kei", "general")
    for person, zone, offset in (("Ada", "Europe/Athens", 2), ("Kei", "Asia/Tokyo", 9)):
        nine = _nine_tomorrow(house, zone)
        house.model.replies += [wanting("reminder"), _wish(f"{nine:%Y-%m-%dT%H:%M}", "the build"), tagged("Noted.")]
        await house.answered(person, "general", "@soul remind me of the build tomorrow at nine")
        assert f"{nine:%A, %Y-%m-%d} 09:00 ({zone})" in shown(house.prompts[-1])
        assert f"for the person you answer ({zone})" in shown(house.prompts[-1])
        due = await house.one(
            "SELECT max(seq), due_ms FROM (SELECT rowid AS seq, due_ms FROM intentions WHERE content <> '')"
        )
        assert due["due_ms"] == int(nine.timestamp() * 1000)
        assert nine.utcoffset() in (timedelta(hours=offset), timedelta(hours=offset + 1))
    stored = {row["zone"] for row in await house.rows("SELECT zone FROM person_zones")}
    assert stored == {"Europe/Athens", "Asia/Tokyo"}
