"""The arm of the documents of a mind: a soul that writes all that it is shown into each of them."""

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.mind.documents_at_hand import Documents, documents_at_hand
from daemon.memory.mind.self_model import SelfModelPatch
from daemon.memory.mind.values import ValueChange, ValuesPatch
from daemon.memory.mind.world_model import WorldModelPatch
from daemon.memory.stream.keeping import CycleThoughts, ThoughtPlace, store_thoughts
from daemon.memory.stream.new_thought import NewThought
from tests.leaks.arms import Arm, AskedThere, SaidThere


class HeldInMind(Arm):
    """Each remark is held of the soul itself, of its world and as a value, with all that was held there before."""

    recall = 0.0  # a document holds the newest of a part

    async def keep(self, said: SaidThere) -> None:
        async def unit(transaction: Transaction) -> None:
            held = await self._held(transaction, said.where, said.readers)
            words = "\n".join(dict.fromkeys((said.remark.text, *_words(held).splitlines())))
            value = ValueChange("adopt", f"value {said.seq % 5}", words, words)
            parts = (
                SelfModelPatch(words, words, words, words),
                WorldModelPatch({f"matter {said.seq % 7}": {"state": words}, "environment": {"context": words}}),
                ValuesPatch((value,)),
            )
            thought = NewThought("words", "engaged", "", "{}", saw_thoughts=held.thoughts, parts=parts)
            place = ThoughtPlace(said.where, said.readers.audience, f"thought {said.seq}", "U1")
            await store_thoughts(
                transaction, CycleThoughts((thought,), said.readers), place, (said.seq,), self.home.clock.now_ms()
            )

        await self.home.database.write(unit)

    async def shown(self, asked: AskedThere) -> str:
        async def unit(transaction: Transaction) -> str:
            return _words(await self._held(transaction, asked.where, asked.readers))

        return await self.home.database.read(unit)

    async def reached(self, asked: AskedThere) -> str:
        """The same: no question leads to more."""
        return ""

    async def _held(self, transaction: Transaction, where: ConversationKey, readers: Readers) -> Documents:
        return await documents_at_hand(transaction, where, readers, (), self.home.clock.now_ms())


def _words(held: Documents) -> str:
    return "\n".join((*(one.words for one in (*held.held, *held.values)), held.own.text, held.own.draft))
