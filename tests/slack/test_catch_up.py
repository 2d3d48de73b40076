"""Catch-up finds the messages of a gap once and within its limits, and logs what it can't read (P5)."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.catch_up import PAGES, CatchUp
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.installation import fetch_identity
from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.perception import AudienceKind
from daemon.core.ports import HeardPlace, UnreadPlace
from daemon.core.ports.arrivals import Edit, Source
from daemon.core.ports.services import Clock, SystemClock
from daemon.local_slack.model import ChannelKind, WorkspaceChannel, WorkspaceMessage
from tests.fakes import Events, FakeClock, FakeIntake, TurnableClock
from tests.given import post
from tests.slack.conftest import Open, Wire
from tests.slack.parts import Control, caught_up, listening

DAY_MS = 86_400_000


@pytest.fixture
async def reader(client: SlackClient, settings: Settings, events: Events) -> EventReader:
    return EventReader("minoan", await fetch_identity(client, settings, SystemClock(), events))


class Catching:
    """Builds catch-ups with the same workspace and intake, each with a client of its own."""

    def __init__(self, reader: EventReader, control: Control, settings: Settings, events: Events) -> None:
        self.reader, self.control, self.events, self.intake = reader, control, events, FakeIntake()
        self.log = self.intake.catch_up_log
        self._settings = settings
        self._clients: list[SlackClient] = []

    def up(self, clock: Clock | None = None, gap: asyncio.Event | None = None, **changes: object) -> CatchUp:
        settings, clock = self._settings.model_copy(update=changes), clock or SystemClock()
        client = SlackClient(settings, clock, self.events)
        self._clients.append(client)
        return CatchUp(client, self.reader, self.intake, settings, gap or asyncio.Event())

    def found(self) -> list[str]:
        """The words of the new messages, in order of their arrival."""
        return [message.perception.content for message in self.intake.messages()]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


@pytest.fixture
async def catching(
    reader: EventReader, control: Control, settings: Settings, events: Events
) -> AsyncIterator[Catching]:
    built = Catching(reader, control, settings, events)
    yield built
    await built.close()


def quick_clock(ahead_ms: int = 0) -> FakeClock:
    """A clock that agrees with Slack's, or is ahead of it, and needs no time."""
    return FakeClock(auto=True, start_ms=SystemClock().now_ms() + ahead_ms)


def heard(channel: str, minutes_ago: int, thread: str = "") -> HeardPlace:
    return HeardPlace(channel, thread, SystemClock().now_ms() - minutes_ago * 60_000)


async def test_messages_of_an_outage_are_found_once(on: Wire) -> None:
    channel = on.open(TurnableClock())
    async with caught_up(channel, on.intake, on.events):
        root = await on.control.say("Ada", "general", "@soul before")
        await on.intake.until(1)
    await on.control.say("Ada", "dm", "a DM")
    await on.control.say("Ben", "general", "@soul a mention")
    await on.control.say("Ben", "general", "talk among us")
    await on.control.say("Ada", "general", "a reply", thread=root)
    await on.control.say("Ada", "founders", "@soul in private")
    async with listening(channel, on.intake):
        await on.events.until("slack.caught_up", 2)
        await on.control.say("Ada", "dm", "live again")
        await on.intake.until(6)
    late = [message.perception.content for message in on.intake.messages() if message.source is Source.BACKFILL]
    assert sorted(late) == ["a DM", "a mention", "a reply", "in private"]
    kinds = {message.perception.content: message.perception.audience.kind for message in on.intake.messages()}
    assert (kinds["a DM"], kinds["a mention"]) == (AudienceKind.DM, AudienceKind.WORKSPACE)
    assert kinds["in private"] is AudienceKind.CHANNEL
    assert on.events.named("slack.caught_up")[1]["found"] == 4


async def test_threads_that_began_during_the_gap_are_read_too(catching: Catching) -> None:
    root = await catching.control.say("Ben", "general", "among us")
    await catching.control.say("Ada", "general", "@soul help us here", thread=root)
    await catching.control.say("Ben", "general", "a reply that the store judges", thread=root)
    await catching.up().fill()
    assert [(one.perception.content, one.addressed) for one in catching.intake.messages()] == [
        ("help us here", True),
        ("a reply that the store judges", False),
    ]


async def test_an_edit_during_the_gap_arrives_too(catching: Catching) -> None:
    ts = await catching.control.say("Ada", "dm", "helo")
    await catching.up().fill()
    await catching.control.do("edit", person="Ada", channel="dm", ts=ts, text="hello")
    await catching.up().fill()
    _, edit = catching.intake.arrivals
    assert isinstance(edit, Edit)
    assert edit.text == "hello"


async def test_a_fresh_store_answers_nothing_again(catching: Catching, open_channel: Open) -> None:
    answered = await catching.control.say("Ada", "dm", "answered before the store existed")
    await open_channel().deliver(post("D0ADA", "Yes.", reply_to=answered))
    await catching.control.say("Ada", "dm", "not answered")
    await catching.up().fill()
    assert catching.found() == ["not answered"]
    ours = [message["ts"] for message in await catching.control.replies("D0ADA", answered)]
    catching.log.posts.update(("D0ADA", ts) for ts in ours)  # a store that knows the post, not the message
    await catching.up().fill()
    assert "answered before the store existed" in catching.found()


async def test_only_the_configured_hours_are_read_and_of_a_new_soul_what_it_can_answer(catching: Catching) -> None:
    await catching.control.say("Ada", "dm", "of yesterday")
    await catching.control.do("clock", advance=86_000)
    await catching.control.say("Ada", "dm", "of today")
    later = quick_clock(86_001_000)
    await catching.up(later, backfill_hours=0.0).fill()
    assert catching.found() == []
    catching.log.mark = "1.000000"
    await catching.up(later, backfill_hours=1.0).fill()
    assert catching.found() == ["of today"]
    catching.log.mark = None
    await catching.up(later).fill()
    assert catching.found() == ["of today"]
    catching.log.mark = "1.000000"
    await catching.up(later).fill()
    assert catching.found() == ["of today", "of yesterday"]


async def test_a_reply_in_a_thread_that_had_rested_is_found_known_or_not(catching: Catching) -> None:
    roots = {
        room: await catching.control.say("Ada", room, f"an old talk in {room}")
        for room in ("dm", "general", "founders")
    }
    await catching.control.do("clock", advance=2 * 86_400)
    clock = quick_clock(2 * DAY_MS)
    catching.log.mark = f"{clock.now_ms() / 1000 - 120:.6f}"
    for room, root in roots.items():
        await catching.control.say("Ada", room, f"@soul an answer in {room}", thread=root)
    await catching.up(clock).fill()
    assert sorted(catching.found()) == ["an answer in dm", "an answer in founders", "an answer in general"]


async def test_old_threads_are_read_the_latest_first_and_those_left_out_are_counted(catching: Catching) -> None:
    roots = [await catching.control.say("Ada", "general", f"root {number}") for number in range(4)]
    await catching.control.do("clock", advance=5 * 86_400)
    now_ms = SystemClock().now_ms() + 5 * 86_400_000
    log = catching.log
    log.mark = f"{now_ms / 1000 - 120:.6f}"
    log.heard = [HeardPlace("C0GENERAL", root, number) for number, root in enumerate(roots)]
    log.heard.append(HeardPlace("C0RANDOM", roots[0], 99))  # we are not in that channel
    for number, root in enumerate(roots):
        await catching.control.say("Ada", "general", f"@soul reply {number}", thread=root)
    await catching.up(FakeClock(auto=True, start_ms=now_ms), backfill_threads=3).fill()
    assert catching.found() == ["reply 3", "reply 2"]
    assert catching.events.named("slack.catching_up")[0]["threads_left_out"] == 2


async def test_every_room_is_read_however_many_and_the_one_heard_last_is_first(catching: Catching) -> None:
    people = [(await catching.control.do("person", name=f"Person {n}"))["person"]["id"] for n in range(60)]
    for person in people:
        await catching.control.say(person, "dm", f"a DM of {person}")
    await catching.control.say("Ben", "general", "@soul a mention")
    catching.log.heard = [heard("C0GENERAL", 9, "1750000000.000100"), heard("D0ADA", 1)]
    await catching.control.say("Ada", "dm", "the last word")
    await catching.up(quick_clock()).fill()
    assert catching.found()[:2] == ["the last word", "a mention"]
    assert sorted(catching.found()[2:]) == sorted(f"a DM of {person}" for person in people)


async def test_rooms_are_listed_to_the_last_page(catching: Catching) -> None:
    for number in range(1_010):
        room = WorkspaceChannel(
            f"C0R{number}", f"room-{number}", ChannelKind.PUBLIC, (catching.reader.identity.user, "U0ADA"), 1
        )
        catching.control.server.workspace.add_channel(room)
    await catching.control.say("Ada", "room-1009", "@soul are you here?")
    await catching.up(quick_clock()).fill()
    assert catching.found() == ["are you here?"]


async def test_lists_of_rooms_and_rooms_whose_pages_repeat_are_read_twice_and_no_further(catching: Catching) -> None:
    again = {"ok": True, "response_metadata": {"next_cursor": "again"}}
    await catching.control.fail("users.conversations", times=5, body=again | {"channels": []})
    await catching.up(quick_clock()).fill()
    assert len(await catching.control.calls("users.conversations")) == 2
    await catching.control.do("clear_faults")
    message = {"type": "message", "user": "U0BEN", "text": "again", "ts": f"{SystemClock().now_ms() / 1000:.6f}"}
    page = again | {"messages": [message], "has_more": True}
    await catching.control.fail("conversations.history", times=1_000, body=page)
    await catching.up(quick_clock()).fill()
    rooms = catching.events.named("slack.catching_up")[1]["rooms"]
    assert len(await catching.control.calls("conversations.history")) / (2 * PAGES) == rooms
    assert len(catching.events.named("slack.caught_up")) == 2


async def test_a_room_with_thousands_of_messages_is_read_to_its_end_in_several_steps(catching: Catching) -> None:
    await catching.control.say("Ada", "general", "@soul the oldest")
    for number in range(1_100):
        catching.control.server.workspace.post(WorkspaceMessage("C0GENERAL", "U0BEN", f"talk {number}"))
    root = await catching.control.say("Ada", "founders", "@soul a root")
    for number in range(1_100):
        catching.control.server.workspace.post(
            WorkspaceMessage("C0FOUNDERS", "U0BEN", f"talk {number}", thread_ts=root)
        )
    await catching.control.say("Ada", "founders", "@soul the newest", thread=root)
    await catching.up(quick_clock()).fill()
    found = catching.found()
    assert {"the oldest", "a root", "the newest"} <= set(found)
    assert len(found) == 3 + 1_100


async def test_a_restart_goes_on_where_catch_up_was_and_another_gap_is_read_too(catching: Catching) -> None:
    await catching.control.say("Ada", "dm", "one")
    await catching.control.say("Ben", "general", "@soul two")
    catching.log.heard = [heard("D0ADA", 1)]
    await catching.control.fail("conversations.history")
    await catching.control.fail("conversations.history", delay=3600)
    first = asyncio.create_task(catching.up().fill())
    await catching.intake.until(1)
    first.cancel()
    await asyncio.wait([first])
    assert catching.log.mark is None
    await catching.control.do("clear_faults")
    await catching.control.say("Ada", "dm", "three")
    await catching.up().fill()
    assert sorted(catching.found()) == ["one", "three", "two"]
    assert catching.log.mark


async def test_a_gap_during_catch_up_is_read_too_and_a_place_that_waits_long_has_its_turn(catching: Catching) -> None:
    catching.log.heard = [heard("D0ADA", 1), heard("D0BEN", 2)]
    await catching.control.say("Ben", "dm", "one")
    await catching.control.say("Ada", "general", "@soul two")
    await catching.control.say("Ada", "dm", "three")
    gap, log = asyncio.Event(), catching.log
    marked = log.mark_read

    async def then_a_gap(soul: str, workspace: str, place: UnreadPlace, next_since: str) -> None:
        await marked(soul, workspace, place, next_since)
        if "two" not in catching.found():
            gap.set()

    log.mark_read = then_a_gap  # type: ignore[method-assign]  # a socket that is lost all the time
    await catching.up(quick_clock(), gap).fill()
    assert sorted(catching.found()) == ["one", "three", "two"]


async def test_a_gap_that_comes_while_the_rooms_are_listed_is_read_too(catching: Catching) -> None:
    gap, log = asyncio.Event(), catching.log
    watermark = log.watermark

    async def then_a_gap(soul: str, workspace: str) -> str | None:
        if not catching.events.named("slack.catching_up"):
            gap.set()
        return await watermark(soul, workspace)

    log.watermark = then_a_gap  # type: ignore[method-assign]  # a socket that is lost once more
    await catching.up(quick_clock(), gap).fill()
    assert len(catching.events.named("slack.catching_up")) == 2
    assert not gap.is_set()


@pytest.mark.parametrize("broken", ["store", "listing", "room", "all rooms"])
async def test_catch_up_goes_on_until_the_store_and_slack_work(catching: Catching, broken: str) -> None:
    await catching.control.say("Ada", "dm", "kept")
    match broken:
        case "store":
            catching.intake.broken = 1
        case "listing":
            await catching.control.fail("users.conversations", status=503)
            await catching.control.fail("users.conversations", body={"ok": False, "error": "missing_scope"})
            await catching.control.fail("users.conversations", body={"ok": False, "error": "token_revoked"})
        case "room":
            await catching.control.fail("conversations.history", status=503)
        case _:
            await catching.control.fail("conversations.history", status=503, times=20)
            await catching.control.fail("conversations.history", body={"ok": False, "error": "token_revoked"})
    clock = quick_clock()
    await catching.up(clock).fill()
    assert catching.found() == ["kept"]
    assert len(catching.events.named("slack.caught_up")) == 1
    assert all(fields["hint"] for fields in catching.events.named("slack.beyond_reach"))


@pytest.mark.parametrize("dead", [False, True])
async def test_who_can_read_nothing_lets_another_daemon_try_before_it_rests(catching: Catching, *, dead: bool) -> None:
    await catching.control.say("Ada", "dm", "kept")
    if dead:
        await catching.control.fail("users.conversations", body={"ok": False, "error": "token_revoked"})
    else:
        await catching.control.fail("users.conversations", status=503)
    gap = asyncio.Event()
    gap.set()
    async with alongside(catching.up(quick_clock(), gap).run()):
        await catching.events.until("slack.caught_up")
    assert catching.found() == ["kept"]
    assert catching.log.turns == 1 + dead


async def test_one_room_that_slack_never_gives_holds_up_no_other_and_stays_due(catching: Catching) -> None:
    await catching.control.say("Ada", "dm", "one")
    await catching.control.say("Ben", "dm", "two")
    await catching.control.fail("conversations.history", body={"ok": False, "error": "missing_scope"})
    await catching.up(quick_clock()).fill()
    assert len(catching.intake.messages()) == 1
    logged = catching.events.named("slack.beyond_reach")[0]
    assert logged["reason"] == "missing_scope"
    assert "add the scope" in str(logged["hint"])
    await catching.up(quick_clock(40 * 60_000)).fill()
    assert len(catching.intake.messages()) == 2


async def test_a_room_that_we_were_removed_from_is_told_by_name_with_what_to_do(catching: Catching) -> None:
    catching.log.heard = [heard("C0GENERAL", 1)]
    await catching.control.fail("conversations.history", body={"ok": False, "error": "not_in_channel"})
    await catching.up().fill()
    where = {"where": "C0GENERAL", "thread": "", "name": "general", "reason": "not_in_channel"}
    assert catching.events.named("slack.beyond_reach") == [where | {"hint": "invite the soul to the channel"}]
    assert catching.log.mark


async def test_the_mark_moves_only_when_everything_is_read(catching: Catching) -> None:
    for number in range(50):
        await catching.control.do(
            "channel", name=f"room-{number}", members=["U0ADA", catching.control.server.bot_user.id]
        )
    clock = FakeClock(start_ms=SystemClock().now_ms())
    async with asyncio.TaskGroup() as group:
        group.create_task(catching.up(clock).fill())
        await clock.sleepers()
        calls = len(await catching.control.calls("conversations.history")) + len(
            await catching.control.calls("users.conversations")
        )
        assert calls == 40, "no more in a minute, so that other reads are possible"
        assert catching.log.mark is None
        began = clock.now_ms() / 1000
        await clock.advance(61)
    assert catching.log.mark == f"{began - 600:.6f}"
    assert catching.events.named("slack.caught_up")
    assert (
        len(await catching.control.calls("conversations.history"))
        == catching.events.named("slack.catching_up")[0]["rooms"]
    )


async def test_a_clock_that_is_always_five_minutes_ahead_hides_nothing(catching: Catching) -> None:
    await catching.up(quick_clock(300_000)).fill()
    await catching.control.say("Ada", "dm", "right after it")
    await catching.up(quick_clock(600_000)).fill()
    assert catching.found() == ["right after it"]


async def test_a_new_soul_that_is_stopped_at_once_knows_from_when_on_to_read(catching: Catching) -> None:
    clock = FakeClock(start_ms=SystemClock().now_ms())
    began = clock.now_ms() / 1000
    await catching.up(clock).set_out()
    assert catching.log.mark == f"{began - 3600:.6f}"
    await clock.advance(3 * 3600)
    await catching.up(clock).set_out()
    assert catching.log.mark == f"{began - 3600:.6f}"
