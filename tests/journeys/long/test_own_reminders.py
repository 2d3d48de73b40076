"""Reminders that repeat: set in plain words, due on the person's own clock, listed, moved and cancelled in Slack."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from tests.given import counted_anew, shown, tagged, wanting
from tests.journeys.house import House, said

DAY_S = 24 * 3_600.0
OWN = "SELECT * FROM intentions WHERE slot <> 'idle' ORDER BY number"


def wish(what: str = "stand-up", **more: object) -> str:
    return json.dumps({"when": "", "what": what, "drop": [], **more})


async def set_in(house: House, room: str, asked: str, answer: str, *, person: str = "Ada") -> str:
    house.model.replies += [wanting("reminder"), answer, tagged("Noted.")]
    return await house.answered(person, room, asked)


def local(due_ms: int, zone: str) -> str:
    return f"{datetime.fromtimestamp(due_ms / 1000, ZoneInfo(zone)):%H:%M}"


async def until_due(house: House, number: int) -> None:
    """Turn the clock to the next due time, and wait until so many have come and are answered."""
    (row,) = await house.rows("SELECT min(due_ms) AS due FROM intentions WHERE state = 'waiting' AND slot <> 'idle'")
    house.clock.turn((row["due"] - house.clock.now_ms()) / 1000 + 1)
    await house.row("SELECT 1 FROM inbox WHERE modality = 'time' AND process IS NULL", count=number)
    await house.idle()


async def test_a_daily_reminder_comes_at_nine_where_its_person_lives_over_a_restart(house: House) -> None:
    answer = await set_in(house, "dm", "Erinnere mich täglich um neun ans Stand-up", wish(every="daily 09:00"))
    assert "Noted." in answer
    assert "daily at 09:00: stand-up. `my reminders` lists yours." in answer
    assert "You have set a reminder for" in shown(house.prompts[-1])
    room = await house.people.open_dm("Ada")
    for number in (1, 2):
        (row,) = await house.rows(OWN)
        assert (local(row["due_ms"], "Europe/Athens"), row["zone"]) == ("09:00", "Europe/Athens")
        house.model.steps["respond"].append(tagged(f"Stand-up {number}!"))
        await until_due(house, number)
        assert (await house.replies(room))[-1] == f"Stand-up {number}!"
        await house.restart()
    assert len([one for one in await house.replies(room) if "Stand-up" in one and "!" in one]) == 2


async def test_who_moves_is_reminded_at_nine_of_where_they_live_now(house: House) -> None:
    person = str((await house.people.add_person("Kei", zone="Europe/Athens"))["id"])
    await set_in(house, "dm", "Remind me daily at nine", wish(every="daily 09:00"), person="Kei")
    users = house.workspace.workspace
    users.change_person(replace(users.state.people[person], tz="Mars/Olympus_Mons"))
    await house.acknowledged()
    assert "09:00" in await house.answered("Kei", "dm", "my reminders")
    (row,) = await house.rows(OWN)
    assert (local(row["due_ms"], "Europe/Athens"), row["zone"]) == ("09:00", "Europe/Athens"), "there is no such zone"
    users.change_person(replace(users.state.people[person], tz="Asia/Tokyo"))
    await house.row("SELECT 1 FROM intentions WHERE zone = 'Asia/Tokyo'")
    (row,) = await house.rows(OWN)
    assert local(row["due_ms"], "Asia/Tokyo") == "09:00"
    listed = await house.answered("Kei", "dm", "my reminders")
    assert "09:00 (Asia/Tokyo), daily at 09:00: stand-up" in listed


async def test_who_moves_while_no_daemon_runs_is_reminded_at_nine_of_there_without_a_word(house: House) -> None:
    person = str((await house.people.add_person("Kei", zone="Europe/Athens"))["id"])
    await set_in(house, "dm", "Remind me daily at nine", wish(every="daily 09:00"), person="Kei")
    await house.idle()
    await house.stop()
    people = house.workspace.workspace.state.people
    people[person] = replace(people[person], tz="Asia/Tokyo")  # and no event tells of it
    await house.start()
    await house.row("SELECT 1 FROM intentions WHERE zone = 'Asia/Tokyo'")
    (row,) = await house.rows(OWN)
    assert local(row["due_ms"], "Asia/Tokyo") == "09:00"


async def test_reminders_are_listed_moved_and_cancelled_by_phrases_without_a_model(house: House) -> None:
    await set_in(house, "dm", "Remind me on weekdays at nine", wish(every="weekdays 09:00"))
    await set_in(house, "dm", "Remind me of the build in 3 hours", wish("the build", when="in 3h"))
    asked = len(house.prompts)
    listed = await house.answered("Ada", "dm", "My reminders")
    assert "#1. " in listed
    assert "Mon, Tue, Wed, Thu, Fri at 09:00: stand-up" in listed
    assert "#2. " in listed
    assert "the build" in listed
    assert (await house.answered("Ada", "dm", "move reminder 1 to 9.30 Uhr")).startswith("Reminder 1 is due ")
    assert [row["every"] for row in await house.rows(OWN)] == ["weekly mon,tue,wed,thu,fri 09:30", ""]
    assert (await house.answered("Ada", "dm", "verschiebe Erinnerung 2 auf in 5h")).startswith("Reminder 2 is due ")
    due = (await house.rows(OWN))[1]["due_ms"]
    assert due > house.clock.now_ms() + 4 * 3_600_000
    assert " 10:00 (Europe/Athens)" in await house.answered("Ada", "dm", "move reminder 2 to tomorrow 10am")
    assert "give a time of day alone" in await house.answered("Ada", "dm", "move reminder 1 to in 2h")
    assert "can't make out that time" in await house.answered("Ada", "dm", "move reminder 2 to when pigs fly")
    assert await house.answered("Ada", "dm", "cancel reminder 2") == "Reminder 2 is cancelled."
    assert "You have no reminder 2" in await house.answered("Ada", "dm", "cancel reminder 2")
    assert "You have no reminder 1" in await house.answered("Ben", "dm", "cancel reminder 1")
    assert await house.answered("Ben", "dm", "my reminders") == "You have no reminders with me."
    assert (await house.answered("Ada", "dm", "resume reminder 1")).startswith("Reminder 1 goes on")
    assert len(house.prompts) == asked, "no model was asked"
    assert [row["state"] for row in await house.rows(OWN)] == ["waiting", "cancelled"]
    await set_in(house, "dm", "Remind me daily at nine", wish("my raise", every="daily 09:00"), person="Ben")
    said_here = await house.answered("Ben", "general", "@soul my reminders")
    assert "my raise" not in said_here
    private = await house.reply(await house.people.open_dm("Ben"), "Your reminders:")
    assert "my raise" in said(private)


async def test_the_number_that_a_list_shows_is_the_one_that_is_obeyed(house: House) -> None:
    for number, what in enumerate(("dentist", "rent", "invoices", "school"), 1):
        await set_in(house, "dm", f"Remind me of it in {9 - number} hours", wish(what, when=f"in {9 - number}h"))
    await house.answered("Ada", "dm", "cancel reminder 2")
    listed = await house.answered("Ada", "dm", "my reminders")
    assert not counted_anew(listed)
    lines = [line for line in listed.splitlines() if line.startswith("#")]
    shown_as = {line.rpartition(": ")[2]: line.partition(".")[0] for line in lines}
    assert shown_as == {"school": "#4", "invoices": "#3", "dentist": "#1"}
    assert await house.answered("Ada", "dm", f"cancel reminder {shown_as['school']}") == "Reminder 4 is cancelled."
    assert [row["content"] for row in await house.rows(OWN) if row["state"] == "waiting"] == ["dentist", "invoices"]
    told = await house.answered("Ada", "dm", "cancel reminders 1, 2 and 3")
    assert told.splitlines() == [
        "Reminder 1 is cancelled.",
        "You have no reminder 2; *my reminders* lists yours.",
        "Reminder 3 is cancelled.",
    ]
    assert [row["state"] for row in await house.rows(OWN)] == ["cancelled"] * 4


async def test_what_repeats_ends_when_its_person_said_and_the_list_says_so(house: House) -> None:
    day = f"{datetime.fromtimestamp(house.clock.now_ms() / 1000 + 2 * DAY_S, ZoneInfo('Europe/Athens')):%Y-%m-%d}"
    for until in (day, f"{day}T23:59"):
        answer = await set_in(house, "dm", "Daily at nine until then", wish(until, every="daily 09:00", until=until))
        assert f", daily at 09:00, until {day} 23:59 (Europe/Athens): {until}" in answer
        assert "daily 09:00 from then on, until " in shown(house.prompts[-1])
    answer = await set_in(house, "dm", "Three times, every hour", wish("stretch", every="1h", times=3))
    assert ", every 1 h, times left: 3: stretch" in answer
    await house.answered("Ada", "dm", "cancel reminder 2")
    for left in (2, 1, 0):
        house.clock.turn(3_601)
        await house.row("SELECT 1 FROM intentions WHERE content = 'stretch' AND fired = ?", 3 - left)
        await house.idle()
        assert (f"times left: {left}: stretch" in await house.answered("Ada", "dm", "my reminders")) == bool(left)
    assert f"until {day} 23:59" in await house.answered("Ada", "dm", "my reminders")
    for _ in range(4):
        house.clock.turn(DAY_S)
        await house.idle()
        await house.answered("Ada", "dm", "my reminders")  # whatever is due has come
    assert await house.rows("SELECT 1 FROM intentions WHERE state = 'waiting' AND slot <> 'idle'") == []
    assert await house.answered("Ada", "dm", "my reminders") == "You have no reminders with me."


async def test_an_end_that_can_not_be_made_out_or_comes_too_early_sets_nothing(house: House) -> None:
    for until in ("when pigs fly", "in 1m", "2020-01-01", "in 3 years"):
        await set_in(house, "dm", "Daily until then", wish(every="24h", until=until))
        assert "until when it is to come again could not be made out" in shown(house.prompts[-1]), until
    await set_in(house, "dm", "Daily at nine", wish(every="daily 09:00", when="when pigs fly"))
    assert "the time could not be made out" in shown(house.prompts[-1])
    assert await house.rows(OWN) == []


async def test_what_a_wish_says_besides_and_has_no_part_in_it_is_told(house: House) -> None:
    wishes: tuple[tuple[dict[str, object], str], ...] = (
        ({"when": "in 3h", "until": "Friday", "times": 3}, "until when, how often"),
        ({"every": "daily 09:00", "unanswered": True}, "that it is only if no one answers"),
        ({"when": "in 3h", "where": "here", "times": 1}, ""),
    )
    for filled, besides in wishes:
        await set_in(house, "dm", "Remind me of the build, as Ben said", json.dumps({"what": "the build", **filled}))
        told = f"You could not heed what they said besides: {besides}. Say so."
        assert (told in shown(house.prompts[-1])) == bool(besides), filled


async def test_one_for_a_channel_comes_up_there_and_its_time_reads_on_each_clock(house: House) -> None:
    await set_in(house, "general", "@soul remind us here every Monday", wish(every="weekly mon 09:00", where="channel"))
    posts = await house.people.posts_by_bot("C0GENERAL")
    sections = "".join(block["text"]["text"] for block in posts[-1]["blocks"] if block["type"] == "section")
    assert "<!date^" in sections
    assert " (Europe/Athens)>" in sections
    (row,) = await house.rows(OWN)
    assert (row["conversation"].rpartition("/C")[2], row["place"]) == ("0GENERAL/", "public_channel")
    house.model.replies.append(tagged("Monday: stand-up."))
    await until_due(house, 1)
    assert (await house.replies("C0GENERAL", thread=""))[-1] == "Monday: stand-up."


async def test_a_room_that_one_is_not_in_is_refused_in_one_sentence_and_so_is_a_guest(empty_house: House) -> None:
    house = empty_house
    await house.start(allow_guests=True)
    await house.people.add_person("Gus", standing="guest")
    for person, why in (("Ada", "there is no channel of that name"), ("Gus", "guests have reminders where they speak")):
        await set_in(house, "dm", "Remind #nowhere daily", wish(every="daily 09:00", where="#nowhere"), person=person)
        assert why in shown(house.prompts[-1])
    assert await house.rows(OWN) == []
    await set_in(house, "dm", "Remind me every minute", wish(every="0h"))
    assert "in no other way" in shown(house.prompts[-1])
    assert await house.rows(OWN) == []


async def test_deleting_the_message_that_asked_cancels_it_in_another_room_too(house: House) -> None:
    house.model.replies += [wanting("reminder"), wish(every="daily 09:00", where="#general"), tagged("Noted.")]
    ts = await house.say("Ada", "dm", "Remind #general of the stand-up daily at nine")
    room = await house.people.open_dm("Ada")
    await house.settled(room, "Noted.")
    assert [row["state"] for row in await house.rows(OWN)] == ["waiting"]
    await house.people.delete("Ada", room, ts)
    await house.row(f"SELECT 1 FROM ({OWN}) WHERE state = 'cancelled'")
    assert len(await house.rows(OWN)) == 1
