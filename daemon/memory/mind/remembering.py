"""What a thought does with memory, where it is stored: it is inferred, and never a fact by itself."""

from dataclasses import dataclass
from typing import ClassVar, Final

from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.thought_parts import PartsTaken, StoredThought

MOST_NOTED: Final = 5
"""The most that one thought notes."""


@dataclass(frozen=True, slots=True)
class NotedInThought:
    """What a thought notes or journals; the words of the person whom it answers are its evidence."""

    notes: tuple[Remembered | Journaled, ...]

    field: ClassVar[str] = "memory_ops"

    @property
    def size(self) -> int:
        """See `ThoughtPart`."""
        return len(self.notes)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`."""
        asker = Asker(thought.person, thought.conversation, thought.audience, "", thought.upto)
        done = 0
        for note in self.notes[:MOST_NOTED]:
            done += await note.noted(transaction, asker, thought.now, thought)
        refused = ["private"] * (len(self.notes[:MOST_NOTED]) - done)
        return PartsTaken(done, [*refused, *["too_many"] * len(self.notes[MOST_NOTED:])])


@dataclass(frozen=True, slots=True)
class KnownOutcome:
    """Parts of which it is known by the commit what came of them: they were carried out while the soul thought."""

    field: str
    done: int = 0
    refused: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """See `ThoughtPart`."""
        return self.done + len(self.refused)

    async def take(self, _transaction: Transaction, _thought: StoredThought) -> PartsTaken:
        """See `ThoughtPart.take`."""
        return PartsTaken(self.done, self.refused)
