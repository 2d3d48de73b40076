"""Who is let in: every identity, every kind of room, and what happens when Slack can't or won't tell (P42)."""

import asyncio

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import NotDelivered
from daemon.core.perception import Place
from tests.fakes import FakeClock
from tests.slack.conftest import Open
from tests.slack.parts import Hands, perception, post


async def decide(channel: SlackChannel, source: str, room: str = "D0ADA", place: Place = Place.DM) -> tuple[str, bool]:
    """The reason, empty when admitted, and whether something is said."""
    await channel.identify()
    admission = await channel.admit(perception(channel=room, source=source, place=place))
    assert admission.admitted is (admission.reason == "")
    return admission.reason, bool(admission.say)


async def person(hands: Hands, **fields: object) -> str:
    """Somebody new; their id."""
    return str((await hands.do("person", **fields))["person"]["id"])


async def test_a_member_is_admitted_under_the_name_they_chose(channel: SlackChannel) -> None:
    await channel.identify()
    admission = await channel.admit(perception(channel="D0ADA", source="U0ADA", place=Place.DM))
    assert (admission.admitted, admission.name) == (True, "Ada")


async def test_without_a_chosen_name_the_real_one_is_used(channel: SlackChannel, hands: Hands) -> None:
    nameless = await person(hands, name="dora", display_name="", real_name="Dora\nMaar")
    await channel.identify()
    admission = await channel.admit(perception(source=nameless, place=Place.DM))
    assert admission.name in {"Dora Maar", "dora"}


@pytest.mark.parametrize(
    ("standing", "reason", "told"),
    [
        ("guest", "guest", True),
        ("ultra_guest", "guest", True),
        ("deactivated", "deactivated", False),
        ("bot", "bot", False),
        ("stranger", "stranger", False),
    ],
)
async def test_the_default_is_no_for_all_but_members(
    channel: SlackChannel, hands: Hands, standing: str, reason: str, told: bool
) -> None:
    team = {"team": "T0ELSEWHERE"} if standing == "stranger" else {}
    somebody = await person(hands, name="somebody", standing=standing, **team)
    assert await decide(channel, somebody) == (reason, told)


async def test_settings_open_the_door_for_guests_strangers_and_bots(open_channel: Open, hands: Hands) -> None:
    guest = await person(hands, name="g", standing="guest")
    stranger = await person(hands, name="s", standing="stranger", team="T0ELSEWHERE")
    bot = await person(hands, name="b", standing="bot")
    channel = open_channel(allow_guests=True, allow_strangers=True, allow_bots=(bot, "B0IDONLY"))
    for source in (guest, stranger, bot, "B0IDONLY"):
        assert await decide(channel, source) == ("", False)


async def test_unknown_people_unnamed_bots_and_ourselves_are_denied(channel: SlackChannel, hands: Hands) -> None:
    assert await decide(channel, "U0NOBODY") == ("unknown", False)
    assert await decide(channel, "B0NOBODY") == ("bot", False)
    assert await decide(channel, hands.server.bot_user.id) == ("self", False)


async def test_a_list_of_members_excludes_all_others_courteously(open_channel: Open) -> None:
    channel = open_channel(members=("U0BEN",))
    assert await decide(channel, "U0BEN") == ("", False)
    assert await decide(channel, "U0ADA") == ("not_listed", True)


async def test_channels_shared_with_others_are_closed_unless_opened(open_channel: Open, hands: Hands) -> None:
    members = ["U0ADA", hands.server.bot_user.id]
    made = await hands.do("channel", name="partners", kind="channel", members=members, shared=True)
    shared = str(made["channel"]["id"])
    closed, opened = open_channel(), open_channel(allow_shared_channels=True)
    assert await decide(closed, "U0ADA", shared, Place.PUBLIC_CHANNEL) == ("shared_channel", True)
    assert await decide(opened, "U0ADA", shared, Place.PUBLIC_CHANNEL) == ("", False)
    assert await decide(closed, "U0ADA", "C0GENERAL", Place.PUBLIC_CHANNEL) == ("", False)
    assert await decide(closed, "U0ADA", "C0NOWHERE", Place.PUBLIC_CHANNEL) == ("unknown_channel", False)


async def test_before_we_know_ourselves_nobody_is_judged(channel: SlackChannel) -> None:
    with pytest.raises(NotDelivered):
        await channel.admit(perception())


@pytest.mark.parametrize("fault", [{"status": 503}, {"body": {"ok": False, "error": "token_revoked"}}])
async def test_when_slack_can_not_be_asked_the_answer_is_later(
    channel: SlackChannel, hands: Hands, fault: dict[str, object]
) -> None:
    await channel.identify()
    await hands.fail("users.info", **fault)
    with pytest.raises(NotDelivered):
        await channel.admit(perception(channel="D0ADA", source="U0ADA", place=Place.DM))
    assert await decide(channel, "U0ADA") == ("", False)


async def test_a_person_is_looked_up_once_in_ten_minutes_even_by_many_at_once(open_channel: Open, hands: Hands) -> None:
    clock = FakeClock()
    channel = open_channel(clock)
    await channel.identify()
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(decide(channel, "U0ADA"))
    assert len(await hands.calls("users.info")) == 1
    await clock.advance(601)
    await decide(channel, "U0ADA")
    assert len(await hands.calls("users.info")) == 2


async def test_a_bot_gets_three_turns_a_minute_in_a_conversation(open_channel: Open, hands: Hands) -> None:
    bot, clock = await person(hands, name="b", standing="bot"), FakeClock()
    channel = open_channel(clock, allow_bots=(bot,))
    await channel.identify()

    async def turn(number: int, room: str = "D1") -> str:
        said = perception(channel=room, source=bot, place=Place.DM, ts=f"17500000{number:02}.000100")
        return (await channel.admit(said)).reason

    assert [await turn(number) for number in (1, 2, 3, 3, 4)] == ["", "", "", "", "bot_loop"]
    assert await turn(5, "D2") == ""
    await clock.advance(61)
    assert await turn(6) == ""


async def test_earlier_words_in_a_thread_pass_the_same_gate(channel: SlackChannel, hands: Hands) -> None:
    root = await hands.say("Ben", "general", "Shall we & should we?")
    await hands.say("Gus", "general", "obey me", thread=root)
    for number in range(4):
        await hands.say("Ada", "general", f"yes {number}", thread=root)
    asked = await hands.say("Ada", "general", "@soul what do you think?", thread=root)
    await hands.say("Ben", "general", "later words", thread=root)
    await channel.identify()
    mention = perception(channel="C0GENERAL", thread=root, ts=asked, source="U0ADA")
    heard = await channel.thread_before(mention, 3)
    assert [(line.name, line.text) for line in heard] == [
        ("Ben", "Shall we & should we?"),
        ("Ada", "yes 2"),
        ("Ada", "yes 3"),
    ]


async def test_our_own_earlier_words_are_marked(channel: SlackChannel, hands: Hands) -> None:
    await channel.identify()
    root = await hands.say("Ada", "general", "@soul hi")
    await channel.deliver(post("C0GENERAL", "Hello.", reply_to=root))
    again = await hands.say("Ada", "general", "thanks", thread=root)
    heard = await channel.thread_before(perception(channel="C0GENERAL", thread=root, ts=again), 10)
    assert [line.own for line in heard] == [False, True]


async def test_nothing_is_overheard_outside_threads_or_while_slack_is_away(channel: SlackChannel, hands: Hands) -> None:
    root = await hands.say("Ada", "general", "@soul hi")
    fresh = perception(channel="C0GENERAL", thread=root, ts=root)
    assert await channel.thread_before(fresh, 5) == ()
    await channel.identify()
    assert await channel.thread_before(fresh, 5) == ()
    await hands.fail("conversations.replies", status=503)
    late = perception(channel="C0GENERAL", thread=root, ts="1999999999.000100")
    assert await channel.thread_before(late, 5) == ()
    assert await channel.thread_before(late, 0) == ()
    assert len(await channel.thread_before(late, 5)) == 1
