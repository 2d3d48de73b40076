"""Invited to a channel, the soul introduces itself: in two sentences, of what it can do, once for ever, and unasked."""

from pathlib import Path

from daemon.local_slack.model import Json
from daemon.memory.queues.room_ways import MOST_IN_AN_HOUR
from tests.journeys.house import House, said
from tests.journeys.souls import write_soul

APP = "U0SOUL"
SAID = (
    "Hello, I am Kothar; here I can think with you in your own language, remember what we talk about, open your files "
    "and remind you of things. Mention me to ask me something, and go on in its thread without that; I answer nothing "
    "else here, and `/minoan help` lists all that I can do."
)


async def invited(house: House, room: str, inviter: str = "Ada") -> None:
    """The soul is invited to a channel that it is not in, and has thought about it."""
    await house.people.join(APP, room, inviter=inviter)
    await house.acknowledged()
    await house.idle()


async def market(house: House, name: str = "market") -> str:
    """A channel of Ada's and Ben's without the soul."""
    room = await house.people.add_channel(name, members=["U0ADA", "U0BEN"], app=False)
    return str(room["id"])


async def posts(house: House, room: str) -> list[Json]:
    """What the soul posted in a channel, without Slack's lines about who came and went."""
    return [one for one in await house.people.posts_by_bot(room) if not one.get("subtype", "").startswith("channel_")]


async def words(house: House, room: str) -> list[str]:
    return [said(one) for one in await posts(house, room)]


def joining(house: House, channel: str) -> Json:
    """The event of an invitation, as Slack sends it."""
    event: Json = {"type": "member_joined_channel", "user": APP, "channel": channel, "channel_type": "C"}
    return event | {"team": "T0LOCAL", "inviter": "U0ADA", "event_ts": house.ts()}


async def test_invited_it_says_in_two_sentences_who_it_is_and_how_to_call_it(house: House) -> None:
    room = await market(house)
    await invited(house, room)
    [post] = await posts(house, room)
    assert await words(house, room) == [SAID]
    assert "thread_ts" not in post
    assert house.prompts == [], "no model is asked"
    await house.people.leave(APP, room)
    await invited(house, room, "Ben")
    await house.restart()
    await house.people.leave(APP, room)
    await invited(house, room)
    assert await words(house, room) == [SAID]


async def test_it_speaks_of_what_is_set_up_in_the_language_of_who_invited_it(
    empty_house: House, tmp_path: Path
) -> None:
    house, handbook = empty_house, tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "leave.md").write_text("Leave is thirty days.")
    await house.start(library=(handbook,), ism_enabled=True)
    await house.people.add_person("Dora", locale="de-DE")
    room = await market(house)
    await house.people.join("Dora", room)
    await invited(house, room, "Dora")
    [text] = await words(house, room)
    assert text.startswith("Guten Tag, ich bin Kothar; hier kann ich mit euch in eurer Sprache nachdenken,")
    assert "nachschlagen in `handbook`" in text


async def test_each_soul_speaks_for_itself_and_one_may_keep_silent(empty_house: House) -> None:
    room, quiet = await market(empty_house), await market(empty_house, "quiet")
    write_soul(empty_house.settings.home)
    write_soul(empty_house.settings.home, "rolf", f'channels = ["{room}"]', shown="Rolf")
    silent = f'channels = ["{quiet}"]\n[presence]\nintroduces_itself = false\n'
    write_soul(empty_house.settings.home, "mute", silent, shown="Mute")
    await empty_house.start(name="tess", souls=("rolf", "mute"))
    await invited(empty_house, room)
    await invited(empty_house, quiet)
    [post] = await posts(empty_house, room)
    assert post["username"] == "Rolf"
    assert (await words(empty_house, room))[0].startswith("Hello, I am Rolf; here I can")
    assert await words(empty_house, quiet) == []
    write_soul(empty_house.settings.home, "mute", silent.replace("false", "true"), shown="Mute")
    await empty_house.people.leave(APP, quiet)
    await invited(empty_house, quiet)
    assert len(await words(empty_house, quiet)) == 1


async def test_a_guests_invitation_is_passed_over_and_a_members_counts(house: House) -> None:
    room = await market(house)
    await house.people.add_person("Gus", standing="guest")
    await house.people.join("Gus", room)
    await invited(house, room, "Gus")
    assert await words(house, room) == []
    await house.people.leave(APP, room)
    await invited(house, room)
    [text] = await words(house, room)
    assert "in Claude Code" not in text
    room = await market(house, "read-only")
    await house.people.fault(room=room, posting="restricted_action_read_only_channel")
    await invited(house, room)
    [row] = await house.rows("SELECT state, note FROM outbox WHERE state <> 'sent'")
    assert (row["state"], row["note"]) == ("dropped", 0)
    assert await words(house, room) == []


async def test_an_import_of_many_channels_leads_to_few_words(house: House) -> None:
    rooms = [await market(house, f"room-{number}") for number in range(MOST_IN_AN_HOUR + 5)]
    for room in rooms:
        await house.people.join(APP, room, inviter="Ada")
    await house.acknowledged()
    await house.idle()
    assert sum([len(await words(house, room)) for room in rooms]) == MOST_IN_AN_HOUR
    without_inviter = await market(house, "imported")
    house.clock.turn(3_601)
    await house.people.join(APP, without_inviter)
    await house.acknowledged()
    await house.idle()
    assert await words(house, without_inviter) == []
    later = await market(house, "later")
    await invited(house, later)
    assert len(await words(house, later)) == 1


async def test_invited_while_no_daemon_ran_or_heard_of_it_often_it_introduces_itself_once(house: House) -> None:
    await house.stop()
    room = await market(house)
    await house.people.join(APP, room, inviter="Ada")
    house.clock.turn(600)
    await house.start()
    await house.idle()
    assert await words(house, room) == [SAID]
    await house.restart()
    await house.idle()
    assert await words(house, room) == [SAID]
    await house.start()
    room = await market(house, "bazaar")
    await house.people.fault(socket="duplicate", times=4)
    await invited(house, room)
    event_id = await house.people.emit(joining(house, room), room)
    await house.people.wait_for_ack(event_id)
    await house.people.repeat(event_id)
    await house.acknowledged()
    await house.idle()
    assert await words(house, room) == [SAID]
    await house.restart()
    await house.idle()
    assert await words(house, room) == [SAID]


NO_INVITATIONS: tuple[Json, ...] = (
    {"user": "U0BEN"},
    {"inviter": APP},
    {"inviter": "U0/../x"},
    {"inviter": 7},
    {"inviter": "U0NOBODY"},
    {"channel": "D0ADA"},
    {"channel": ["C0GENERAL"]},
    {"event_ts": "now"},
    {"event_ts": "12.5"},
    {"type": "message", "subtype": "channel_join", "ts": "x"},
)


async def test_what_is_no_invitation_by_one_of_us_moves_nothing(house: House) -> None:
    await house.people.open_dm("Ada")
    for changes in NO_INVITATIONS:
        payload = joining(house, "C0GENERAL") | changes
        await house.people.wait_for_ack(await house.people.emit(payload))
        await house.idle()
        assert await house.rows("SELECT * FROM outbox") == [], changes
    assert house.prompts == []
