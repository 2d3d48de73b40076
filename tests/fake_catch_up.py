"""A `CatchUpLog` in memory, which orders and bounds as the store does; `tests/store/test_catch_up.py` compares them."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from msgspec.structs import replace

from daemon.core.ports import HeardPlace, UnreadPlace


@dataclass(slots=True)
class _Row:
    place: UnreadPlace
    due: bool
    number: int  # in which call it became due


class FakeCatchUpLog:
    """What a test puts into `heard`, `messages` and `posts` (channel and ts) counts as known to the store."""

    def __init__(self) -> None:
        self.mark: str | None = None
        self.heard: list[HeardPlace] = []
        self.messages: set[tuple[str, str]] = set()
        self.posts: set[tuple[str, str]] = set()
        self._rows: dict[tuple[str, str], _Row] = {}
        self._calls = 0
        self.turns = 0
        self._asked = False

    async def watermark(self, soul: str, workspace: str) -> str | None:
        return self.mark

    async def ask(self, soul: str, workspace: str) -> None:
        self._asked = True

    @asynccontextmanager
    async def turn(self, soul: str, workspace: str) -> AsyncIterator[float]:
        if not self._asked:
            yield 5.0
            return
        self.turns += 1
        yield 0.0
        self._asked = False

    async def advance(self, soul: str, workspace: str, ts: str) -> None:
        self.mark = max(self.mark or "", ts)
        self._rows = {key: row for key, row in self._rows.items() if row.due}

    async def heard_places(self, workspace: str, since_ms: int, older: int) -> tuple[tuple[HeardPlace, ...], int]:
        ordered = sorted(self.heard, key=lambda one: -one.last_ms)
        recent = [one for one in ordered if one.last_ms >= since_ms]
        earlier = [one for one in ordered if one.last_ms < since_ms and one.thread]
        return (*recent, *earlier[:older]), len(earlier[older:])

    async def add_unread(self, soul: str, workspace: str, places: Sequence[UnreadPlace]) -> None:
        self._calls += 1
        for place in places:
            row = self._rows.setdefault((place.channel, place.thread), _Row(place, due=True, number=self._calls))
            heard = max(place.heard_ms, row.place.heard_ms)
            row.number = row.number if row.due else self._calls
            row.place, row.due = replace(row.place, resume="", failures=0, heard_ms=heard), True

    async def next_unread(
        self, soul: str, workspace: str, *, most_failures: int, waited_longest: bool = False
    ) -> UnreadPlace | None:
        def order(row: _Row) -> tuple[object, ...]:
            one = row.place
            return (one.failures, row.number if waited_longest else 0, -one.heard_ms, one.channel, one.thread)

        due = [row for row in self._rows.values() if row.due and row.place.failures < most_failures]
        return min(due, key=order).place if due else None

    async def put_off(self, soul: str, workspace: str, place: UnreadPlace) -> None:
        self._rows[place.channel, place.thread].place = place

    async def mark_read(self, soul: str, workspace: str, place: UnreadPlace, next_since: str) -> None:
        row = self._rows[place.channel, place.thread]
        row.place, row.due = replace(place, since=next_since, resume="", failures=0), False

    async def mark_quiet(self, soul: str, workspace: str, channel: str, latest: Mapping[str, str]) -> None:
        for (room, thread), row in self._rows.items():
            if room == channel and thread in latest and float(latest[thread] or "0") < float(row.place.since):
                row.due = False

    async def known_messages(
        self, workspace: str, channel: str, timestamps: Collection[str], receiver: str
    ) -> frozenset[str]:
        return frozenset(ts for ts in timestamps if (channel, ts) in self.messages)

    async def known_posts(
        self, workspace: str, channel: str, thread: str, timestamps: Collection[str]
    ) -> frozenset[str]:
        return frozenset(ts for ts in timestamps if (channel, ts) in self.posts)
