"""The arm of the stream of thought: a soul that writes all that it is shown into each thought."""

from functools import partial

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.stream.keeping import CycleThoughts, ThoughtPlace, store_thoughts
from daemon.memory.stream.new_thought import NewThought
from daemon.memory.stream.reading import last_thoughts
from tests.leaks.arms import Arm, AskedThere, SaidThere

_ALL = 1_000  # thoughts, which is more than are looked at


class Thoughts(Arm):
    """Each remark becomes a thought where it was said, with every thought that may be thought again there."""

    recall = 0.0  # the stream is short: which remarks are still in it is chance

    async def keep(self, said: SaidThere) -> None:
        """Think of it."""

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
