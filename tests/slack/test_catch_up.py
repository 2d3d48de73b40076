"""What was said while nobody listened is found, once, within its bounds; what can't be found is told (P5)."""

import asyncio

import pytest

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.preflight import fetch_identity
from daemon.channels.slack.incoming.catch_up import CatchUp
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.core.clock import SystemClock
from daemon.core.config import Settings
from daemon.core.errors import StoreBusy
from daemon.core.perception import AudienceKind, ConversationKey
from daemon.core.ports import Clock, Edit, Source
from tests.fakes import FakeClock
from tests.slack.conftest import Open
from tests.slack.parts import Events, FakeIntake, Hands, QuickClock, listening, post


@pytest.fixture
async def reader(client: SlackClient, settings: Settings, events: Events) -> EventReader:
    return EventReader("minoan", await fetch_identity(client, settings, SystemClock(), events))


class Catching:
    """Builds catch-ups over the same workspace and intake."""

    def __init__(
        self, client: SlackClient, reader: EventReader, intake: FakeIntake, settings: Settings, events: Events
    ) -> None:
        self._parts = (client, reader, intake)
        self._settings = settings
        self._events = events

    def up(self, clock: Clock | None = None, **changes: object) -> CatchUp:
        """One with changed settings."""
        return CatchUp(*self._parts, self._settings.model_copy(update=changes), clock or SystemClock(), self._events)


@pytest.fixture
async def catching(
    client: SlackClient, reader: EventReader, intake: FakeIntake, settings: Settings, events: Events
) -> Catching:
    return Catching(client, reader, intake, settings, events)


async def test_what_was_said_during_an_outage_is_found_once(
    open_channel: Open, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    channel = open_channel(QuickClock())
    async with listening(channel, intake):
        await events.until("slack.caught_up")
        root = await hands.say("Ada", "general", "@soul before")
        await intake.until(1)
    intake.threads = (intake.said()[0].perception.conversation,)
    await hands.say("Ada", "dm", "a DM")
    await hands.say("Ben", "general", "@soul a mention")
    await hands.say("Ben", "general", "talk among us")
    await hands.say("Ada", "general", "a reply", thread=root)
    await hands.say("Ada", "founders", "@soul in private")
    async with listening(channel, intake):
        await events.until("slack.caught_up", 2)
        await hands.say("Ada", "dm", "live again")
        await intake.until(6)
    late = [said.perception.content for said in intake.said() if said.source is Source.BACKFILL]
    assert sorted(late) == ["a DM", "a mention", "a reply", "in private"]
    kinds = {said.perception.content: said.perception.audience.kind for said in intake.said()}
    assert (kinds["a DM"], kinds["a mention"]) == (AudienceKind.DM, AudienceKind.WORKSPACE)
    assert kinds["in private"] is AudienceKind.CHANNEL
    assert events.named("slack.caught_up")[1]["found"] == 4


async def test_threads_that_began_meanwhile_are_read_as_well(
    catching: Catching, intake: FakeIntake, hands: Hands
) -> None:
    root = await hands.say("Ben", "general", "among us")
    await hands.say("Ada", "general", "@soul help us here", thread=root)
    await hands.say("Ben", "general", "a reply that the store judges", thread=root)
    await catching.up().run()
    assert [said.perception.content for said in intake.said()] == ["help us here", "a reply that the store judges"]
    assert [said.addressed for said in intake.said()] == [True, False]


async def test_of_too_many_threads_the_ones_that_rested_longest_are_left_unread(
    catching: Catching, intake: FakeIntake, hands: Hands
) -> None:
    for number in range(8):  # one more than the bound, which is wide enough for all rooms
        root = await hands.say("Ada", "general", f"root {number}")
        await hands.say("Ada", "general", f"@soul reply {number}", thread=root)
    await catching.up(backfill_conversations=7).run()
    replies = [said.perception.content for said in intake.said() if said.perception.content.startswith("reply")]
    assert sorted(replies) == [f"reply {number}" for number in range(1, 8)]


async def test_an_edit_made_meanwhile_is_handed_over_too(catching: Catching, intake: FakeIntake, hands: Hands) -> None:
    ts = await hands.say("Ada", "dm", "helo")
    await catching.up().run()
    await hands.do("edit", person="Ada", channel="dm", ts=ts, text="hello")
    await catching.up().run()
    assert [type(arrival) for arrival in intake.arrivals[1:]] == [Edit]
    assert isinstance(intake.arrivals[1], Edit)
    assert intake.arrivals[1].text == "hello"


async def test_a_store_without_memory_does_not_answer_again_what_was_answered(
    catching: Catching, intake: FakeIntake, hands: Hands, open_channel: Open
) -> None:
    answered = await hands.say("Ada", "dm", "answered in an earlier life")
    await open_channel().deliver(post("D0ADA", "Yes.", reply_to=answered))
    await hands.say("Ada", "dm", "not answered")
    await catching.up().run()
    assert [said.perception.content for said in intake.said()] == ["not answered"]


async def test_a_root_that_was_never_heard_is_read_although_somebody_was_answered_under_it(
    catching: Catching, intake: FakeIntake, hands: Hands, open_channel: Open
) -> None:
    root = await hands.say("Ada", "dm", "never delivered")
    await open_channel().deliver(post("D0ADA", "To another.", reply_to=root))
    intake.threads = (ConversationKey("minoan", "T0LOCAL", "D0ADA", root),)
    await catching.up().run()
    assert [said.perception.content for said in intake.said()] == ["never delivered"]


async def test_only_the_configured_hours_and_conversations_are_read(
    catching: Catching, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    await hands.say("Ada", "dm", "too old")
    a_second_later = FakeClock(start_ms=SystemClock().now_ms() + 1000)
    await catching.up(a_second_later, backfill_hours=0.0).run()
    assert intake.said() == []
    await catching.up(backfill_conversations=2).run()
    assert {fields["reason"] for fields in events.named("slack.beyond_reach")} == {"too many conversations"}
    assert intake.mark is not None


async def test_a_busy_store_is_tried_again(
    catching: Catching, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    await hands.say("Ada", "dm", "kept")
    intake.broken = 1
    await catching.up(FakeClock(auto=True, start_ms=SystemClock().now_ms())).run()
    assert [said.perception.content for said in intake.said()] == ["kept"]
    assert len(events.named("slack.catch_up_failed")) == 1


async def test_slack_away_for_a_moment_delays_and_slack_away_for_long_repeats_the_whole(
    catching: Catching, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    await hands.say("Ada", "dm", "kept")
    await hands.fail("users.conversations", status=503)
    await hands.fail("conversations.history", status=503, times=3)
    await catching.up(FakeClock(auto=True, start_ms=SystemClock().now_ms())).run()
    assert [said.perception.content for said in intake.said()] == ["kept"]
    assert [fields["complete"] for fields in events.named("slack.caught_up")] == [False, True]


async def test_a_room_that_can_not_be_read_is_told_and_does_not_stop_the_rest(
    catching: Catching, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    await hands.say("Ada", "dm", "one")
    await hands.say("Ben", "dm", "two")
    await hands.fail("conversations.history", body={"ok": False, "error": "missing_scope"})
    await catching.up().run()
    assert len(intake.said()) == 1
    assert events.named("slack.beyond_reach")[0]["reason"] == "missing_scope"
    assert intake.mark


async def test_without_the_right_to_list_rooms_everything_is_beyond_reach(
    catching: Catching, hands: Hands, events: Events
) -> None:
    await hands.fail("users.conversations", body={"ok": False, "error": "missing_scope"})
    await catching.up().run()
    assert events.named("slack.beyond_reach") == [{"where": "everything", "reason": "missing_scope"}]


async def test_a_room_with_more_than_a_thousand_messages_is_told(
    catching: Catching, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    more = {"ok": True, "messages": [{"ts": "x"}, 7], "response_metadata": {"next_cursor": "more"}}
    await hands.fail("conversations.history", times=5, body=more)
    await catching.up().run()
    assert events.named("slack.beyond_reach")[0]["reason"] == "too many messages"


async def test_at_most_forty_calls_are_made_in_a_minute(catching: Catching, hands: Hands, events: Events) -> None:
    for number in range(50):
        await hands.do("channel", name=f"room-{number}", members=["U0ADA", hands.server.bot_user.id])
    clock = FakeClock(start_ms=SystemClock().now_ms())
    async with asyncio.TaskGroup() as group:
        group.create_task(catching.up(clock).run())
        await clock.sleepers()
        calls = len(await hands.calls("conversations.history")) + len(await hands.calls("users.conversations"))
        assert calls == 40
        await clock.advance(60)
    assert events.named("slack.caught_up")[0]["complete"] is True
    assert len(await hands.calls("conversations.history")) == 50


async def test_the_mark_moves_once_a_minute_and_stays_behind_what_may_still_come(
    catching: Catching, intake: FakeIntake, events: Events
) -> None:
    clock = FakeClock()
    up = catching.up(clock)
    await up.confirm()
    first = intake.mark
    assert first == f"{clock.now_ms() / 1000 - 600:.6f}"
    await clock.advance(30)
    await up.confirm()
    assert intake.mark == first
    await clock.advance(30)
    await up.confirm()
    assert intake.mark != first

    async def busy(soul: str, workspace: str, ts: str) -> None:
        raise StoreBusy("somebody else holds the database")

    intake.advance_watermark = busy  # type: ignore[method-assign]  # a store that fails
    await clock.advance(60)
    await up.confirm()
    assert len(events.named("slack.confirm_failed")) == 1


async def test_open_threads_of_channels_we_left_are_not_read(
    catching: Catching, intake: FakeIntake, hands: Hands, events: Events
) -> None:
    intake.threads = (ConversationKey("minoan", "T0LOCAL", "C0RANDOM", "1750000000.000100"),)
    await catching.up().run()
    assert await hands.calls("conversations.replies") == []
    assert events.named("slack.caught_up")[0]["complete"] is True
