"""A change of a shared context as an effect of a cycle: applied in the cycle's own commit, so that it counts once."""

from collections.abc import Callable
from dataclasses import dataclass

from daemon.core.contexts import ContextRefused, Writer
from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.shared.contexts import Change, read_context, write_context


@dataclass(frozen=True, slots=True)
class SharedChange:
    """What `change` makes of the newest data is written under `key`; what no longer fits is dropped and reported.

    `changed` is called where the data is another than before.

    The soul writes it with the ears of the conversation that it is in: nothing said there reaches readers of the
    context who may not hear it.
    """

    key: str
    change: Change
    dropped: Callable[[ContextRefused], None]
    changed: Callable[[], None] = lambda: None

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        where = asker.conversation
        try:
            found = await read_context(transaction, self.key, where.workspace)
            written = await write_context(
                transaction,
                self.key,
                self.change(found.data),
                found.version,
                writer=Writer(where.soul, asker.audience),
                workspace=where.workspace,
                now=now,
            )
        except ContextRefused as refused:
            self.dropped(refused)
        else:
            if written.version != found.version:
                self.changed()
