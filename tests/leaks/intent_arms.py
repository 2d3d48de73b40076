"""The arms of what a soul means to do and of what it expects: it writes all that it is shown into each new one."""

from abc import abstractmethod

from daemon.core.expectations import Check
from daemon.core.timeframes import Timeframe
from daemon.memory.database import Transaction
from daemon.memory.expectations.expected import expected_at_hand
from daemon.memory.expectations.predictions import NewPrediction, PredictionsMade
from daemon.memory.mind.goal_changes import GoalChange, GoalChanges
from daemon.memory.mind.goals import MOST_OPEN, goals_at_hand
from daemon.memory.stream.keeping import CycleThoughts, ThoughtPlace, store_thoughts
from daemon.memory.stream.new_thought import NewThought
from daemon.memory.thought_parts import ThoughtPart
from tests.leaks.arms import Arm, AskedThere, SaidThere

_NEVER = 10**15
_Held = dict[str, tuple[str, str]]  # by id: the words, and the thought that wrote them


class _Meant(Arm):
    """Each remark is written down with all that was written down for the same readers before."""

    recall = 0.0  # so many are open at most: which remarks are among them is chance

    async def keep(self, said: SaidThere) -> None:
        async def unit(transaction: Transaction) -> None:
            held = await self.held(transaction, AskedThere("", said.where, said.readers, said.person))
            words = "\n".join(dict.fromkeys((said.remark.text, *_joined(held).splitlines())))
            part = self.part(words, said.seq, list(held))
            thought = NewThought(
                "words", "engaged", "", "{}", saw_thoughts=tuple(thought for _, thought in held.values()), parts=(part,)
            )
            place = ThoughtPlace(said.where, said.readers.audience, f"thought {said.seq}", "U1")
            await store_thoughts(
                transaction, CycleThoughts((thought,), said.readers), place, (said.seq,), self.home.clock.now_ms()
            )

        await self.home.database.write(unit)

    async def shown(self, asked: AskedThere) -> str:
        async def unit(transaction: Transaction) -> str:
            return _joined(await self.held(transaction, asked))

        return await self.home.database.read(unit)

    async def reached(self, asked: AskedThere) -> str:
        """The same: no question leads to more."""
        return ""

    @abstractmethod
    def part(self, words: str, number: int, known: list[str]) -> ThoughtPart:
        """The part of a thought that writes the words down."""

    @abstractmethod
    async def held(self, transaction: Transaction, asked: AskedThere) -> _Held:
        """What these readers may be shown."""


class Goals(_Meant):
    """What the soul means to do."""

    def part(self, words: str, number: int, known: list[str]) -> ThoughtPart:
        """A goal with these words; where no more may be open, the first of those known here is let go."""
        gone = [GoalChange("abandon", id=name) for name in known[: max(0, len(known) - MOST_OPEN // 2)]]
        return GoalChanges((*gone, GoalChange("add", words)))

    async def held(self, transaction: Transaction, asked: AskedThere) -> _Held:
        found = await goals_at_hand(transaction, asked.where, asked.readers, self.home.clock.now_ms())
        return {one.id: (one.goal, one.source) for one in found}


class Expectations(_Meant):
    """What the soul expects."""

    def part(self, words: str, number: int, known: list[str]) -> ThoughtPart:
        check = Check("mention", words=(f"zq{number}",))
        return PredictionsMade((NewPrediction(words, 0.5, "soon", Timeframe(_NEVER), check),))

    async def held(self, transaction: Transaction, asked: AskedThere) -> _Held:
        found = await expected_at_hand(transaction, asked.where, asked.readers)
        return {one.id: (one.what, one.thought) for one in found.open}


def _joined(held: _Held) -> str:
    return "\n".join(words for words, _ in held.values())
