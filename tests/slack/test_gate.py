"""The gate's decisions on every kind of user and channel, and its errors when Slack gives no answer (P42)."""

import asyncio

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import NotDelivered
from daemon.core.perception import Place
from tests.fakes import FakeClock
from tests.given import perception, post
from tests.slack.conftest import Open, Wire
from tests.slack.parts import Control, caught_up


async def decide(channel: SlackChannel, source: str, room: str = "D0ADA", place: Place = Place.DM) -> tuple[str, bool]:
    """The reason, empty if admitted, and whether the user gets a message."""
    await channel.identify()
    admission = await channel.admit(perception(channel=room, source=source, place=place))
    assert admission.admitted is (admission.reason == "")
    return admission.reason, bool(admission.say)


async def person(control: Control, **fields: object) -> str:
    """Create a user; returns the id."""
    return str((await control.do("person", **fields))["person"]["id"])


async def test_a_member_is_admitted_under_the_display_or_real_name(channel: SlackChannel, control: Control) -> None:
    nameless = await person(control, name="dora", display_name="", real_name="Dora\nMaar")
    await channel.identify()
    admission = await channel.admit(perception(channel="D0ADA", source="U0ADA", place=Place.DM))
    assert (admission.admitted, admission.name) == (True, "Ada")
    admission = await channel.admit(perception(source=nameless, place=Place.DM))
    assert admission.name in {"Dora Maar", "dora"}


async def test_by_default_only_members_are_admitted(channel: SlackChannel, control: Control) -> None:
    for standing, reason, answered in (
        ("guest", "guest", True),
        ("ultra_guest", "guest", True),
        ("deactivated", "deactivated", False),
        ("bot", "bot", False),
        ("stranger", "stranger", False),
    ):
        team = {"team": "T0ELSEWHERE"} if standing == "stranger" else {}
        user = await person(control, name=f"user {standing}", standing=standing, **team)
        assert await decide(channel, user) == (reason, answered), standing
    assert await decide(channel, "U0UNKNOWN") == ("unknown", False)
    assert await decide(channel, "B0UNKNOWN") == ("bot", False)
    assert await decide(channel, control.server.bot_user.id) == ("self", False)


async def test_settings_admit_guests_strangers_bots_or_listed_users(open_channel: Open, control: Control) -> None:
    guest = await person(control, name="g", standing="guest")
    stranger = await person(control, name="s", standing="stranger", team="T0ELSEWHERE")
    bot = await person(control, name="b", standing="bot")
    channel = open_channel(allow_guests=True, allow_strangers=True, allow_bots=(bot, "B0IDONLY"))
    for source in (guest, stranger, bot, "B0IDONLY"):
        assert await decide(channel, source) == ("", False), source
    listing = open_channel(members=("U0BEN",))
    assert await decide(listing, "U0BEN") == ("", False)
    assert await decide(listing, "U0ADA") == ("not_listed", True)


async def test_shared_channels_are_refused_unless_the_settings_allow_them(open_channel: Open, control: Control) -> None:
    members = ["U0ADA", control.server.bot_user.id]
    made = await control.do("channel", name="partners", kind="channel", members=members, shared=True)
    shared = str(made["channel"]["id"])
    closed, opened = open_channel(), open_channel(allow_shared_channels=True)
    assert await decide(closed, "U0ADA", shared, Place.PUBLIC_CHANNEL) == ("shared_channel", True)
    assert await decide(opened, "U0ADA", shared, Place.PUBLIC_CHANNEL) == ("", False)
    assert await decide(closed, "U0ADA", "C0GENERAL", Place.PUBLIC_CHANNEL) == ("", False)
    assert await decide(closed, "U0ADA", "C0NOWHERE", Place.PUBLIC_CHANNEL) == ("unknown_channel", False)


async def test_while_slack_can_not_be_asked_the_decision_is_postponed(channel: SlackChannel, control: Control) -> None:
    with pytest.raises(NotDelivered):
        await channel.admit(perception())  # our ids are unknown
    await channel.identify()
    for fault in ({"status": 503}, {"body": {"ok": False, "error": "token_revoked"}}):
        await control.fail("users.info", **fault)
        with pytest.raises(NotDelivered):
            await channel.admit(perception(channel="D0ADA", source="U0ADA", place=Place.DM))
    assert await decide(channel, "U0ADA") == ("", False)


async def test_concurrent_checks_of_a_user_cost_one_call_in_ten_minutes(open_channel: Open, control: Control) -> None:
    clock = FakeClock()
    channel = open_channel(clock)
    await channel.identify()
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(decide(channel, "U0ADA"))
    assert len(await control.calls("users.info")) == 1
    await clock.advance(601)
    await decide(channel, "U0ADA")
    assert len(await control.calls("users.info")) == 2


async def test_a_bot_is_answered_three_times_a_minute_and_conversation(open_channel: Open, control: Control) -> None:
    bot, clock = await person(control, name="b", standing="bot"), FakeClock()
    channel = open_channel(clock, allow_bots=(bot,))
    await channel.identify()

    async def turn(number: int, room: str = "D1") -> str:
        message = perception(channel=room, source=bot, place=Place.DM, ts=f"17500000{number:02}.000100")
        return (await channel.admit(message)).reason

    assert [await turn(number) for number in (1, 2, 3, 3, 4)] == ["", "", "", "", "bot_loop"]
    assert await turn(5, "D2") == ""
    await clock.advance(61)
    assert await turn(6) == ""


async def test_the_gate_decides_on_earlier_messages_of_a_thread(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ben", "general", "Shall we & should we?")
    await control.do("join", person="Gus", channel="general")
    await control.say("Gus", "general", "obey me", thread=root)
    await control.say("Ada", "general", "yes", thread=root)
    await channel.identify()
    await channel.deliver(post("C0GENERAL", "Hello.", reply_to=root))
    for number in range(2):
        await control.say("Ada", "general", f"yes {number}", thread=root)
    asked = await control.say("Ada", "general", "@soul what do you think?", thread=root)
    await control.say("Ben", "general", "later words", thread=root)
    mention = perception(channel="C0GENERAL", thread=root, ts=asked, source="U0ADA")
    earlier = await channel.thread_before(mention, 4)
    assert [(one.name, one.text) for one in earlier if not one.own] == [
        ("Ben", "Shall we & should we?"),
        ("Ada", "yes 0"),
        ("Ada", "yes 1"),
    ]
    assert [one.own for one in earlier] == [False, True, False, False]


async def test_there_are_none_outside_threads_or_while_slack_is_down(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "general", "@soul hi")
    fresh = perception(channel="C0GENERAL", thread=root, ts=root)
    assert await channel.thread_before(fresh, 5) == ()
    await channel.identify()
    assert await channel.thread_before(fresh, 5) == ()
    await control.fail("conversations.replies", status=503)
    late = perception(channel="C0GENERAL", thread=root, ts="1999999999.000100")
    assert await channel.thread_before(late, 5) == ()
    assert await channel.thread_before(late, 0) == ()
    assert len(await channel.thread_before(late, 5)) == 1


async def test_a_thread_is_read_from_slack_once_until_a_message_in_it_changes_or_a_gap_comes(on: Wire) -> None:
    root = await on.control.say("Ben", "general", "Shall we?")
    ts = await on.control.say("Ada", "general", "yes", thread=root)
    asked = await on.control.say("Ada", "general", "@soul what do you think?", thread=root)
    mention = perception(channel="C0GENERAL", thread=root, ts=asked, source="U0ADA")

    async def overheard() -> tuple[list[str], int]:
        texts = [one.text for one in await on.channel.thread_before(mention, 3)]
        return texts, len(
            [one for one in await on.control.calls("conversations.replies") if "oldest" not in one["args"]]
        )

    async with caught_up(on.channel, on.intake, on.events):
        assert [await overheard() for _ in range(3)] == [(["Shall we?", "yes"], 1)] * 3
        await on.control.do("edit", person="Ada", channel="general", ts=ts, text="no")
        await on.events.until("slack.heard", kind="Edit")
        assert await overheard() == (["Shall we?", "no"], 2)
        await on.control.do("delete", person="Ada", channel="general", ts=ts)
        await on.events.until("slack.heard", kind="Deletion")
        assert await overheard() == (["Shall we?"], 3)
        await on.control.do("fault_socket", socket="close")
        await on.events.until("slack.catching_up", 2)
        assert await overheard() == (["Shall we?"], 4)
        assert await overheard() == (["Shall we?"], 4)
