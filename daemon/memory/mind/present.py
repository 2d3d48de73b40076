"""Who is there when something is thought: people who lately spoke in that conversation."""

from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.timetable import MINUTE_MS
from daemon.core.words import words_of
from daemon.memory.database import Transaction
from daemon.memory.thought_parts import StoredThought

_LATELY_MS: Final = 24 * 60 * MINUTE_MS
_LAST_TURNS: Final = 50
_MOST_PEOPLE: Final = 5_000


@dataclass(frozen=True, slots=True)
class PresentPerson:
    """A person by the platform's id, and the name under which they spoke."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Present:
    """The people who are there."""

    people: tuple[PresentPerson, ...]

    @property
    def ids(self) -> frozenset[str]:
        """The platform's ids."""
        return frozenset(one.id for one in self.people)

    def called(self, name: str) -> PresentPerson | None:
        """The one of that name, or of whose name it is a part; None for nobody, and where it may mean several."""
        words = set(words_of(name))
        exactly = [one for one in self.people if set(words_of(one.id)) == words or set(words_of(one.name)) == words]
        found = exactly or [one for one in self.people if words and words <= set(words_of(one.name))]
        return found[0] if len(found) == 1 else None


async def present_there(transaction: Transaction, thought: StoredThought) -> Present:
    """Who is present at a thought whose cycle's turns are stored."""
    return await who_spoke(transaction, thought.conversation, thought.now)


async def who_spoke(transaction: Transaction, conversation: ConversationKey, now: int) -> Present:
    """The people who spoke in a conversation within a day, by its last turns."""
    rows = await transaction.rows(
        """
        SELECT author, name, max(seq) FROM (
          SELECT author, name, seq, speaker, said_ms FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT :last)
        WHERE speaker = 'person' AND said_ms > :since GROUP BY author ORDER BY author
        """,
        id=str(conversation),
        last=_LAST_TURNS,
        since=now - _LATELY_MS,
    )
    return Present(tuple(PresentPerson(row["author"], row["name"]) for row in rows))


async def is_known(transaction: Transaction, thought: StoredThought, name: str) -> bool:
    """Whether this is the name, or the platform's id, of a person whom the thought's audience may know of."""
    called = set(words_of(name))
    if not called:
        return False
    rows = await transaction.rows(
        """
        SELECT DISTINCT name, person FROM user_models WHERE soul = :soul AND workspace = :workspace
          AND audience IN (:everybody, :audience) LIMIT :most
        """,
        soul=thought.conversation.soul,
        workspace=thought.conversation.workspace,
        everybody=f"workspace:{thought.conversation.workspace}",
        audience=str(thought.audience),
        most=_MOST_PEOPLE,
    )
    return any(called <= set(words_of(row["name"])) or called == set(words_of(row["person"])) for row in rows)
