"""The arms of a mind: a soul that writes all that it is shown into its thoughts, documents, goals, promises and notes.

Each tries what is derived: a remark with everything of its kind that the readers were shown before.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping

from daemon.core.expectations import Check
from daemon.core.initiative import MOST_PROMISED, NEVER_QUIET
from daemon.core.perception import ConversationKey, Readers
from daemon.core.sentences import Words
from daemon.core.timeframes import Timeframe
from daemon.memory.database import Transaction
from daemon.memory.expectations.expected import expected_at_hand
from daemon.memory.expectations.settling import NewPrediction, PredictionsMade
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.mind.allowing import NotedInThought
from daemon.memory.mind.goal_changes import MOST_OPEN, GoalChange, GoalChanges, close_goal, goals_at_hand
from daemon.memory.mind.listing import Documents, documents_at_hand
from daemon.memory.mind.self_model import SelfModelPatch, ValueChange, ValuesPatch
from daemon.memory.mind.world_model import WorldModelPatch
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.promises import OpenPromise, PromisesTold, promises_due
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.retrieval.lanes import Floor
from daemon.memory.stream.keeping import CycleThoughts, NewThought, ThoughtPlace, store_thoughts
from daemon.memory.stream.reading import last_thoughts
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.motor import fallback_text
from tests.leaks.arms import Arm, AskedThere, Home, SaidThere

_ALL = 1_000  # thoughts, which is more than are looked at
_NEVER = 10**15
_Held = Mapping[str, tuple[str, str]]  # by id: the words, and the thought that wrote them


class InMind(Arm):
    """What stands in the next prompt there is all: no question leads to more."""

    recall = 0.0  # few are kept at once: which remarks are among them is chance

    async def keep(self, said: SaidThere) -> None:
        await self.home.database.write(lambda transaction: self.think(transaction, said))

    async def shown(self, asked: AskedThere) -> str:
        return await self.home.database.read(lambda transaction: self.in_prompt(transaction, asked))

    async def reached(self, asked: AskedThere) -> str:
        return ""

    @abstractmethod
    async def think(self, transaction: Transaction, said: SaidThere) -> None:
        """Write the remark down with all that is shown there."""

    @abstractmethod
    async def in_prompt(self, transaction: Transaction, asked: AskedThere) -> str:
        """What is shown there."""

    async def store(
        self,
        transaction: Transaction,
        said: SaidThere,
        saw: Iterable[str],
        output: str = "{}",
        *parts: ThoughtPart,
        person: str = "U1",
    ) -> None:
        thought = NewThought("words", "engaged", "", output, saw_thoughts=tuple(saw), parts=parts)
        place = ThoughtPlace(said.where, said.readers.audience, f"thought {said.seq}", person)
        cycle = CycleThoughts((thought,), said.readers)
        await store_thoughts(transaction, cycle, place, (said.seq,), self.home.clock.now_ms())


class Thoughts(InMind):
    """Each remark becomes a thought where it was said, with every thought that may be thought again there."""

    async def think(self, transaction: Transaction, said: SaidThere) -> None:
        last = await last_thoughts(transaction, said.where, said.readers, _ALL)
        output = "\n".join((said.remark.text, *(one.output for one in last.recent)))
        await self.store(transaction, said, last.ids, output, person="")

    async def in_prompt(self, transaction: Transaction, asked: AskedThere) -> str:
        found = await last_thoughts(transaction, asked.where, asked.readers, _ALL)
        own = (found.previous.output,) if found.previous else ()
        return "\n".join((*own, *(one.output for one in found.recent)))


class HeldInMind(InMind):
    """Each remark is held of the soul itself, of its world and as a value, with all that was held there before."""

    async def think(self, transaction: Transaction, said: SaidThere) -> None:
        held = await self._held(transaction, said.where, said.readers)
        words = _with(said, _words(held))
        parts = (
            SelfModelPatch(words, words, words, words),
            WorldModelPatch({f"matter {said.seq % 7}": {"state": words}, "environment": {"context": words}}),
            ValuesPatch((ValueChange("adopt", f"value {said.seq % 5}", words, words),)),
        )
        await self.store(transaction, said, held.thoughts, "{}", *parts)

    async def in_prompt(self, transaction: Transaction, asked: AskedThere) -> str:
        return _words(await self._held(transaction, asked.where, asked.readers))

    async def _held(self, transaction: Transaction, where: ConversationKey, readers: Readers) -> Documents:
        return await documents_at_hand(transaction, where, readers, (), self.home.clock.now_ms())


class Goals(InMind):
    """Each remark is something that the soul means to do, with all that it means to do and may say there."""

    async def think(self, transaction: Transaction, said: SaidThere) -> None:
        held = await self.held(transaction, said.where, said.readers)
        part = self.part(_with(said, _joined(held)), said.seq, list(held))
        await self.store(transaction, said, (thought for _, thought in held.values()), "{}", part)

    async def in_prompt(self, transaction: Transaction, asked: AskedThere) -> str:
        return _joined(await self.held(transaction, asked.where, asked.readers))

    def part(self, words: str, number: int, known: list[str]) -> ThoughtPart:
        """A goal with these words; where no more may be open, the first of those known here is let go."""
        gone = [GoalChange("abandon", id=name) for name in known[: max(0, len(known) - MOST_OPEN // 2)]]
        return GoalChanges((*gone, GoalChange("add", words)))

    async def held(self, transaction: Transaction, where: ConversationKey, readers: Readers) -> _Held:
        """Those of what is open that these readers may be shown."""
        found = await goals_at_hand(transaction, where, readers, self.home.clock.now_ms())
        return {one.id: (one.goal, one.source) for one in found}


class Expectations(Goals):
    def part(self, words: str, number: int, known: list[str]) -> ThoughtPart:
        """Somebody writes a word that nobody writes."""
        check = Check("mention", words=(f"zq{number}",))
        return PredictionsMade((NewPrediction(words, 0.5, "soon", Timeframe(_NEVER), check),))

    async def held(self, transaction: Transaction, where: ConversationKey, readers: Readers) -> _Held:
        found = await expected_at_hand(transaction, where, readers)
        return {one.id: (one.what, one.thought) for one in found.open}


class Promises(Goals):
    """Each remark is promised to who said it, in place of their oldest promise where no more may be open."""

    async def think(self, transaction: Transaction, said: SaidThere) -> None:
        now, where = self.home.clock.now_ms(), said.where
        held = await self.held(transaction, where, said.readers)
        promised = GoalChange("add", _with(said, _joined(held)), due_ms=now + 1, promised=True)
        await _make_room(transaction, where, said.person, now)
        saw = (thought for _, thought in held.values())
        await self.store(transaction, said, saw, "{}", GoalChanges((promised,)), person=said.person)
        asker = Asker(said.person, where, said.readers.audience, said.perception.ts)
        await PromisesTold(f"post {said.seq}").perform(transaction, asker, now)

    async def in_prompt(self, transaction: Transaction, asked: AskedThere) -> str:
        """What is said in that room once its time has come, in the words of the goals.

        What those who read may not think of any more the house alone names, in the words that it posted there before.
        """
        rows = await transaction.rows(
            "SELECT DISTINCT conversation FROM goals WHERE follow_up = 1 AND state = 'open' AND said_in <> ''"
        )
        there = [ConversationKey.parse(row["conversation"]) for row in rows]
        same = [one for one in there if one.channel == asked.where.channel]
        return "\n".join([await self._said(transaction, one, asked) for one in same])

    async def _said(self, transaction: Transaction, where: ConversationKey, asked: AskedThere) -> str:
        later = self.home.clock.now_ms() + 2
        due = await promises_due(transaction, str(where), later, NEVER_QUIET)
        known = await goals_at_hand(transaction, where, asked.readers, later)
        owed = [OpenPromise(one.id, one.goal, one.due_ms) for one in known if due is not None and one.id in due.goals]
        return fallback_text(Words(), owed) + "".join(one.goal for one in owed)


class NotedAlone(Arm):
    """After each remark the soul notes, without a word, all that it could know there by then, and journals it."""

    recall = 0.25  # what it noted before fewer people is lost once others read there, as what rests on that is

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._episodes = Episodes(home.database, home.clock, home.worker)
        self._known = KnownOfPerson(home.database, home.clock, home.worker)

    async def keep(self, said: SaidThere) -> None:
        asked = AskedThere(said.remark.text, said.where, said.readers, said.person)
        known = (await self._surfaced(asked)) | await self._journal(asked)
        words = "; ".join(dict.fromkeys((said.remark.text, *known.values())))
        notes = NotedInThought((Remembered(words), Journaled(words)))
        thought = NewThought("visit_end", "reflecting", "", "{}", saw_thoughts=tuple(known), parts=(notes,))
        place = ThoughtPlace(said.where, said.readers.audience, f"thought {said.seq}", said.person)
        held, now = CycleThoughts((thought,), said.readers, saw_to=said.seq), self.home.clock.now_ms()
        await self.home.database.write(lambda transaction: store_thoughts(transaction, held, place, (), now))

    async def reached(self, asked: AskedThere) -> str:
        """What surfaces, the journal, and what the person who asks is shown of their own."""
        own = [one.text for one in await self._known.facts(asked.person, asked.readers, asked.where)]
        return "\n".join((*(await self._surfaced(asked)).values(), *(await self._journal(asked)).values(), *own))

    async def _surfaced(self, asked: AskedThere) -> dict[str, str]:
        found = await self.surfacing.find(asked.where, asked.readers, [asked.query], _ALL, floor=Floor.NONE, again=True)
        return {one.id: one.text for one in found.hits}

    async def _journal(self, asked: AskedThere) -> dict[str, str]:
        if not asked.readers.members_only:
            return {}
        return {one.id: one.text for one in await self._episodes.journal(asked.where, asked.readers, _ALL)}


def _with(said: SaidThere, before: str) -> str:
    """The words of a remark, and each line of those before it once."""
    return "\n".join(dict.fromkeys((said.remark.text, *before.splitlines())))


def _joined(held: _Held) -> str:
    return "\n".join(words for words, _ in held.values())


def _words(held: Documents) -> str:
    return "\n".join((*(one.words for one in (*held.held, *held.values)), held.own.text, held.own.draft))


async def _make_room(transaction: Transaction, where: ConversationKey, person: str, now: int) -> None:
    rows = await transaction.rows(
        "SELECT id FROM goals WHERE soul = :soul AND behalf = :person AND state = 'open' ORDER BY seq",
        soul=where.soul,
        person=person,
    )
    for row in rows[: max(0, len(rows) - MOST_PROMISED + 1)]:
        await close_goal(transaction, where.soul, row["id"], "abandoned", why="", changed_by="", now=now)
