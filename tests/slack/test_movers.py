"""Who is looked up for the clocks of what repeats: few in a minute, the soonest first, and again when Slack failed."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.people import Directory, TimezoneSync
from daemon.core.concurrency import alongside
from daemon.core.errors import NotDelivered, StoreBusy
from tests.fakes import Events, FakeClock, FakePersonRooms
from tests.given import TEAM


class SlackOfMovers:
    """Slack, where everybody lives in one zone by now; the next `down` calls fail."""

    def __init__(self, zone: str) -> None:
        self.zone, self.down = zone, 0
        self.asked: list[object] = []

    async def call(self, method: str, **arguments: object) -> Mapping[str, Any]:
        assert method == "users.info"
        self.asked.append(arguments["user"])
        if self.down:
            self.down -= 1
            raise NotDelivered("Slack is away", retry_after=1.0)
        return {"ok": True, "user": {"id": arguments["user"], "team_id": TEAM, "name": "kei", "tz": self.zone}}


class RemindedPeople(FakePersonRooms):
    """The people who are reminded, and where they are moved to."""

    def __init__(self, *people: str) -> None:
        super().__init__()
        self.people, self.now_in, self.failures = people, dict[str, str](), 0
        self.begun = asyncio.Queue[None]()

    async def reminded(self, workspace: str, most: int) -> tuple[str, ...]:
        self.begun.put_nowait(None)
        if self.failures:
            self.failures -= 1
            raise StoreBusy("another program holds the database")
        return self.people[:most]

    async def moved(self, workspace: str, person: str, zone: str) -> bool:
        changed = self.now_in.get(person) != zone
        self.now_in[person] = zone
        return changed


class Looking:
    """The parts of one look at people."""

    def __init__(self, store: RemindedPeople, zone: str = "Asia/Tokyo") -> None:
        self.clock, self.events = FakeClock(auto=True), Events()
        self.slack, self.store, self.told = SlackOfMovers(zone), store, list[str]()
        directory = Directory(cast(SlackClient, self.slack), self.clock)
        self.movers = TimezoneSync(directory, self.clock, self.events, lambda: TEAM, self._tell)

    async def _tell(self, person: str) -> None:
        self.told.append(person)

    async def done(self, looks: int = 1) -> None:
        self.movers.look()
        async with alongside(self.movers.run(self.store)):
            for _ in range(looks):
                await self.store.begun.get()
            self.movers.look()
            await self.store.begun.get()  # of the next one, so that those before are over


async def test_those_who_moved_are_moved_and_told_of_and_no_more_than_thirty_are_asked_about_in_a_minute() -> None:
    looking = Looking(RemindedPeople(*(f"U{number}" for number in range(70)), "C1"))
    await looking.done()
    assert looking.slack.asked == [f"U{number}" for number in range(70)]
    assert set(looking.store.now_in.values()) == {"Asia/Tokyo"}
    assert looking.told == looking.slack.asked
    assert 120 <= looking.clock.monotonic() < 180


async def test_a_zone_that_slack_does_not_say_or_that_does_not_exist_moves_nobody() -> None:
    for zone in ("", "Mars/Olympus_Mons"):
        looking = Looking(RemindedPeople("U1"), zone)
        await looking.done()
        assert looking.store.now_in == {}, zone


async def test_who_can_not_be_looked_up_now_is_looked_up_later() -> None:
    looking = Looking(RemindedPeople("U1"))
    looking.slack.down, looking.store.failures = 2, 1
    await looking.done(looks=4)
    assert looking.store.now_in == {"U1": "Asia/Tokyo"}
    assert [event["reason"] for event in looking.events.named("slack.zones_unknown")] == [
        "another program holds the database",
        "Slack is away",
        "Slack is away",
    ]
    assert looking.clock.monotonic() >= 90


class Forgetful:
    """Slack, where so many times what is known of one of two users is forgotten while the other is asked about."""

    def __init__(self, times: int) -> None:
        self.directory = Directory(cast(SlackClient, self), FakeClock())
        self._left = times

    async def call(self, method: str, **arguments: object) -> Mapping[str, Any]:
        assert method == "users.info"
        if self._left:
            self._left -= 1
            self.directory.forget_user("U0ADA" if arguments["user"] == "U0BEN" else "U0BEN")
        return {"ok": True, "user": {"id": arguments["user"], "team_id": TEAM, "name": "kei"}}


async def test_who_is_forgotten_while_others_are_asked_about_is_asked_about_again_but_not_for_ever() -> None:
    users = await Forgetful(3).directory.users(["U0ADA", "U0BEN"])
    assert [(user.id, user.is_outsider(TEAM)) for user in users if user] == [("U0ADA", False), ("U0BEN", False)]
    with pytest.raises(NotDelivered, match="forgotten while"):  # not taken for an outsider
        await Forgetful(100).directory.users(["U0ADA", "U0BEN"])
