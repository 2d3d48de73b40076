"""The people present at a thought (recent speakers of its conversation), and a summary of a soul's mind."""

from collections.abc import Mapping
from typing import Final

from daemon.core.expectations import Sums
from daemon.core.perception import ConversationKey
from daemon.core.tempo import STALE_AFTER_MS
from daemon.core.timetable import MINUTE_MS
from daemon.core.value import Value
from daemon.core.words import words_of
from daemon.memory.database import Transaction
from daemon.memory.expectations.expected import sums_of
from daemon.memory.queues.tick_ends import day_of
from daemon.memory.thought_parts import StoredThought

_LATELY_MS: Final = 24 * 60 * MINUTE_MS
_LAST_TURNS: Final = 50
_MOST_PEOPLE: Final = 5_000


class PresentPerson(Value):
    """A person with their platform id, and the name under which they spoke."""

    id: str
    name: str


class Present(Value):
    people: tuple[PresentPerson, ...]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(one.id for one in self.people)

    def called(self, name: str) -> PresentPerson | None:
        """Return the person with that name, or with that part of a name. None if no or several people match."""
        words = set(words_of(name))
        exactly = [one for one in self.people if set(words_of(one.id)) == words or set(words_of(one.name)) == words]
        found = exactly or [one for one in self.people if words and words <= set(words_of(one.name))]
        return found[0] if len(found) == 1 else None


async def present_there(transaction: Transaction, thought: StoredThought) -> Present:
    """Return the people present at a thought whose cycle's turns are stored."""
    return await who_spoke(transaction, thought.conversation, thought.now)


async def who_spoke(transaction: Transaction, conversation: ConversationKey, now: int) -> Present:
    """Return the people who spoke in a conversation within a day, by its last turns."""
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
    """Return True if this is the name or the platform id of a person whom the thought's audience may know."""
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


class MindSummary(Value):
    """The figures of one soul in all its workspaces. `last_thought_ms` (UTC) is None before the first thought.

    `dropped_percepts` counts today's sensor readings that were dropped because too many waited. `skipped` counts by
    reason how often the soul did not think on its own initiative today (UTC). `ticks_wait`: such a thought is due, now
    or later. `works`: a message waits for an answer, or is being answered.
    """

    last_thought_ms: int | None
    thoughts_today: int
    dropped_percepts: int
    goals_open: int
    predictions_open: int
    foresight: Sums
    skipped: Mapping[str, int]
    ticks_wait: bool
    works: bool


async def mind_summary(transaction: Transaction, soul: str, now_ms: int, since_ms: int) -> MindSummary:
    """Return the figures at a moment. Thoughts count since `since_ms`, and stale goals do not count as open."""
    row = await transaction.one(
        """
        SELECT (SELECT max(at_ms) FROM thoughts WHERE soul = :soul) AS last,
               (SELECT count(*) FROM thoughts WHERE soul = :soul AND at_ms >= :since) AS today,
               (SELECT count(*) FROM readings WHERE soul = :soul AND state = 'dropped' AND at_ms >= :since) AS dropped,
               (SELECT count(*) FROM goals WHERE soul = :soul AND state = 'open'
                  AND max(touched_ms, coalesce(due_ms, 0)) > :fresh) AS goals,
               (SELECT count(*) FROM predictions WHERE soul = :soul AND state = 'open') AS predictions
        """,
        soul=soul,
        since=since_ms,
        fresh=now_ms - STALE_AFTER_MS,
    )
    assert row is not None  # a row without a table
    foresight = await sums_of(transaction, soul)
    skipped = await transaction.rows(
        "SELECT reason, n FROM tick_counts WHERE soul = :soul AND day = :day AND reason <> ''",
        soul=soul,
        day=day_of(now_ms),
    )
    state = await transaction.one(
        """
        SELECT EXISTS (SELECT 1 FROM ticks WHERE soul = :soul AND due_ms IS NOT NULL)
            OR EXISTS (SELECT 1 FROM goals WHERE soul = :soul AND state = 'open' AND due_ms > woken_ms) AS ticks_wait,
          EXISTS (SELECT 1 FROM conversations WHERE soul = :soul AND waiting_ms IS NOT NULL) AS works
        """,
        soul=soul,
    )
    assert state is not None  # a row without a table
    return MindSummary(
        row["last"],
        row["today"],
        row["dropped"],
        row["goals"],
        row["predictions"],
        foresight,
        {one["reason"]: one["n"] for one in skipped},
        bool(state["ticks_wait"]),
        bool(state["works"]),
    )
