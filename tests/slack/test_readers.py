"""Who reads in a room, asked of Slack: few calls, kept as long as they are true, and closed where nothing is proven."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from daemon.channels.slack import readers
from daemon.channels.slack.channel import SlackChannel
from daemon.core.perception import Audience, AudienceKind, Perception, Place, Readers
from daemon.local_slack.model import ChannelKind
from tests.fakes import FakeClock
from tests.given import perception
from tests.slack.conftest import Open, Wire
from tests.slack.parts import Control, caught_up, listening

TEAM = Audience(AudienceKind.WORKSPACE, "T0LOCAL")
STUDIO = "C0STUDIO"
ASKED = ("conversations.members", "conversations.info", "users.info", "users.list")


def _said(channel: str = STUDIO, *, source: str = "U0ADA", stored: Audience = TEAM) -> Perception:
    place = Place.DM if channel.startswith("D") else Place.PUBLIC_CHANNEL
    return replace(perception(channel=channel, source=source, place=place), audience=stored)


async def _calls(control: Control) -> list[str]:
    calls = (await control.see("calls"))["calls"]
    return [one["method"] for one in calls if one["method"] in ASKED]


async def _room(control: Control, members: Sequence[str], kind: str = "channel") -> None:
    await control.do("channel", name="studio", kind=kind, members=list(members), app=True)


async def _people(control: Control, count: int, standing: str = "member") -> list[str]:
    return [
        str((await control.do("person", name=f"p{number}", standing=standing))["person"]["id"])
        for number in range(count)
    ]


async def test_of_a_large_room_the_list_of_the_workspace_is_read_once(channel: SlackChannel, control: Control) -> None:
    await _room(control, ["Ada", *await _people(control, 410)])
    await channel.identify()
    assert await channel.readers(_said()) == Readers(TEAM, members_only=True)
    assert await _calls(control) == ["conversations.info", *["conversations.members"] * 3, *["users.list"] * 3]
    assert await channel.readers(_said()) == Readers(TEAM, members_only=True)
    assert len(await _calls(control)) == 7


async def test_one_guest_on_the_last_page_of_members_counts(channel: SlackChannel, control: Control) -> None:
    await _room(control, ["Ada", *await _people(control, 210), "Gus"])
    await channel.identify()
    assert not (await channel.readers(_said())).members_only


async def test_members_beyond_those_that_are_read_prove_nothing(on: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MOST_MEMBERS", 200)  # one page
    people = ["Ada", *await _people(on.control, 205)]
    room = (await on.control.do("channel", name="studio", kind="channel", members=people, app=True))["channel"]
    await on.control.fail("conversations.info", body={"ok": True, "channel": {**room, "num_members": 5}})
    await on.channel.identify()
    assert not (await on.channel.readers(_said())).members_only


async def test_members_of_whom_too_many_are_unknown_prove_nothing(channel: SlackChannel, control: Control) -> None:
    await _room(control, ["Ada", *await _people(control, 40)])
    await control.fail("users.list", body={"ok": False, "error": "missing_scope"})
    await channel.identify()
    assert not (await channel.readers(_said())).members_only
    assert "users.info" not in await _calls(control)


async def test_what_is_known_of_a_room_lasts_ten_minutes(open_channel: Open, control: Control) -> None:
    clock = FakeClock()
    channel = open_channel(clock)
    await _room(control, ["Ada"])
    await channel.identify()
    for seconds, calls in ((0, 3), (599, 3), (2, 6)):
        await clock.advance(seconds)
        await channel.readers(_said())
        assert len(await _calls(control)) == calls


async def test_an_event_about_a_room_is_asked_about_at_the_next_message(on: Wire) -> None:
    await _room(on.control, ["Ada", "Ben"])
    async with listening(on.channel, on.intake):
        seen = []
        for order in (
            {},
            {"order": "join", "person": "Gus", "channel": "studio"},
            {"order": "leave", "person": "Gus", "channel": "studio"},
            {"order": "standing", "person": "Ben", "standing": "guest"},
            {"order": "standing", "person": "Ben", "standing": "member"},
            {"order": "share", "channel": "studio"},
            {"order": "share", "channel": "studio", "end": True},
            {"order": "convert", "person": "Ada", "channel": "studio", "kind": "group"},
        ):
            if order:
                await on.control.do(str(order.pop("order")), **order)
                await _acknowledged(on.control)
            found = await on.channel.readers(_said())
            seen.append((found.audience.kind.value, found.members_only))
        before = len(await _calls(on.control))
        await on.control.do("standing", person="Ben", standing="member")  # the event comes, nothing in it is new
        await _acknowledged(on.control)
        await on.channel.readers(_said())
        assert len(await _calls(on.control)) == before
    common, closed = ("workspace", True), ("workspace", False)
    assert seen == [common, closed, common, closed, common, ("channel", False), common, ("channel", True)]


async def test_what_slack_tells_one_daemon_all_daemons_on_the_file_know(on: Wire) -> None:
    await _room(on.control, ["Ada", "Ben"])
    one, other = on.open(), on.open()
    async with listening(one, on.intake), listening(other, on.intake):
        for channel in (one, other):
            assert (await channel.readers(_said())).members_only
        for order, proven in (
            ({"order": "join", "person": "Gus", "channel": "studio"}, False),
            ({"order": "leave", "person": "Gus", "channel": "studio"}, True),
            ({"order": "standing", "person": "Ben", "standing": "guest"}, False),
        ):
            await on.control.do(str(order.pop("order")), **order)
            await _acknowledged(on.control)
            assert [(await channel.readers(_said())).members_only for channel in (one, other)] == [proven] * 2


async def test_an_event_about_a_room_that_can_not_be_passed_on_is_not_acknowledged_and_comes_again(on: Wire) -> None:
    await _room(on.control, ["Ada", "Ben"])
    async with caught_up(on.channel, on.intake, on.events):

        async def acknowledged(*, again: bool) -> list[object]:
            log = (await on.control.see("deliveries"))["deliveries"]
            joins = [
                one for one in log if one["event_type"] == "member_joined_channel" and bool(one["attempt"]) is again
            ]
            return [one for one in joins if one["acked_at"]]

        on.intake.room_news.news.clear()
        on.intake.room_news.broken = 1
        await on.control.do("join", person="Gus", channel="studio")
        await on.events.until("slack.library")
        assert not await acknowledged(again=False)
        await on.control.do("clock", advance=400)
        await on.control.until(partial(acknowledged, again=True), 1)
    assert set(on.intake.room_news.news) == {("T0LOCAL", STUDIO)}


async def _acknowledged(control: Control) -> None:
    async def waiting() -> list[object]:
        log = (await control.see("deliveries"))["deliveries"]
        return [1] if all(one["acked_at"] for one in log if one["type"] == "events_api") else []

    await control.until(waiting, 1)


async def test_what_is_remembered_never_widens_an_audience(channel: SlackChannel, control: Control) -> None:
    await _room(control, ["Ada"])
    await channel.identify()
    assert (await channel.readers(_said())).audience == TEAM
    rooms = control.server.workspace.state.channels
    rooms[STUDIO] = replace(rooms[STUDIO], kind=ChannelKind.PRIVATE)
    here = Audience(AudienceKind.CHANNEL, STUDIO)
    assert (await channel.readers(_said(stored=here))).audience == here


async def test_in_a_dm_only_its_user_is_looked_at(channel: SlackChannel, control: Control) -> None:
    await channel.identify()
    dm = Audience(AudienceKind.DM, "D1")
    for source, only in (("U0ADA", True), ("U0GUS", False), ("B0ONLY", False), ("U0UNKNOWN", False)):
        assert await channel.readers(_said("D1", source=source, stored=dm)) == Readers(dm, members_only=only), source
    assert set(await _calls(control)) <= {"users.info"}


async def test_nothing_is_proven_without_our_ids_or_with_slack_down(channel: SlackChannel, control: Control) -> None:
    closed = Readers(Audience(AudienceKind.CHANNEL, STUDIO), members_only=False)
    assert await channel.readers(_said()) == replace(closed, unproven=True)
    await channel.identify()
    assert await channel.readers(_said()) == closed, "a room that Slack doesn't know"
    await _room(control, ["Ada"])
    await control.fail("conversations.info", status=503)
    assert await channel.readers(_said("C0OTHER")) == replace(
        closed, audience=Audience(AudienceKind.CHANNEL, "C0OTHER"), unproven=True
    )


async def test_no_reply_waits_for_long_because_many_rooms_are_looked_at(open_channel: Open, control: Control) -> None:
    channel = open_channel(FakeClock())
    await channel.identify()
    orders = [{"name": f"room{number}", "kind": "channel", "members": ["Ada"], "app": True} for number in range(160)]
    rooms = [str((await control.do("channel", **order))["channel"]["id"]) for order in orders]
    read = await asyncio.gather(*(channel.readers(_said(room)) for room in rooms))
    assert all(one.members_only for one in read)
    assert len(await control.calls("conversations.info")) == 20
    assert len(await control.calls("users.conversations")) == 1


async def test_private_channels_belong_to_the_dm_of_a_member_and_all_daemons_hear_of_a_change(on: Wire) -> None:
    await on.control.do("channel", name="guild", kind="group", members=["Ada"], app=True)
    dm = Audience(AudienceKind.DM, "D1")
    one, other = on.open(), on.open()
    assert not (await one.readers(_said("D1", stored=dm))).rooms
    async with listening(one, on.intake), listening(other, on.intake):
        seen = []
        for order in ("", "leave", "join"):
            if order:
                await on.control.do(order, person="Ada", channel="guild")
                await _acknowledged(on.control)
            seen.append(["C0GUILD" in (await each.readers(_said("D1", stored=dm))).rooms for each in (one, other)])
        assert seen == [[True] * 2, [False] * 2, [True] * 2]
        for source in ("U0GUS", "U0SOUL", "U0UNKNOWN"):
            assert not (await one.readers(_said("D1", source=source, stored=dm))).rooms
        assert not (await one.readers(_said("C0GENERAL"))).rooms
