"""The arm of what a soul promised: it promises all that it is shown, and says it where its time has come."""

from daemon.core.initiative import MOST_PROMISED, NEVER_QUIET
from daemon.core.perception import ConversationKey
from daemon.core.sentences import Words
from daemon.memory.database import Transaction
from daemon.memory.mind.goal_changes import GoalChange, GoalChanges, close_goal
from daemon.memory.mind.goals import goals_at_hand
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.promises import OpenPromise, PromisesTold, promises_due
from daemon.memory.stream.keeping import CycleThoughts, ThoughtPlace, store_thoughts
from daemon.memory.stream.new_thought import NewThought
from daemon.mind.promising import said_for_it
from tests.leaks.arms import Arm, AskedThere, SaidThere


class Promises(Arm):
    """Each remark is promised to who said it, with all that the soul means to do and may say there."""

    recall = 0.0  # three are open at most for a person: which remarks are among them is chance

    async def keep(self, said: SaidThere) -> None:
        """Promise it, in place of the person's oldest promise where no more may be open."""
        clock, where = self.home.clock, said.where

        async def unit(transaction: Transaction) -> None:
            now = clock.now_ms()
            known = await goals_at_hand(transaction, where, said.readers, now)
            words = "\n".join(
                dict.fromkeys((said.remark.text, *(line for one in known for line in one.goal.split("\n"))))
            )
            promised = GoalChange("add", words, due_ms=now + 1, promised=True)
            await _make_room(transaction, where, said.person, now)
            thought = NewThought(
                *("words", "engaged", "", "{}"),
                saw_thoughts=tuple(one.source for one in known),
                parts=(GoalChanges((promised,)),),
            )
            place = ThoughtPlace(where, said.readers.audience, f"thought {said.seq}", said.person)
            await store_thoughts(transaction, CycleThoughts((thought,), said.readers), place, (said.seq,), now)
            asker = Asker(said.person, where, said.readers.audience, said.perception.ts)
            await PromisesTold(f"post {said.seq}").perform(transaction, asker, now)

        await self.home.database.write(unit)

    async def shown(self, asked: AskedThere) -> str:
        """What is said in that room once its time has come, in the words of the goals.

        What those who read may not think of any more the house alone names, in the words that it posted there before.
        """

        async def unit(transaction: Transaction) -> str:
            rows = await transaction.rows(
                "SELECT DISTINCT conversation FROM goals WHERE follow_up = 1 AND state = 'open' AND said_in <> ''"
            )
            there = [ConversationKey.parse(row["conversation"]) for row in rows]
            return "\n".join([await self._said(transaction, one, asked) for one in there if _is_same_room(one, asked)])

        return await self.home.database.read(unit)

    async def reached(self, asked: AskedThere) -> str:
        """The same: no question leads to more."""
        return ""

    async def _said(self, transaction: Transaction, where: ConversationKey, asked: AskedThere) -> str:
        later = self.home.clock.now_ms() + 2
        due = await promises_due(transaction, str(where), later, NEVER_QUIET)
        known = await goals_at_hand(transaction, where, asked.readers, later)
        owed = [OpenPromise(one.id, one.goal, one.due_ms) for one in known if due is not None and one.id in due.goals]
        return said_for_it(Words(), owed) + "".join(one.goal for one in owed)


async def _make_room(transaction: Transaction, where: ConversationKey, person: str, now: int) -> None:
    rows = await transaction.rows(
        "SELECT id FROM goals WHERE soul = :soul AND behalf = :person AND state = 'open' ORDER BY seq",
        soul=where.soul,
        person=person,
    )
    for row in rows[: max(0, len(rows) - MOST_PROMISED + 1)]:
        await close_goal(transaction, where.soul, row["id"], "abandoned", why="", changed_by="", now=now)


def _is_same_room(where: ConversationKey, asked: AskedThere) -> bool:
    return where.channel == asked.where.channel
