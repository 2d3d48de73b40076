"""Digests: what was said in a channel since the last one, made of that channel's words alone, and paused where lost."""

import json

from tests.given import shown, tagged, wanting
from tests.journeys.house import House

OWN = "SELECT * FROM intentions WHERE slot <> 'idle' ORDER BY number"
APP = "U0SOUL"


async def digest_of(house: House, person: str = "Ada", room: str = "general") -> None:
    """A person asks in a channel for a digest every Monday."""
    wish = json.dumps({"what": "", "every": "weekly mon 09:00", "digest": True, "drop": []})
    house.model.replies += [wanting("reminder"), wish, tagged("Noted.")]
    await house.answered(person, room, "@soul every Monday at 9 post a digest of this channel here")
    row = (await house.rows(OWN))[-1]
    assert (row["errand"], row["conversation"].rpartition("/C")[2]) == ("digest", f"0{room.upper()}/")


async def monday(house: House, number: int) -> None:
    row = (await house.rows(OWN))[-1]
    house.clock.turn((row["due_ms"] - house.clock.now_ms()) / 1000 + 1)
    await house.row("SELECT 1 FROM inbox WHERE modality = 'time' AND process IS NULL", count=number)
    await house.idle()


async def test_a_digest_is_made_of_the_channels_own_words_and_of_nothing_where_nothing_was_said(house: House) -> None:
    house.model.replies.append(tagged("Good."))
    await house.answered("Ben", "dm", "my raise is a secret")
    await digest_of(house)
    await house.say("Ben", "general", "We ship on Thursday.")
    root = await house.say("Chloe", "general", "Who writes the notes?")
    await house.say("Ada", "general", "I do.", thread=root)
    await house.acknowledged()
    house.model.steps["digest"].append("Shipping on Thursday; Ada writes the notes.")
    await monday(house, 1)
    posted = (await house.replies("C0GENERAL", thread=""))[-1]
    assert posted.endswith("Shipping on Thursday; Ada writes the notes.")
    (asked,) = [prompt for prompt in house.prompts if prompt.step == "digest"]
    for words in ("We ship on Thursday.", "Who writes the notes?", "I do."):
        assert words in shown(asked)
    assert "raise" not in shown(asked)
    assert "digest of this channel" not in shown(asked), "what stood before it was set"
    before = await house.replies("C0GENERAL")
    await monday(house, 2)
    assert await house.replies("C0GENERAL") == before
    assert len([prompt for prompt in house.prompts if prompt.step == "digest"]) == 1, "no model for nothing"


async def test_where_the_soul_was_removed_its_owner_hears_so_once_and_the_digest_rests(house: House) -> None:
    await digest_of(house)
    await house.noticed(house.people.leave(APP, "general"))
    await house.say("Ben", "general", "We ship on Thursday.")
    room = await house.people.open_dm("Ada")
    await monday(house, 1)
    (row,) = await house.rows(OWN)
    assert row["paused"] == "not_in_channel"
    hears = [one for one in await house.replies(room) if "reminder 1" in one]
    assert len(hears) == 1
    assert "I am not in that channel any more" in hears[0]
    house.clock.turn(21 * 24 * 3_600)
    await house.idle()
    assert len([one for one in await house.replies(room) if "reminder 1" in one]) == 1
    assert "paused" in await house.answered("Ada", "dm", "my reminders")
    assert "stays paused" in await house.answered("Ada", "dm", "resume reminder 1")
    await house.noticed(house.people.join(APP, "general"))
    assert (await house.answered("Ada", "dm", "resume reminder 1")).startswith("Reminder 1 goes on")
    assert (await house.rows(OWN))[0]["paused"] == ""


async def test_a_channel_that_lost_the_soul_or_its_person_or_is_archived_pauses_it_too(house: House) -> None:
    async def paused(person: str) -> tuple[str, str]:
        """Why the newest digest rests, and what its person hears."""
        hears = (await house.replies(await house.people.open_dm(person)))[-1]
        return (await house.rows(OWN))[-1]["paused"], hears

    await digest_of(house, room="founders")
    await house.noticed(house.people.leave(APP, "founders"))
    await monday(house, 1)
    why, hears = await paused("Ada")
    assert why == "not_in_channel"
    assert hears.startswith("I could not bring up your reminder 1 in a channel, since I am not in that channel")
    await digest_of(house, "Ben")
    await house.noticed(house.people.leave("Ben", "general"))
    await house.say("Ada", "general", "We ship on Thursday.")
    await monday(house, 2)
    why, hears = await paused("Ben")
    assert (why, "you are not in that channel any more" in hears) == ("owner_left", True)
    assert [prompt.step for prompt in house.prompts].count("digest") == 0
    await digest_of(house)
    await house.noticed(house.people.post("archive", person="Ada", channel="general"))
    await monday(house, 3)
    why, hears = await paused("Ada")
    assert (why, "that channel is archived" in hears) == ("archived", True)


async def test_deleting_the_message_that_asked_for_it_cancels_it_and_its_person_hears_so_once(house: House) -> None:
    await digest_of(house)
    before = await house.replies("general")
    await delete_what_asked(house)
    await house.reply("D0ADA", "Your digest, reminder 1 in #general, is cancelled")
    assert "You have no reminders with me." in await house.answered("Ada", "dm", "my reminders")
    await house.restart()
    await house.idle()
    assert len([one for one in await house.replies("D0ADA") if "digest" in one]) == 1
    assert await house.replies("general") == before
    assert await house.replies("D0BEN") == []
    await house.people.add_person("Dora", locale="de-DE", zone="Europe/Berlin")
    await house.noticed(house.people.join("Dora", "general"))
    await digest_of(house, "Dora")
    await delete_what_asked(house, "Dora")
    room = await house.people.open_dm("Dora")
    await house.reply(room, "Dein Überblick, Erinnerung 1 in #general, ist gestrichen")


async def delete_what_asked(house: House, person: str = "Ada") -> None:
    """Delete the message that asked for the digest; wait until the digest is cancelled."""
    row = (await house.rows(OWN))[-1]
    [asked] = json.loads(row["params"])["heard"]
    await house.people.delete(person, "general", asked)
    await house.row(f"SELECT 1 FROM ({OWN}) WHERE number = ? AND state = 'cancelled'", row["number"])


async def test_a_digest_without_a_channel_is_refused_and_of_two_daemons_one_posts_it(house: House) -> None:
    wish = json.dumps({"what": "", "every": "daily 09:00", "digest": True, "drop": []})
    house.model.replies += [wanting("reminder"), wish, tagged("Of which?")]
    await house.answered("Ada", "dm", "post a digest every day")
    assert "a digest is of a channel" in shown(house.prompts[-1])
    assert await house.rows(OWN) == []
    await digest_of(house)
    await house.start()
    await house.say("Ben", "general", "We ship on Thursday.")
    await house.acknowledged()
    house.model.steps["digest"].append("Shipping on Thursday.")
    await monday(house, 1)
    assert len([one for one in await house.replies("C0GENERAL", thread="") if "Shipping" in one]) == 1
    await delete_what_asked(house)
    await house.settled("D0ADA", "is cancelled")
    assert len(await house.replies("D0ADA")) == 2
