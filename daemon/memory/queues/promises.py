"""Promises: goals of which a person has read that the soul will come back to them."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec.structs import replace

from daemon.core.errors import LostLease
from daemon.core.initiative import MOST_PROMISED, QuietHours
from daemon.core.perception import ConversationKey
from daemon.core.tempo import STALE_AFTER_MS
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.goals_in_force import OWED, PROMISED
from daemon.memory.knowledge.user_models import zone_in
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import as_json
from daemon.memory.senses.readings import DROPPED, tell_of_goal

_LOOK_AGAIN_MS: Final = 60_000  # while the post that speaks of a promise is still on its way


class TooManyPromises(LostLease):
    """A conflict with another promise to the person. Nothing was written, and a new cycle is due."""


class Due(Value):
    """The promises of one conversation to one person whose time has come, by the ids of their goals.

    `later_ms` is the moment (ms, UTC) for which they have to wait, or 0, and `why` the reason. `early` are promises
    before their time, of which a reading tells.
    """

    person: str = ""
    goals: tuple[str, ...] = ()
    later_ms: int = 0
    why: Literal["", "quiet"] = ""
    early: tuple[str, ...] = ()


async def promises_to(transaction: Transaction, workspace: str, soul: str, person: str) -> int:
    """Return how many promises to a person (platform id) are open."""
    row = await transaction.one(
        f"""
        SELECT count(*) AS n FROM goals
        WHERE behalf = :person AND workspace = :workspace AND soul = :soul AND {PROMISED}
        """,  # noqa: S608 - a constant
        person=person,
        workspace=workspace,
        soul=soul,
    )
    return int(row["n"]) if row else 0


async def promise(transaction: Transaction, conversation: ConversationKey, name: str, person: str, due_ms: int) -> None:
    """Make a goal a promise, of which the post of this commit speaks.

    It is open until words about it are posted, its goal is closed, or its person declines it. Raises TooManyPromises.
    """
    soul = conversation.soul
    await transaction.run(
        """
        UPDATE goals SET follow_up = 1, said_in = '', kept_ms = NULL, due_ms = :due WHERE soul = :soul AND id = :name
        """,
        due=due_ms,
        soul=soul,
        name=name,
    )
    if await promises_to(transaction, conversation.workspace, soul, person) > MOST_PROMISED:
        raise TooManyPromises("too much is promised to this person by now", hint="nothing to do: it is thought anew")


class OpenPromise(Value):
    """A promise that a person has read: its goal, empty if the words are gone, and its due time (ms, UTC)."""

    id: str
    goal: str
    due_ms: int


async def promises_open(transaction: Transaction, workspace: str, soul: str, person: str) -> Sequence[OpenPromise]:
    """Return what is owed to a person (platform id), in any conversation, by due time."""
    rows = await transaction.rows(
        f"""
        SELECT id, goal, due_ms FROM goals WHERE behalf = :person AND workspace = :workspace AND soul = :soul AND {OWED}
        ORDER BY due_ms, seq
        """,  # noqa: S608 - a constant
        person=person,
        workspace=workspace,
        soul=soul,
    )
    return [OpenPromise(row["id"], row["goal"], row["due_ms"]) for row in rows]


async def owed_here(transaction: Transaction, conversation: ConversationKey) -> tuple[OpenPromise, ...]:
    """Return what was promised in a conversation, to any person, and is still owed, by due time."""
    rows = await transaction.rows(
        f"SELECT id, goal, due_ms FROM goals WHERE conversation = :conversation AND {OWED} ORDER BY due_ms, seq",  # noqa: S608 - a constant
        conversation=str(conversation),
    )
    return tuple(OpenPromise(row["id"], row["goal"], row["due_ms"]) for row in rows)


async def promises_due(
    transaction: Transaction, conversation: str, now: int, quiet: QuietHours, early: Sequence[str] = ()
) -> Due | None:
    """Return the due promises in a conversation, to one person who may hear of them, or None.

    Those in `early` (ids of goals) may be kept before their time. A promise counts once its post is sent.
    """
    rows = await transaction.rows(
        f"""
        SELECT id, behalf, workspace, due_ms <= :now AS is_due,
          coalesce((SELECT o.state FROM outbox o WHERE o.id = said_in), 'sent') AS posted FROM goals
        WHERE conversation = :conversation AND {OWED}
          AND (due_ms <= :now OR id IN (SELECT value FROM json_each(:early)))
        ORDER BY due_ms, seq
        """,  # noqa: S608 - a constant
        conversation=conversation,
        now=now,
        early=as_json(list(early)),
    )
    waiting = list[Due]()
    for person in dict.fromkeys(row["behalf"] for row in rows):
        theirs = [row for row in rows if row["behalf"] == person]
        posted = [row for row in theirs if row["posted"] == "sent"]
        over = quiet.over(now, await zone_in(transaction, theirs[0]["workspace"], person))
        if posted and over <= now:
            due = tuple(row["id"] for row in posted if row["is_due"])
            return Due(person, due, early=tuple(row["id"] for row in posted if not row["is_due"]))
        waiting.append(
            Due(person, later_ms=over, why="quiet") if posted else Due(person, later_ms=now + _LOOK_AGAIN_MS)
        )
    return min(waiting, key=lambda one: one.later_ms, default=None)


async def is_promised(transaction: Transaction, soul: str, name: str, now: int, *, early: bool = False) -> bool:
    """Return whether words about a goal are owed and due, or with `early` owed at any time."""
    row = await transaction.one(
        f"SELECT 1 FROM goals WHERE soul = :soul AND id = :name AND {OWED} AND (due_ms <= :now OR :early)",  # noqa: S608
        soul=soul,
        name=name,
        now=now,
        early=int(early),
    )
    return row is not None


async def end_unheard(transaction: Transaction, soul: str, name: str, now: int) -> bool:
    """Give up a promise two weeks overdue whose person isn't let in, and return whether it ended."""
    ended = await transaction.rows(
        f"""
        UPDATE goals SET state = 'abandoned', closed_ms = :now, touched_ms = :now, why = '', changed_by = ''
        WHERE soul = :soul AND id = :name AND {OWED} AND due_ms + {STALE_AFTER_MS} <= :now RETURNING goal
        """,  # noqa: S608 - constants
        soul=soul,
        name=name,
        now=now,
    )
    if ended and not ended[0]["goal"]:  # it was kept for its promise alone
        await transaction.run("DELETE FROM goals WHERE soul = :soul AND id = :name", soul=soul, name=name)
    return bool(ended)


_MEANT: Final = """
    conversation IN (:conversation, :timeline) AND CASE :below WHEN '' THEN conversation = :conversation ELSE EXISTS
      (SELECT 1 FROM outbox o WHERE o.id = said_in AND :below IN (o.reply_to, o.platform_ts)) END
    """  # of a goal: it was promised in a conversation, or by a post above the thread that it is


async def promised_here(
    transaction: Transaction, conversation: ConversationKey, person: str, below: str = ""
) -> Sequence[str]:
    """Return the goals promised to a person in a conversation, or in its thread `below`, oldest first."""
    rows = await transaction.rows(
        f"""
        SELECT goal FROM goals WHERE {_MEANT} AND behalf = :person AND {OWED}
        ORDER BY seq
        """,  # noqa: S608 - constants
        below=below,
        conversation=str(conversation),
        timeline=str(replace(conversation, thread="")),
        person=person,
    )
    return [row["goal"] for row in rows]


class PromisesTold(Value):
    """A post, by its key, that speaks of what was promised in the same commit."""

    post: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await transaction.run(
            f"""
            UPDATE goals SET said_in = :post
            WHERE conversation = :conversation AND {PROMISED} AND said_in = '' AND touched_ms = :now
            """,  # noqa: S608 - a constant
            post=self.post,
            conversation=str(asker.conversation),
            now=now,
        )


class PromisesKept(Value):
    """The words posted with the same commit about these goals, or `early`: nothing is owed after it."""

    goals: tuple[str, ...]
    early: bool = False

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await transaction.run(
            """
            UPDATE goals SET kept_ms = :now
            WHERE soul = :soul AND workspace = :workspace AND id IN (SELECT value FROM json_each(:goals))
            """,
            now=now,
            goals=as_json(list(self.goals)),
            **asker.scope,
        )
        await _end_wordless(transaction, asker)


class PromisesDeclined(Value):
    """A person's refusal to hear of what was promised in this conversation, or in its thread `below`."""

    below: str = ""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Give up the goals: no reading and no time brings them up again."""
        declined = await transaction.rows(
            f"""
            UPDATE goals SET state = 'abandoned', closed_ms = :now, touched_ms = :now, why = '', changed_by = ''
            WHERE {_MEANT} AND behalf = :person AND {OWED} RETURNING id, conversation
            """,  # noqa: S608 - constants
            below=self.below,
            now=now,
            conversation=str(asker.conversation),
            timeline=str(replace(asker.conversation, thread="")),
            person=asker.person,
        )
        for row in declined:
            await tell_of_goal(transaction, row["conversation"], row["id"], DROPPED, now)
        await _end_wordless(transaction, asker)


async def _end_wordless(transaction: Transaction, asker: Asker) -> None:
    await transaction.run(
        f"DELETE FROM goals WHERE conversation = :conversation AND goal = '' AND NOT ({OWED})",  # noqa: S608 - a constant
        conversation=str(asker.conversation),
    )
