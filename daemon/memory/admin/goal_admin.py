"""An admin gives a soul a goal, or closes one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.pushed_readings import PERSON
from daemon.memory.audit import AuditedChanges
from daemon.memory.database import Transaction
from daemon.memory.mind.goal_changes import GoalChange, close_goal, has_room, store_goal, the_same_goals
from daemon.memory.mind.goal_listing import ListedGoal, goal_named
from daemon.memory.mind.goals import MOST_OPEN
from daemon.memory.senses.moments import tell_of_goal
from daemon.memory.thought_parts import StoredThought

LONGEST: Final = 600
"""The most characters of a goal and of a reason."""


@dataclass(frozen=True, slots=True)
class NewGoal:
    """A goal in words; `due_ms` (UTC) is 0 where it has no time, `behalf` the person (platform id) whom it is for."""

    goal: str
    priority: float
    due_ms: int
    behalf: str
    why: str


class AdminsGoals(AuditedChanges):
    """Adds and closes goals for the admin `actor`."""

    async def add(self, conversation: ConversationKey, new: NewGoal) -> ListedGoal:
        """Add a goal for all who read a conversation now. Raises StoreError where the house's checks forbid it."""
        _require_text("goal", new.goal)
        _require_length("reason", new.why)
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> ListedGoal:
            room = await transaction.one("SELECT audience FROM conversations WHERE id = :id", id=str(conversation))
            assert room is not None  # conversations are never deleted
            await _require_person(transaction, conversation, new.behalf)
            audience = Audience.parse(room["audience"])
            # the admin writes it for whoever reads there, guests as well
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

        return await self._database.write(unit)

    async def close(
        self, soul: str, names: Sequence[str], state: Literal["done", "abandoned"], why: str
    ) -> tuple[ListedGoal, ...]:
        """Close open goals, all or none; returns them as they were. Raises StoreError where one of them is none."""
        _require_length("reason", why)
        now = self._clock.now_ms()

        how = "completed by an admin" if state == "done" else "given up by an admin"

        async def unit(transaction: Transaction) -> tuple[ListedGoal, ...]:
            found = {one.id: one for one in [await goal_named(transaction, soul, name, now) for name in names]}
            for before in found.values():
                if before.state not in ("open", "stale"):
                    raise StoreError(f"{before.id} is {before.state} already", hint="nothing to do")
            for before in found.values():
                await close_goal(transaction, soul, before.id, state, why=why.strip(), changed_by="", now=now)
                await tell_of_goal(transaction, before.conversation, before.id, how, now)
                await self._record(transaction, f"goal.{state}", f"{soul} {before.id}")
            return tuple(found.values())

        return await self._database.write(unit)


async def _require_person(transaction: Transaction, conversation: ConversationKey, who: str) -> None:
    """Raises StoreError for one who can be no user of Slack, and wrote nothing there: elsewhere ids look otherwise."""
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
