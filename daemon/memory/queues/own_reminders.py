"""A person's own reminders: which wait, and what the person does to them; those of others stay as they are."""

from dataclasses import dataclass
from typing import Final, Literal

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.recurrence import recurrence_of
from daemon.memory.database import Transaction
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.intention_rows import FOR_PEOPLE, NewIntention
from daemon.memory.queues.intentions import store_intentions
from daemon.memory.queues.memory_acts import Asker

Pause = Literal["not_in_channel", "archived", "owner_left"]
"""Why what repeats falls due no more for now: the soul or its person is not in the room, or it is archived."""

OWN_SLOT: Final = "reminder-"
"""What the slots of people's own reminders begin with."""

_OWN: Final = f"behalf = :person AND workspace = :workspace AND {FOR_PEOPLE}"


@dataclass(frozen=True, slots=True)
class ReminderSet:
    """A reminder is set that comes up in another conversation than the one in which it was asked for."""

    new: NewIntention
    channel: str
    place: Place
    audience: Audience
    most: int

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; a soul has `most` intentions at once, and a person their share of them."""
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


@dataclass(frozen=True, slots=True)
class ReminderCancelled:
    """A person cancels a reminder of theirs."""

    id: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; one that is over stays as it is."""
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


@dataclass(frozen=True, slots=True)
class ReminderMoved:
    """A person moves a reminder of theirs: it is due then, and from then on by the rule, if it has one."""

    id: str
    due_ms: int
    every: str
    zone: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; one that is over stays as it is, and one that is paused goes on."""
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


@dataclass(frozen=True, slots=True)
class ReminderResumed:
    """A person resumes a reminder of theirs that was paused: it is due at its next time."""

    id: str
    zone: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
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


@dataclass(frozen=True, slots=True)
class ReminderPaused:
    """What repeats for a person comes up no more for now, since it can't."""

    id: str
    why: Pause

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        await transaction.run(
            """
            UPDATE intentions SET paused = :why, reason = :why WHERE id = :id AND behalf = :person AND state = 'waiting'
            """,
            why=self.why,
            id=self.id,
            person=asker.person,
        )


@dataclass(frozen=True, slots=True)
class DigestPosted:
    """A digest was posted of what was said up to a ts; the next one begins after it."""

    id: str
    to: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; a digest never goes back."""
        await transaction.run(
            "UPDATE intentions SET covers_to = max(covers_to, :to) WHERE id = :id AND behalf = :person",
            to=self.to,
            id=self.id,
            person=asker.person,
        )
