"""Catch-up finds the messages of a gap once and within its limits, and logs what it can't read (P5)."""

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
from tests.fakes import Events, FakeClock, FakeIntake, TurnableClock
from tests.given import post
from tests.slack.conftest import Open
from tests.slack.parts import WorkspaceControl, listening


@pytest.fixture
async def reader(client: SlackClient, settings: Settings, events: Events) -> EventReader:
    return EventReader("minoan", await fetch_identity(client, settings, SystemClock(), events))


class Catching:
    """Builds catch-ups with the same workspace and intake."""

    def __init__(
        self, client: SlackClient, reader: EventReader, intake: FakeIntake, settings: Settings, events: Events
    ) -> None:
        self._parts = (client, reader, intake)
        self._settings = settings
        self._events = events

    def up(self, clock: Clock | None = None, **changes: object) -> CatchUp:
        """A catch-up with changed settings."""
        return CatchUp(*self._parts, self._settings.model_copy(update=changes), clock or SystemClock(), self._events)


@pytest.fixture
async def catching(
    client: SlackClient, reader: EventReader, intake: FakeIntake, settings: Settings, events: Events
) -> Catching:
    return Catching(client, reader, intake, settings, events)


async def test_messages_of_an_outage_are_found_once(
    open_channel: Open, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    channel = open_channel(TurnableClock())
    async with listening(channel, intake):
        await events.until("slack.caught_up")
        root = await control.say("Ada", "general", "@soul before")
        await intake.until(1)
    intake.threads = (intake.messages()[0].perception.conversation,)
    await control.say("Ada", "dm", "a DM")
    await control.say("Ben", "general", "@soul a mention")
    await control.say("Ben", "general", "talk among us")
    await control.say("Ada", "general", "a reply", thread=root)
    await control.say("Ada", "founders", "@soul in private")
    async with listening(channel, intake):
        await events.until("slack.caught_up", 2)
        await control.say("Ada", "dm", "live again")
        await intake.until(6)
    late = [message.perception.content for message in intake.messages() if message.source is Source.BACKFILL]
    assert sorted(late) == ["a DM", "a mention", "a reply", "in private"]
    kinds = {message.perception.content: message.perception.audience.kind for message in intake.messages()}
    assert (kinds["a DM"], kinds["a mention"]) == (AudienceKind.DM, AudienceKind.WORKSPACE)
    assert kinds["in private"] is AudienceKind.CHANNEL
    assert events.named("slack.caught_up")[1]["found"] == 4


async def test_threads_that_began_during_the_gap_are_read_too(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl
) -> None:
    root = await control.say("Ben", "general", "among us")
    await control.say("Ada", "general", "@soul help us here", thread=root)
    await control.say("Ben", "general", "a reply that the store judges", thread=root)
    await catching.up().run()
    assert [message.perception.content for message in intake.messages()] == [
        "help us here",
        "a reply that the store judges",
    ]
    assert [message.addressed for message in intake.messages()] == [True, False]


async def test_if_there_are_too_many_threads_the_quietest_are_not_read(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl
) -> None:
    for number in range(8):  # one more than the bound, which is large enough for all channels
        root = await control.say("Ada", "general", f"root {number}")
        await control.say("Ada", "general", f"@soul reply {number}", thread=root)
    await catching.up(backfill_conversations=7).run()
    replies = [
        message.perception.content for message in intake.messages() if message.perception.content.startswith("reply")
    ]
    assert sorted(replies) == [f"reply {number}" for number in range(1, 8)]


async def test_an_edit_during_the_gap_arrives_too(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl
) -> None:
    ts = await control.say("Ada", "dm", "helo")
    await catching.up().run()
    await control.do("edit", person="Ada", channel="dm", ts=ts, text="hello")
    await catching.up().run()
    assert [type(arrival) for arrival in intake.arrivals[1:]] == [Edit]
    assert isinstance(intake.arrivals[1], Edit)
    assert intake.arrivals[1].text == "hello"


async def test_with_a_fresh_store_answered_messages_are_not_answered_again(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, open_channel: Open
) -> None:
    answered = await control.say("Ada", "dm", "answered before the store existed")
    await open_channel().deliver(post("D0ADA", "Yes.", reply_to=answered))
    await control.say("Ada", "dm", "not answered")
    await catching.up().run()
    assert [message.perception.content for message in intake.messages()] == ["not answered"]


async def test_a_root_that_never_arrived_is_read_even_if_its_thread_has_a_reply_of_ours(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, open_channel: Open
) -> None:
    root = await control.say("Ada", "dm", "never delivered")
    await open_channel().deliver(post("D0ADA", "To another.", reply_to=root))
    intake.threads = (ConversationKey("minoan", "T0LOCAL", "D0ADA", root),)
    await catching.up().run()
    assert [message.perception.content for message in intake.messages()] == ["never delivered"]


async def test_only_the_configured_hours_and_conversations_are_read(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    await control.say("Ada", "dm", "too old")
    a_second_later = FakeClock(start_ms=SystemClock().now_ms() + 1000)
    await catching.up(a_second_later, backfill_hours=0.0).run()
    assert intake.messages() == []
    await catching.up(backfill_conversations=2).run()
    assert {fields["reason"] for fields in events.named("slack.beyond_reach")} == {"too many conversations"}
    assert intake.mark is not None


async def test_catch_up_retries_while_the_store_is_busy(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    await control.say("Ada", "dm", "kept")
    intake.broken = 1
    await catching.up(FakeClock(auto=True, start_ms=SystemClock().now_ms())).run()
    assert [message.perception.content for message in intake.messages()] == ["kept"]
    assert len(events.named("slack.catch_up_failed")) == 1


async def test_a_short_outage_of_slack_delays_catch_up_and_a_long_one_repeats_it(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    await control.say("Ada", "dm", "kept")
    await control.fail("users.conversations", status=503)
    await control.fail("conversations.history", status=503, times=3)
    await catching.up(FakeClock(auto=True, start_ms=SystemClock().now_ms())).run()
    assert [message.perception.content for message in intake.messages()] == ["kept"]
    assert [fields["complete"] for fields in events.named("slack.caught_up")] == [False, True]


async def test_an_unreadable_channel_is_logged_and_does_not_stop_the_others(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    await control.say("Ada", "dm", "one")
    await control.say("Ben", "dm", "two")
    await control.fail("conversations.history", body={"ok": False, "error": "missing_scope"})
    await catching.up().run()
    assert len(intake.messages()) == 1
    assert events.named("slack.beyond_reach")[0]["reason"] == "missing_scope"
    assert intake.mark


async def test_without_the_scope_to_list_channels_catch_up_gives_up(
    catching: Catching, control: WorkspaceControl, events: Events
) -> None:
    await control.fail("users.conversations", body={"ok": False, "error": "missing_scope"})
    await catching.up().run()
    assert events.named("slack.beyond_reach") == [{"where": "everything", "reason": "missing_scope"}]


async def test_a_channel_with_more_than_a_thousand_messages_is_logged(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    more = {"ok": True, "messages": [{"ts": "x"}, 7], "response_metadata": {"next_cursor": "more"}}
    await control.fail("conversations.history", times=5, body=more)
    await catching.up().run()
    assert events.named("slack.beyond_reach")[0]["reason"] == "too many messages"


async def test_catch_up_makes_at_most_forty_calls_a_minute(
    catching: Catching, control: WorkspaceControl, events: Events
) -> None:
    for number in range(50):
        await control.do("channel", name=f"room-{number}", members=["U0ADA", control.server.bot_user.id])
    clock = FakeClock(start_ms=SystemClock().now_ms())
    async with asyncio.TaskGroup() as group:
        group.create_task(catching.up(clock).run())
        await clock.sleepers()
        calls = len(await control.calls("conversations.history")) + len(await control.calls("users.conversations"))
        assert calls == 40
        await clock.advance(60)
    assert events.named("slack.caught_up")[0]["complete"] is True
    assert len(await control.calls("conversations.history")) == 50


async def test_the_watermark_moves_once_a_minute_and_stays_behind_possible_redeliveries(
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
        raise StoreBusy("another program holds the database")

    intake.advance_watermark = busy  # type: ignore[method-assign]  # a store that fails
    await clock.advance(60)
    await up.confirm()
    assert len(events.named("slack.confirm_failed")) == 1


async def test_threads_of_channels_that_we_left_are_not_read(
    catching: Catching, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    intake.threads = (ConversationKey("minoan", "T0LOCAL", "C0RANDOM", "1750000000.000100"),)
    await catching.up().run()
    assert await control.calls("conversations.replies") == []
    assert events.named("slack.caught_up")[0]["complete"] is True
