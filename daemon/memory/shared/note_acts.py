"""Notes as effects of a cycle: stored in the cycle's own commit, so that a cycle made anew sends each once."""

from dataclasses import dataclass

from daemon.core.notes import NoteBudget, NoteKind
from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.shared.messages import NewNote, last_heard, note_of, store_note


@dataclass(frozen=True, slots=True)
class SentNote:
    """The soul sends a note with the ears of the conversation that it is in; `refused` says why it may not."""

    addressee: str
    words: str
    behalf: str
    hops: int
    budget: NoteBudget
    refused: str = ""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        where = asker.conversation
        note = NewNote(
            where.soul,
            self.addressee,
            where.workspace,
            self.words,
            asker.audience,
            self.hops,
            conversation=str(where),
            behalf=self.behalf,
        )
        await store_note(transaction, note, self.budget, now, self.refused)


@dataclass(frozen=True, slots=True)
class SaidToSoul:
    """What the soul says where it hears another one goes to that one: as its answer, or as a note if it has had one.

    `heard` is the note that was just perceived there.
    """

    heard: str
    words: str
    budget: NoteBudget

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        where = asker.conversation
        heard, other = await note_of(transaction, self.heard), where.thread.partition(":")[0]
        if heard is None:  # forgotten meanwhile
            return
        theirs = heard if heard.sender == other else await last_heard(transaction, where, other)
        if theirs is None:
            return
        asks = theirs.kind is NoteKind.NOTE and theirs.answered_ms is None
        note = NewNote(
            where.soul,
            other,
            where.workspace,
            self.words,
            asker.audience,
            heard.hops + 1,
            conversation=str(where),
            behalf=heard.behalf,
            answered=theirs if asks else None,
        )
        await store_note(transaction, note, self.budget, now)
