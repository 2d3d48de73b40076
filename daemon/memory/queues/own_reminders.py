"""A person's own reminders, and reads of what a person or the admin may see."""

import json
from collections.abc import Sequence
from typing import Final, Literal

from msgspec.structs import replace

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.phrases import Command
from daemon.core.ports.library import Post
from daemon.core.spending import Day
from daemon.core.timetable import recurrence_of
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.queues.alarms import open_alarms
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.intention_rows import FOR_PEOPLE, Intention, NewIntention
from daemon.memory.queues.intentions import store_intentions
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.presence import SILENT_MS
from daemon.memory.records import Delivery, Speaks, read_row
from daemon.memory.spending.costs import CostSum, DayOfUse, days_of_use, sums_of_costs
from daemon.memory.spending.reservations import SpentToday, spent_today
from daemon.memory.worker_store import WorkerStore

Pause = Literal["not_in_channel", "archived", "owner_left"]
"""The reason of a pause: the soul or its person is not in the room, or the room is archived."""

OWN_SLOT: Final = "reminder-"
"""The prefix of the slots of people's own reminders."""

_OWN: Final = f"behalf = :person AND workspace = :workspace AND {FOR_PEOPLE}"


class ReminderSet(Value):
    """A reminder that comes up in another conversation than the one that asked for it."""

    new: NewIntention
    channel: str
    place: Place
    audience: Audience
    most: int

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Schedule the reminder, within `most` for the soul and the person's share of it."""
        where = ConversationKey(asker.conversation.soul, asker.conversation.workspace, self.channel)
        await open_conversation(transaction, where, self.place, self.audience, now)
        await store_intentions(
            transaction,
            conversation=where,
            place=self.place,
            audience=self.audience,
            intentions=(self.new,),
            now=now,
            most=self.most,
        )


class ReminderCancelled(Value):
    id: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Cancel the reminder if it still waits."""
        await transaction.run(
            f"""
            UPDATE intentions SET state = 'cancelled', reason = 'cancelled by its person', settled_ms = :now
            WHERE id = :id AND {_OWN} AND state = 'waiting'
            """,  # noqa: S608 - a constant
            id=self.id,
            now=now,
            person=asker.person,
            workspace=asker.conversation.workspace,
        )


class ReminderMoved(Value):
    """A reminder moved by its person to another time, and to another rule if it has one."""

    id: str
    due_ms: int
    every: str
    zone: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Move the reminder if it still waits. A paused one goes on."""
        await transaction.run(
            f"""
            UPDATE intentions SET due_ms = :due, every = :every, zone = :zone, paused = ''
            WHERE id = :id AND {_OWN} AND state = 'waiting'
            """,  # noqa: S608 - a constant
            id=self.id,
            due=self.due_ms,
            every=self.every,
            zone=self.zone,
            person=asker.person,
            workspace=asker.conversation.workspace,
        )


class ReminderResumed(Value):
    """A paused reminder that its person resumes. It is due at its next time."""

    id: str
    zone: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        row = await transaction.one(
            f"SELECT every, due_ms, fired_day FROM intentions WHERE id = :id AND {_OWN} AND paused <> ''",  # noqa: S608 - a constant
            id=self.id,
            person=asker.person,
            workspace=asker.conversation.workspace,
        )
        rule = recurrence_of(row["every"]) if row else None
        if row is None or rule is None:
            return
        due = row["due_ms"] if row["due_ms"] > now else rule.first(now, self.zone, row["fired_day"]).due_ms
        moved = ReminderMoved(self.id, due, row["every"], self.zone)
        await moved.perform(transaction, asker, now)


class ReminderPaused(Value):
    """A recurring intention that is paused, because it can't come up."""

    id: str
    why: Pause

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await transaction.run(
            """
            UPDATE intentions SET paused = :why, reason = :why WHERE id = :id AND behalf = :person AND state = 'waiting'
            """,
            why=self.why,
            id=self.id,
            person=asker.person,
        )


class DigestPosted(Value):
    """A posted digest. The next one begins after the ts `to`."""

    id: str
    to: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await transaction.run(
            "UPDATE intentions SET covers_to = max(covers_to, :to) WHERE id = :id AND behalf = :person",
            to=self.to,
            id=self.id,
            person=asker.person,
        )


class House(Value):
    """An overview for the admin: living daemons, queues, dead rows and model calls."""

    daemons: int
    waiting: int
    to_send: int
    dead: int
    calls: int
    failed: int
    cost_usd: float


async def next_reminder_ms(database: Database, soul: str, workspace: str, person: str) -> int | None:
    """Return when the next reminder of a person is due (ms), or None. Raises StoreError."""
    row = await database.one(
        f"""
        SELECT min(due_ms) AS due FROM intentions WHERE soul = :soul AND workspace = :workspace
          AND state = 'waiting' AND behalf = :person AND {FOR_PEOPLE} AND paused = ''
        """,  # noqa: S608 - a constant
        soul=soul,
        workspace=workspace,
        person=person,
    )
    return row["due"] if row else None


class OwnThings(WorkerStore):
    """The rows that belong to one person, in one worker's soul and workspace."""

    async def waiting(self, person: str, but: Sequence[str] = ()) -> int:
        """Return how many messages of a person wait, except those with the ids `but`. Raises StoreError."""
        row = await self._database.one(
            """
            SELECT count(*) AS waiting FROM inbox WHERE soul = :soul AND workspace = :workspace AND author = :person
              AND state IN ('new', 'claimed') AND modality = 'words' AND id NOT IN (SELECT value FROM json_each(:but))
            """,
            person=person,
            but=json.dumps(list(but)),
            **self._worker.scope,
        )
        return row["waiting"] if row else 0

    async def last_reply(self, conversation: ConversationKey) -> Post | None:
        """Return the soul's last reply in a conversation as it is posted, or None.

        Its body is empty if it asks something, was changed, stopped or taken back, or lost its words. Of a reply in
        several messages it is the first. Raises StoreError.
        """
        row = await self._database.one(
            """
            SELECT o.*, o.withdrawn OR o.cleared OR o.stopped <> '' OR o.approval IS NOT NULL OR o.answers <> ''
              OR EXISTS (SELECT 1 FROM outbox r WHERE r.conversation = o.conversation AND r.revises = o.platform_ts)
              AS gone
            FROM outbox o WHERE o.conversation = :conversation AND o.state = 'sent' AND o.platform_ts IS NOT NULL
              AND o.revises IS NULL AND o.note = 0 AND o.file = '' AND o.part = 0
            ORDER BY o.seq DESC LIMIT 1
            """,
            conversation=str(conversation),
        )
        if row is None:
            return None
        post = Delivery.from_row(row, doubtful=False).post
        return replace(post, draft=None, revises=post.draft, body="" if row["gone"] else post.body)

    async def reminders(self, person: str) -> tuple[Intention, ...]:
        """Return the reminders of a person, the next first. Raises StoreError."""
        rows = await self._database.rows(
            f"""
            SELECT * FROM intentions WHERE soul = :soul AND workspace = :workspace AND state = 'waiting'
              AND behalf = :person AND {FOR_PEOPLE} ORDER BY due_ms, number
            """,  # noqa: S608 - a constant
            person=person,
            **self._worker.scope,
        )
        return tuple(map(Intention.from_row, rows))

    async def due(self, id_: str) -> Intention | None:
        """Return the intention of a due event, in any state, or None if it is gone. Raises StoreError."""
        row = await self._database.one(
            "SELECT * FROM intentions WHERE id = :id AND soul = :soul AND workspace = :workspace",
            id=id_,
            **self._worker.scope,
        )
        return Intention.from_row(row) if row else None

    async def allowed(self, person: str) -> tuple[tuple[str, int], ...]:
        """Return the tools that a person allowed once, with the time (ms), the newest first. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT tool, decided_ms FROM approvals WHERE soul = :soul AND workspace = :workspace
              AND decided_by = :person AND state IN ('approved', 'using', 'used', 'unknown') AND tool <> :forgetting
            ORDER BY decided_ms DESC LIMIT 10
            """,
            person=person,
            forgetting=Command.FORGET_ME,
            **self._worker.scope,
        )
        return tuple((row["tool"], row["decided_ms"] or 0) for row in rows)

    async def house(self, since_ms: int) -> House:
        """Return the state of memory.db now, with the model calls since a time (ms). Raises StoreError."""
        row = await self._database.one(
            """
            SELECT (SELECT count(*) FROM presence WHERE seen_ms >= :fresh) AS daemons,
              (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed')) AS waiting,
              (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')) AS to_send,
              (SELECT count(*) FROM inbox WHERE state = 'dead') + (SELECT count(*) FROM outbox WHERE state = 'dead')
                + (SELECT count(*) FROM jobs WHERE state = 'dead')
                + (SELECT count(*) FROM intentions WHERE state = 'dead') AS dead,
              count(*) AS calls, coalesce(sum(outcome <> 'ok'), 0) AS failed,
              coalesce(sum(cost_usd), 0.0) AS cost_usd
            FROM llm_calls WHERE started_ms >= :since
            """,
            fresh=self._clock.now_ms() - SILENT_MS,
            since=since_ms,
        )
        assert row is not None  # an aggregate always has a row
        return read_row(House, row)

    async def alarms(self) -> tuple[str, ...]:
        """Return the names of the open alarms, the oldest first. Raises StoreError."""
        return tuple(one.name for one in await open_alarms(self._database))

    async def spent(self, day: str) -> SpentToday:
        return await spent_today(self._database, self._worker.soul, day)

    async def costs(self, by: str, since_ms: int) -> tuple[CostSum, ...]:
        return await sums_of_costs(self._database, by, since_ms)

    async def days(self, days: Sequence[Day]) -> tuple[DayOfUse, ...]:
        return await days_of_use(self._database, days)

    async def newest_reply(self, person: str, channel: str) -> str:
        """Return the id of the soul's newest reply to a person in a room, in any thread, or ''. Raises StoreError."""
        row = await self._database.one(
            """
            SELECT t.seq FROM turns t JOIN conversations c ON c.id = t.conversation
            WHERE c.soul = :soul AND c.workspace = :workspace AND c.channel = :channel
              AND t.speaker = 'soul' AND t.kind <> 'apology'
              AND EXISTS (SELECT 1 FROM turns p WHERE p.conversation = t.conversation AND p.ts = t.ts
                          AND p.speaker = 'person' AND p.author = :person)
            ORDER BY t.seq DESC LIMIT 1
            """,
            person=person,
            channel=channel,
            **self._worker.scope,
        )
        return turn_id(Speaks.SOUL, row["seq"]) if row else ""
