"""Intentions, goals and questions for permission, as an admin lists and changes them, with audit entries."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey, Place, Readers
from daemon.core.sensing import PERSON
from daemon.core.value import Value
from daemon.memory.admin.queue_admin import newest
from daemon.memory.audit import AuditedChanges, one_write
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.mind.allowing import PartsOf, allow
from daemon.memory.mind.goal_changes import MOST_OPEN, GoalChange, close_goal, has_room, store_goal, the_same_goals
from daemon.memory.mind.listing import goal_named
from daemon.memory.queues.approvals import Approval, close_question
from daemon.memory.queues.intention_rows import IN_MIND, Intention, NewIntention
from daemon.memory.queues.intentions import cancel_intentions, store_intentions
from daemon.memory.queues.stops import is_being_posted
from daemon.memory.records import Row
from daemon.memory.senses.readings import tell_of_goal
from daemon.memory.stream.authority import OF_THE_MIND, settle_proposal
from daemon.memory.thought_parts import StoredThought

INTENTION_STATES = ("waiting", "due", "cancelled", "dead")
APPROVAL_STATES = ("waiting", "approved", "refused", "expired", "using", "used", "failed", "unknown")
_CANDIDATES = 8


class Agenda(AuditedChanges):
    async def conversation(self, name: str) -> ConversationKey:
        return await self._database.read(lambda transaction: find_conversation(transaction, name))

    async def intentions(self, state: str | None, limit: int) -> tuple[Intention, ...]:
        """Return intentions of one state or all, waiting ones by due time first. A thought's come without words."""

        async def unit(transaction: Transaction) -> list[sqlite3.Row]:
            waiting = await transaction.rows(
                "SELECT * FROM intentions WHERE state = 'waiting' ORDER BY due_ms, id LIMIT :limit", limit=limit
            )
            past = [name for name in INTENTION_STATES if name != "waiting" and state in (None, name)]
            if state not in (None, "waiting"):
                waiting = []
            return (waiting + await newest(transaction, "intentions", past, "due_ms", limit))[:limit]

        rows = await self._database.read(unit)
        found = map(Intention.from_row, rows)
        return tuple(replace(one, content="") if one.slot.startswith(IN_MIND) else one for one in found)

    @one_write
    async def schedule(
        self, transaction: Transaction, conversation: ConversationKey, new: NewIntention, most: int
    ) -> Intention:
        """Schedule an intention. An empty `behalf` becomes the user who wrote there last. Raises StoreError."""
        now = self._clock.now_ms()
        room = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=str(conversation))
        assert room is not None  # conversations are never deleted
        refused = await store_intentions(
            transaction,
            conversation=conversation,
            place=Place(room["place"]),
            audience=Audience.parse(room["audience"]),
            intentions=(replace(new, behalf=new.behalf or await last_person(transaction, conversation)),),
            now=now,
            most=most,
            shared_out=False,
        )
        if refused:
            raise StoreError(refused[0], hint="see `soul schedule list`")
        row = await transaction.one(
            "SELECT * FROM intentions WHERE conversation = :id AND slot = :slot AND state = 'waiting'",
            id=str(conversation),
            slot=new.slot,
        )
        assert row is not None  # stored in this very transaction
        await self._record(transaction, "schedule.add", row["id"], f"in {conversation}")
        return Intention.from_row(row)

    @one_write
    async def cancel(self, transaction: Transaction, name: str) -> Intention:
        """Cancel a waiting intention by its id, and return the row before. Raises StoreError if it isn't waiting."""
        now = self._clock.now_ms()
        row = await transaction.one("SELECT * FROM intentions WHERE id = :id", id=name)
        if row is None:
            raise StoreError(f"there is no intention {name}", hint="see `soul schedule list`")
        found = Intention.from_row(row)
        if found.state != "waiting":
            raise StoreError(f"{name} is {found.state} already", hint="nothing to do")
        await cancel_intentions(transaction, ConversationKey.parse(found.conversation), (found.id,), now)
        await self._record(transaction, "schedule.cancel", name)
        return found

    async def approvals(self, state: str | None, limit: int) -> tuple[Approval, ...]:
        """Return the newest questions for permission, of one state or of all."""
        states = (state,) if state else APPROVAL_STATES
        rows = await self._database.read(lambda reading: newest(reading, "approvals", states, "created_ms", limit))
        return tuple(map(Approval.from_row, rows))

    @one_write
    async def refuse(self, transaction: Transaction, name: str) -> Approval:
        """Refuse a waiting question, and return the row before. Raises StoreError if it is decided or being posted."""
        now = self._clock.now_ms()
        row = await transaction.one("SELECT * FROM approvals WHERE id = :id", id=name)
        if row is None:
            raise StoreError(f"there is no question {name}", hint="see `soul approvals list`")
        found = Approval.from_row(row)
        if found.state != "waiting":
            raise StoreError(f"{name} is {found.state} already", hint=_why_no_refusal(found.state))
        if await is_being_posted(transaction, found.id):
            raise StoreError(f"{name} is being posted at this moment", hint="try again in a few seconds")
        if found.tool.startswith(OF_THE_MIND):
            await settle_proposal(transaction, name, "refused", self._actor, now)
        else:
            await close_question(transaction, found, "refused", by=self._actor, now=now)
        await self._record(transaction, "approval.refused", name)
        return found

    @one_write
    async def approve(self, transaction: Transaction, name: str, parts_of: PartsOf) -> tuple[str, Sequence[str]]:
        """Apply a thought's proposal. Return its field and its parts' refusals. Raises StoreError if it is gone."""
        now = self._clock.now_ms()
        row = await transaction.one("SELECT * FROM approvals WHERE id = :id", id=name)
        if row is None:
            raise StoreError(f"there is no proposal {name}", hint="`soul approvals list` shows what waits")
        if not row["tool"].startswith(OF_THE_MIND):
            raise StoreError(f"only those who were asked can approve {name}", hint="they click in Slack")
        if row["state"] != "waiting":
            raise StoreError(f"{name} is {row['state']} already", hint="nothing to do")
        allowed = await allow(transaction, row["arguments"], parts_of, now)
        await settle_proposal(transaction, name, "used", self._actor, now)
        await self._record(transaction, "approval.approved", name)
        return allowed


async def find_conversation(transaction: Transaction, name: str) -> ConversationKey:
    """Return the conversation whose id is `name`, or the only one that ends with it as a whole part, or contains it.

    The id of a DM finds its timeline, although its threads contain the id too. Raises StoreError.
    """
    if not name.strip():
        raise StoreError(
            "there is no conversation without a name", hint="see `soul queue inbox list --json` for their ids"
        )
    pattern = "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in name)
    if await transaction.one("SELECT 1 FROM conversations WHERE id = :name", name=name):
        return ConversationKey.parse(name)
    rows = await transaction.rows(
        """
        SELECT id, '/' || rtrim(id, '/') LIKE '%/' || trim(:pattern, '/') ESCAPE '\\' AS whole
        FROM conversations
        WHERE id LIKE '%' || :pattern || '%' ESCAPE '\\'
        ORDER BY whole DESC, last_ms DESC LIMIT :most
        """,
        pattern=pattern,
        most=_CANDIDATES + 1,
    )
    if not rows:
        raise StoreError(f"there is no conversation {name}", hint="see `soul queue inbox list --json` for their ids")
    clear = len(rows) == 1 or (rows[0]["whole"] and not rows[1]["whole"])
    if not clear:
        ids = ", ".join(row["id"] for row in rows[:_CANDIDATES])
        more = ", …" if len(rows) > _CANDIDATES else ""
        raise StoreError(f"{name} matches several conversations: {ids}{more}", hint="give more of the id")
    return ConversationKey.parse(rows[0]["id"])


async def last_person(transaction: Transaction, conversation: ConversationKey) -> str:
    """Return the user who wrote last in a conversation. Raises StoreError if no user ever wrote there."""
    row = await transaction.one(
        """
        SELECT author FROM inbox WHERE conversation = :id AND state IN ('new', 'claimed') AND modality = 'words'
        ORDER BY received_ms DESC LIMIT 1
        """,
        id=str(conversation),
    ) or await transaction.one(
        "SELECT author FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=str(conversation),
    )
    if row is None:
        raise StoreError(f"no user ever wrote in {conversation}", hint="name the user with --on-behalf USER")
    return str(row["author"])


def _why_no_refusal(state: str) -> str:
    return "the action is running and can't be stopped here" if state == "using" else "nothing to do"


LONGEST: Final = 600
"""The most characters of a goal and of a reason."""


class NewGoal(Value):
    """A goal in words. `due_ms` (UTC) is 0 for no time, `behalf` the platform id of its person."""

    goal: str
    priority: float
    due_ms: int
    behalf: str
    why: str


class AdminsGoals(AuditedChanges):
    @one_write
    async def add(self, transaction: Transaction, conversation: ConversationKey, new: NewGoal) -> Row:
        """Add a goal for all readers of a conversation. Raises StoreError if the daemon's checks forbid it."""
        _require_text("goal", new.goal)
        _require_length("reason", new.why)
        now = self._clock.now_ms()
        room = await transaction.one("SELECT audience FROM conversations WHERE id = :id", id=str(conversation))
        assert room is not None  # conversations are never deleted
        await _require_person(transaction, conversation, new.behalf)
        audience = Audience.parse(room["audience"])
        # the admin writes the goal for all readers there, guests included
        readers = Readers(audience, members_only=False)
        made = StoredThought("", conversation, audience, readers, person=new.behalf, now=now)
        change = GoalChange("add", new.goal.strip(), "", new.priority, new.due_ms, new.why.strip())
        if known := await the_same_goals(transaction, change.goal, made):
            raise StoreError(f"{known[0]['id']} says the same and is open", hint="nothing to do")
        if not await has_room(transaction, conversation, audience, now):
            hint = "close one with `soul mind goals done` or `soul mind goals drop`"
            raise StoreError(f"{MOST_OPEN} goals are open for {audience}, and no more fit", hint=hint)
        name = await store_goal(transaction, change, made)
        await self._record(transaction, "goal.add", f"{conversation.soul} {name}", f"in {conversation}")
        return await goal_named(transaction, conversation.soul, name, now)

    @one_write
    async def close(
        self, transaction: Transaction, soul: str, names: Sequence[str], state: Literal["done", "abandoned"], why: str
    ) -> tuple[Row, ...]:
        """Close open goals, all or none, and return the rows before. Raises StoreError if one isn't open or stale."""
        _require_length("reason", why)
        now = self._clock.now_ms()

        how = "completed by an admin" if state == "done" else "given up by an admin"
        found = {one["id"]: one for one in [await goal_named(transaction, soul, name, now) for name in names]}
        for before in found.values():
            if before["state"] not in ("open", "stale"):
                raise StoreError(f"{before['id']} is {before['state']} already", hint="nothing to do")
        for before in found.values():
            await close_goal(transaction, soul, before["id"], state, why=why.strip(), changed_by="", now=now)
            await tell_of_goal(transaction, before["conversation"], before["id"], how, now)
            await self._record(transaction, f"goal.{state}", f"{soul} {before['id']}")
        return tuple(found.values())


async def _require_person(transaction: Transaction, conversation: ConversationKey, who: str) -> None:
    """Raise StoreError unless the id has Slack's form or wrote there: other platforms have other ids."""
    if not who or re.fullmatch(PERSON, who):
        return
    wrote = "SELECT 1 FROM turns WHERE conversation = :id AND speaker = 'person' AND author = :who LIMIT 1"
    if await transaction.one(wrote, id=str(conversation), who=who) is None:
        raise StoreError(f"no person {who[:40]!r} is known there", hint="name a Slack user id, such as U0123ABC")


def _require_text(what: str, text: str) -> None:
    if not text.strip():
        raise StoreError(f"the {what} is empty", hint="say it in words")
    _require_length(what, text)


def _require_length(what: str, text: str) -> None:
    if len(text) > LONGEST:
        raise StoreError(f"the {what} is longer than {LONGEST} characters", hint="say it in fewer words")
