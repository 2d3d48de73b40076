"""The alarms in memory.db, each posted once until it heals, and the duties that one daemon at a time does."""

import json
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.channel import Room
from daemon.core.ports.services import Clock
from daemon.core.tempo import alarm_name, healed_in_words, healed_line, sense_of, sentence_of
from daemon.core.timetable import surely_past
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.awakenings import perceive_inside
from daemon.memory.queues.claims import holds, open_conversation
from daemon.memory.records import conversation_columns
from daemon.memory.senses.readings import NewReading
from daemon.memory.worker_store import WorkerStore

_DEAD_QUEUES = {"inbox": "queue inbox", "outbox": "queue outbox", "jobs": "queue jobs", "intentions": "schedule"}
"""The tables whose rows can be given up, and the commands that list them."""

_OURS = "!alarm:"


class Alarm(Value):
    """A problem that a daemon saw. `posts` are the outbox keys of the messages about it."""

    name: str
    since_ms: int
    seen_ms: int
    posts: tuple[str, ...] = ()


class Addressee(Value):
    """A room in which alarms are posted. `person` is set if the room is a DM."""

    room: Room
    person: str = ""


async def open_alarms(database: Database | Transaction) -> tuple[Alarm, ...]:
    """Return the open alarms, the oldest first. Raises StoreError."""
    rows = await database.rows("SELECT * FROM alarms ORDER BY since_ms, name")
    return tuple(Alarm(row["name"], row["since_ms"], row["seen_ms"], tuple(json.loads(row["posts"]))) for row in rows)


class Alarms(WorkerStore):
    """The alarms of all daemons. The worker's soul posts them, and every soul that is awake perceives them."""

    async def see(self, names: Collection[str]) -> tuple[str, ...]:
        """Note the alarms that are raised now, and return those not known before. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[str, ...]:
            known = {one.name for one in await open_alarms(transaction)}
            for name in names:
                await transaction.insert(
                    "alarms",
                    "ON CONFLICT (name) DO UPDATE SET seen_ms = excluded.seen_ms",
                    name=name,
                    since_ms=now,
                    seen_ms=now,
                )
            new = tuple(name for name in names if name not in known)
            for name in new:
                await perceive_inside(transaction, NewReading(sense_of(name), sentence_of(name)), now)
            return new

        return await self._database.write(unit, passing=True) if names else ()

    async def open(self) -> tuple[Alarm, ...]:
        """Return the open alarms, the oldest first. Raises StoreError."""
        return await open_alarms(self._database)

    async def given_up(self) -> tuple[str, ...]:
        """Return the alarms of the queues that hold dead rows, without the posts about alarms. Raises StoreError."""
        ours = f"AND instr(id, '{_OURS}') = 0"
        found = []
        for table, command in _DEAD_QUEUES.items():
            but = ours if table == "outbox" else ""
            if await self._database.one(f"SELECT 1 FROM {table} WHERE state = 'dead' {but} LIMIT 1"):  # noqa: S608
                found.append(alarm_name("dead", command))
        return tuple(found)

    async def unsaid(self, alarms: Iterable[Alarm]) -> tuple[Alarm, ...]:
        """Return the alarms that have no post, or whose posts all failed for good. Raises StoreError."""
        return tuple([one for one in alarms if await self._failed(one.posts) == len(one.posts)])

    async def _failed(self, posts: Sequence[str]) -> int:
        row = await self._database.one(
            """
            SELECT count(*) AS n FROM json_each(:posts) p JOIN outbox o ON o.id = p.value
            WHERE o.state IN ('dead', 'expired')
            """,
            posts=json.dumps(posts),
        )
        return int(row["n"]) if row else 0

    async def is_refused(self, channel: str, since_ms: int) -> bool:
        """Return whether a post about alarms failed for good in a channel since a moment (ms). Raises StoreError."""
        stem = f"{ConversationKey(self._worker.soul, self._worker.workspace, channel)}{_OURS}"
        row = await self._database.one(
            """
            SELECT 1 FROM outbox WHERE id >= :stem AND id < :beyond AND state = 'dead' AND settled_ms >= :since LIMIT 1
            """,
            stem=stem,
            beyond=f"{stem[:-1]};",
            since=since_ms,
        )
        return row is not None

    async def tell(self, alarms: Sequence[Alarm], to: Sequence[Addressee], body: str) -> bool:
        """Queue one post for each addressee, or return False if another daemon was faster. Raises StoreError."""
        now, first = self._clock.now_ms(), alarms[0]

        async def unit(transaction: Transaction) -> bool:
            keys = [f"{self._key(one)}{_OURS}{first.name}:{first.since_ms}" for one in to]
            for one in alarms:
                claimed = await transaction.one(
                    "UPDATE alarms SET posts = :posts WHERE name = :name AND since_ms = :since AND posts = :before "
                    "RETURNING 1",
                    posts=json.dumps(keys),
                    name=one.name,
                    since=one.since_ms,
                    before=json.dumps(one.posts),
                )
                if claimed is None and one is first:
                    return False
            for key, addressee in zip(keys, to, strict=True):
                await self._queue(transaction, key, addressee, body, now)
            return True

        return await self._database.write(unit)

    async def heal(self, alarms: Sequence[Alarm]) -> tuple[Alarm, ...]:
        """Delete healed alarms, post a line where they were posted, and return the known ones. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> tuple[Alarm, ...]:
            gone = tuple([one for one in alarms if await _forget(transaction, one)])
            posted: dict[str, list[Alarm]] = {}
            for one in gone:
                healed_now = healed_in_words([one.name], (now - one.since_ms) / 1000)
                await perceive_inside(transaction, NewReading(sense_of(one.name), healed_now), now)
                for post in one.posts:
                    posted.setdefault(post.partition(_OURS)[0], []).append(one)
            for conversation, healed in posted.items():
                await _queue_line(transaction, conversation, healed, now)
            return gone

        return await self._database.write(unit)

    def _key(self, to: Addressee) -> ConversationKey:
        return ConversationKey(self._worker.soul, self._worker.workspace, to.room.channel)

    async def _queue(self, transaction: Transaction, key: str, to: Addressee, body: str, now: int) -> None:
        where = self._key(to)
        await open_conversation(transaction, where, to.room.place, to.room.audience, now)
        await transaction.insert(
            "outbox",
            "ON CONFLICT (id) DO NOTHING",
            id=key,
            **conversation_columns(where),
            part=0,
            last=1,
            body=body,
            reply_to="",
            recipient=to.person,
            newer_than_ts=surely_past(now),
            audience=str(to.room.audience),
            state="pending",
            created_ms=now,
            note=1,
        )


async def _forget(transaction: Transaction, alarm: Alarm) -> bool:
    return bool(
        await transaction.one(
            "DELETE FROM alarms WHERE name = :name AND seen_ms = :seen RETURNING 1",
            name=alarm.name,
            seen=alarm.seen_ms,
        )
    )


async def _queue_line(transaction: Transaction, conversation: str, healed: Sequence[Alarm], now: int) -> None:
    """Queue one line in a conversation that has posts about these alarms, if the posts are still there."""
    since_ms, name = min((one.since_ms, one.name) for one in healed)
    posts = [post for one in healed for post in one.posts if post.partition(_OURS)[0] == conversation]
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, note)
        SELECT conversation || :healed, conversation, soul, workspace, 0, 1, :body, '', recipient, :newer, audience,
               'pending', :now, 1
        FROM outbox WHERE id = :post
        ON CONFLICT (id) DO NOTHING
        """,
        healed=f"{_OURS}healed:{name}:{since_ms}",
        body=healed_line([one.name for one in healed], (now - since_ms) / 1000),
        newer=surely_past(now),
        now=now,
        post=posts[0],
    )


LEASE_MS: Final = 15_000
LOOK_S: Final = 5.0
"""Seconds until a daemon looks again at a duty that another daemon holds."""

_NEVER_MS: Final = 2**62


class Duty:
    """A duty that one daemon at a time does, every `every_s` seconds, or with None only when a daemon asks."""

    def __init__(self, database: Database, clock: Clock, name: str, *, every_s: float | None = None) -> None:
        self._database = database
        self._clock = clock
        self._name = name
        self._every_s = every_s

    async def ask(self) -> None:
        """Make the duty due now, even while a daemon is doing it. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.insert(
                "duties",
                "ON CONFLICT (name) DO UPDATE SET due_ms = excluded.due_ms, asked = duties.asked + 1",
                name=self._name,
                due_ms=now,
                asked=1,
            )

        await self._database.write(unit, passing=True)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Yield 0 and hold the duty while the block does it, or yield the seconds to wait.

        The duty counts as done if the block ends without an error. Raises StoreError.
        """
        row = await self._database.one("SELECT * FROM duties WHERE name = :name", name=self._name)
        wait = self._seconds_until_due(row)
        asked = None if wait else await self._take(row)
        if asked is None:
            yield wait or LOOK_S
            return
        done = False
        try:
            async with alongside(self._renew()):
                yield 0.0
            done = True
        finally:
            with suppress(StoreError):  # else the lease ends by itself, and it is done once more
                await self._let_go(asked, done=done)

    def _seconds_until_due(self, row: sqlite3.Row | None) -> float:
        if row is None:
            return LOOK_S if self._every_s is None else 0.0
        left_ms = int(row["due_ms"]) - self._clock.now_ms()
        most_s = LOOK_S if self._every_s is None else self._every_s  # a clock that was ahead is not waited for
        return max(0.0, min(left_ms / 1000, most_s))

    async def _take(self, row: sqlite3.Row | None) -> int | None:
        """Lease the duty and return how often it was asked for, or None if another daemon holds it."""
        now, me = self._clock.now_ms(), self._database.processes.own
        owner, until = (row["lease_owner"], row["lease_until"]) if row else ("", 0)
        held = owner not in {"", me} and holds(until, now, LEASE_MS)
        if held and not self._database.processes.has_ended(owner):
            return None

        async def unit(transaction: Transaction) -> int | None:
            await transaction.insert("duties", "ON CONFLICT (name) DO NOTHING", name=self._name, due_ms=now)
            taken = await transaction.one(
                """
                UPDATE duties SET lease_owner = :me, lease_until = :lease
                WHERE name = :name AND lease_owner = :owner AND lease_until = :until RETURNING asked
                """,
                me=me,
                lease=now + LEASE_MS,
                name=self._name,
                owner=owner,
                until=until,
            )
            return int(taken["asked"]) if taken else None

        return await self._database.write(unit, passing=True)

    async def _let_go(self, asked: int, *, done: bool) -> None:
        """End the lease. A done duty becomes due again by `every_s`, unless a daemon asked for it since."""
        next_ms = _NEVER_MS if self._every_s is None else self._clock.now_ms() + int(self._every_s * 1000)

        async def unit(transaction: Transaction) -> None:
            await transaction.run(
                """
                UPDATE duties SET lease_owner = '', lease_until = 0,
                  due_ms = CASE WHEN :done AND asked = :asked THEN :next ELSE due_ms END
                WHERE name = :name AND lease_owner = :me
                """,
                done=int(done),
                asked=asked,
                next=next_ms,
                name=self._name,
                me=self._database.processes.own,
            )

        await self._database.write(unit, passing=True)

    async def _renew(self) -> None:
        while True:
            await self._clock.sleep(LEASE_MS / 3000)
            with suppress(StoreError):  # the next renewal may still be in time
                await self._database.write(self._hold_on, passing=True)

    async def _hold_on(self, transaction: Transaction) -> None:
        await transaction.run(
            "UPDATE duties SET lease_until = :until WHERE name = :name AND lease_owner = :me",
            until=self._clock.now_ms() + LEASE_MS,
            name=self._name,
            me=self._database.processes.own,
        )
