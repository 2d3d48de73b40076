"""What a person decides of what a soul believes of them."""

from dataclasses import dataclass

from daemon.memory.database import Transaction
from daemon.memory.people.beliefs import forget_belief
from daemon.memory.queues.memory_acts import Asker


@dataclass(frozen=True, slots=True)
class BeliefForgotten:
    """A belief is forgotten, and the thoughts that hold it."""

    belief: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        await forget_belief(transaction, asker.scope, asker.person, self.belief)
