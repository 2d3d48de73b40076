"""A person has a goal given up that was made for them."""

from dataclasses import dataclass

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.mind.goal_changes import close_goal
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.senses.moments import DROPPED, tell_of_goal
from daemon.memory.thought_readability import came_before


@dataclass(frozen=True, slots=True)
class NamedGoal:
    """A goal that some readers may know of: the person (platform id) it was made for, and whether it is open."""

    behalf: str
    is_open: bool


async def goal_known(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, person: str, name: str
) -> NamedGoal | None:
    """The goal of this id; None where there is none that these readers may know of.

    What was promised to the person (platform id) who names it they have read in that conversation, whoever reads there
    by now.
    """
    row = await transaction.one(
        "SELECT * FROM goals WHERE soul = :soul AND id = :id AND workspace = :workspace",
        soul=conversation.soul,
        id=name,
        workspace=conversation.workspace,
    )
    if row is None:
        return None
    theirs = row["said_in"] and row["behalf"] == person and row["conversation"] == str(conversation)
    if not (theirs or came_before(row, conversation, readers)):
        return None
    return NamedGoal(row["behalf"], is_open=row["state"] == "open")


@dataclass(frozen=True, slots=True)
class GoalDropped:
    """The person for whom a goal was made has it given up; for anybody else it stays as it is."""

    name: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        soul = asker.conversation.soul
        theirs = await transaction.one(
            """
            SELECT conversation FROM goals
            WHERE soul = :soul AND id = :id AND workspace = :workspace AND behalf = :person AND state = 'open'
            """,
            soul=soul,
            id=self.name,
            workspace=asker.conversation.workspace,
            person=asker.person,
        )
        if theirs is not None:
            await close_goal(transaction, soul, self.name, "abandoned", why="", changed_by="", now=now)
            await tell_of_goal(transaction, theirs["conversation"], self.name, DROPPED, now)
