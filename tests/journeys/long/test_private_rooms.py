"""In a DM the soul recalls the private channels that its user is in now, and nothing of any other room."""

import pytest
from msgspec.structs import replace

from daemon.local_slack.model import ChannelKind
from tests.given import CLOSING, OPENING
from tests.journeys.house import House, said

CANARY = "heliotrope"
SAID = f"@soul the kiln cracks because of the {CANARY} glaze"
ASKED = "why does the kiln crack?"
GUILD = "C0GUILD"


@pytest.fixture
async def guild(empty_house: House) -> House:
    """Ada and Ben are in a private channel, in which Ben said the word; Chloe isn't."""
    await empty_house.start(allow_guests=True)
    await empty_house.people.add_channel("guild", kind="group", members=["Ada", "Ben"])
    await empty_house.answered("Ben", "guild", SAID)
    return empty_house


async def recalled(house: House, person: str, room: str = "dm", *, words: str = ASKED) -> bool:
    """Whether the word comes into the prompt of a reply; before it is asked for once more, three others are sent."""
    for number in range(3 if words != ASKED else 0):  # nothing comes again within three replies
        await house.answered(person, room, f"{number} pots of clay" if room == "dm" else f"@soul {number} pots of clay")
    before = len(house.prompts)
    await house.answered(person, room, words if room == "dm" else f"@soul {words}")
    assert len(house.prompts) == before + 1, "an ordinary message costs one call"
    return CANARY in house.last_prompt()


async def lists(house: House) -> int:
    """How often Slack was asked for the private channels of a user."""
    return len([one for one in await house.people.calls("users.conversations") if one["args"].get("user")])


async def test_a_member_is_reminded_in_their_dm_of_what_was_said_in_a_private_channel(guild: House) -> None:
    guild.model.replies.append(f"{OPENING}It is the glaze [m1].{CLOSING}")
    assert await recalled(guild, "Ada")
    [source] = [line for line in (await guild.replies("D0ADA"))[-1].splitlines() if line.startswith("[m1]")]
    assert "private channel" in source
    assert "Ben" in source
    assert GUILD not in source
    assert not await recalled(guild, "Chloe")
    assert [row["audience"] for row in await guild.rows("SELECT DISTINCT audience FROM turns ORDER BY audience")] == [
        f"channel:{GUILD}",
        "dm:D0ADA",
        "dm:D0CHLOE",
    ]
    await guild.noticed(guild.people.join("Chloe", "guild"))
    assert await recalled(guild, "Chloe")
    await guild.noticed(guild.people.leave("Chloe", "guild"))
    assert not await recalled(guild, "Chloe", words="and why did the kiln crack again?")


async def test_a_reply_under_way_is_begun_anew_when_a_channel_is_made_private(empty_house: House) -> None:
    await empty_house.start()
    await empty_house.people.add_channel("plans", members=["Ada", "Ben"])
    await empty_house.answered("Ben", "plans", SAID)
    flow = empty_house.flow()
    await empty_house.say("Chloe", "dm", ASKED)
    await flow.asked.wait()
    assert CANARY in empty_house.last_prompt()
    await empty_house.noticed(empty_house.people.convert("Ben", "plans", "group"))
    flow.end(f"{OPENING}It is the {CANARY}.", CLOSING)
    post = await empty_house.settled("D0CHLOE")
    assert CANARY not in empty_house.last_prompt()
    assert CANARY not in said(post)
    assert await recalled(empty_house, "Ada"), "it is for its members"
    await empty_house.people.add_channel("works", members=["Ada", "Ben"])
    await empty_house.answered("Ben", "works", SAID)
    rooms = empty_house.workspace.workspace.state.channels
    rooms["C0WORKS"] = replace(rooms["C0WORKS"], kind=ChannelKind.PRIVATE)
    await empty_house.answered("Ada", "works", "@soul hello")
    told = await recalled(empty_house, "Chloe", words="and why did the kiln crack again?")
    assert not told, "where no event told of it, the next reply there finds it"


async def test_who_left_the_workspace_is_not_answered_and_their_lists_are_dropped(guild: House) -> None:
    assert await recalled(guild, "Ada")
    await guild.noticed(guild.people.change_standing("Ada", "deactivated"))
    assert [row["read_ms"] for row in await guild.rows("SELECT read_ms FROM room_lists WHERE person = 'U0ADA'")] == [0]
    await guild.people.change_standing("Ada", "member")
    await guild.noticed(guild.people.leave("Ada", "guild"))
    assert not await recalled(guild, "Ada", words="and why did the kiln crack again?")


async def test_a_channel_that_is_gone_or_made_public_is_recalled_no_more(guild: House) -> None:
    assert await recalled(guild, "Ada")
    await guild.people.post("archive", person="Ben", channel="guild")
    await _is_gone(guild, "Ada")
    await guild.noticed(guild.people.post("archive", person="Ben", channel="guild", end=True))
    assert await recalled(guild, "Ada", words="once more: why did the kiln crack?")
    await guild.people.convert("Ben", "guild", "channel")
    await _is_gone(guild, "Ada", "Chloe")


async def _is_gone(guild: House, *people: str) -> None:
    await guild.acknowledged()
    assert not await guild.rows("SELECT * FROM room_members WHERE room = ?", GUILD)
    for person in people:
        assert not await recalled(guild, person, words="and why did the kiln crack again?"), "it was said in private"


async def test_a_channel_with_another_name_or_organisation_is_still_known_to_its_members(guild: House) -> None:
    await guild.noticed(guild.people.post("rename", channel="guild", name="potters"))
    assert await recalled(guild, "Ada")
    await guild.noticed(guild.people.share("potters"))
    assert await recalled(guild, "Ada", words="once more: why did the kiln crack?")
    assert not await recalled(guild, "Chloe")


async def test_a_channel_made_private_while_no_daemon_ran_is_for_its_members_alone(empty_house: House) -> None:
    await empty_house.start()
    await empty_house.people.add_channel("plans", members=["Ada", "Ben"])
    await empty_house.answered("Ben", "plans", SAID)
    await empty_house.stop()
    await empty_house.people.convert("Ben", "plans", "group")
    await empty_house.start()
    assert not await recalled(empty_house, "Chloe")
    assert await recalled(empty_house, "Ada")


async def test_a_reply_under_way_is_begun_anew_when_its_reader_leaves_the_room(guild: House) -> None:
    flow = guild.flow()
    await guild.say("Ada", "dm", ASKED)
    await flow.asked.wait()
    assert CANARY in guild.last_prompt()
    await guild.noticed(guild.people.leave("Ada", "guild"))
    flow.end(f"{OPENING}It is the {CANARY}.", CLOSING)
    post = await guild.settled("D0ADA")
    assert CANARY not in guild.last_prompt()
    assert CANARY not in said(post)


async def test_no_list_from_before_a_restart_is_used(guild: House) -> None:
    assert await recalled(guild, "Ada")
    await guild.stop()
    await guild.people.leave("Ada", "guild")
    guild.clock.turn(1)
    await guild.start()
    assert not await recalled(guild, "Ada", words="and why did the kiln crack again?")


async def test_a_list_is_asked_for_once_in_five_minutes_and_slack_rests_where_it_gives_none(guild: House) -> None:
    guild.clock.stand_still()
    await guild.people.fault("users.conversations", times=9, body={"ok": False, "error": "missing_scope"})
    assert not await recalled(guild, "Ada")
    await guild.events.until("slack.rooms_unknown", person="U0ADA")
    assert not await recalled(guild, "Ada", words="and why did the kiln crack again?")
    assert await lists(guild) == 1
    await guild.people.clear_faults()
    guild.clock.turn(31)
    assert await recalled(guild, "Ada", words="once more: why did the kiln crack?")
    assert await recalled(guild, "Ada", words="and why did the kiln crack again?")
    assert await lists(guild) == 2
    guild.clock.turn(301)
    assert await recalled(guild, "Ada", words="once more: why did the kiln crack?")
    assert await lists(guild) == 3
