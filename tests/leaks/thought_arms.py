"""The arms of thoughts: a soul that writes all that it is shown into each of them, and notes it for later."""

from functools import partial

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.mind.remembering import NotedInThought
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.retrieval.lanes import Floor
from daemon.memory.stream.keeping import CycleThoughts, ThoughtPlace, store_thoughts
from daemon.memory.stream.new_thought import NewThought
from daemon.memory.stream.reading import last_thoughts
from tests.leaks.arms import Arm, AskedThere, Home, SaidThere

_ALL = 1_000  # thoughts, which is more than are looked at


class Thoughts(Arm):
    """Each remark becomes a thought where it was said, with every thought that may be thought again there."""

    recall = 0.0  # the stream is short: which remarks are still in it is chance

    async def keep(self, said: SaidThere) -> None:
        async def unit(transaction: Transaction) -> None:
            last = await last_thoughts(transaction, said.where, said.readers, _ALL)
            output = "\n".join((said.remark.text, *(one.output for one in last.recent)))
            thought = NewThought("words", "engaged", "", output, saw_thoughts=last.ids)
            place = ThoughtPlace(said.where, said.readers.audience, f"thought {said.seq}")
            await store_thoughts(
                transaction, CycleThoughts((thought,), said.readers), place, (said.seq,), self.home.clock.now_ms()
            )

        await self.home.database.write(unit)

    async def shown(self, asked: AskedThere) -> str:
        """All thoughts that the next one there may be shown."""
        return await self._last(asked.where, asked.readers)

    async def reached(self, asked: AskedThere) -> str:
        """The same: no question leads to more."""
        return ""

    async def _last(self, where: ConversationKey, readers: Readers) -> str:
        found = await self.home.database.read(partial(last_thoughts, conversation=where, readers=readers, limit=_ALL))
        own = (found.previous.output,) if found.previous else ()
        return "\n".join((*own, *(one.output for one in found.recent)))


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
