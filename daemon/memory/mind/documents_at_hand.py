"""The documents of a mind as a message finds them: what its readers may know, of people only what is of those there."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.mind.documents import HeldPart, MindDocument, parts_before, rows_of_soul
from daemon.memory.mind.identity import NO_TEXT, OwnText, own_text
from daemon.memory.mind.present import who_spoke


@dataclass(frozen=True, slots=True)
class Documents:
    """What is in force: of self models and world models the workspace's, then their own; the rows of the values."""

    held: tuple[HeldPart, ...] = ()
    values: tuple[HeldPart, ...] = ()
    own: OwnText = NO_TEXT

    @property
    def thoughts(self) -> tuple[str, ...]:
        """The ids of the thoughts from which all of it came."""
        return (*(one.thought for one in (*self.held, *self.values)), *self.own.thoughts)


NO_DOCUMENTS: Final = Documents()


async def documents_at_hand(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, speaking: Collection[str], now: int
) -> Documents:
    """The documents in a conversation; `speaking` are there beside those who spoke lately.

    Of values and its own text nothing is shown before outsiders that the soul put into words.
    """
    there = (await who_spoke(transaction, conversation, now)).ids.union(speaking)
    held = await parts_before(transaction, conversation, readers, now)
    here = tuple(one for one in held if not one.person or one.person in there)
    values = await rows_of_soul(transaction, conversation.soul, MindDocument.VALUES)
    if not readers.members_only:
        return Documents(here, tuple(one for one in values if one.act == "deactivate"))
    own = own_text(await rows_of_soul(transaction, conversation.soul, MindDocument.IDENTITY))
    return Documents(here, values, own)
