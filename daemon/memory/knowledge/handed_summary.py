"""What a soul knows of a thread that it is handed: the summary, with the newest turns as lines below it.

A soul that had the thread before keeps its own summary and its own turns: what was said in between is added, so that
nothing takes the place of something richer.
"""

from collections.abc import Collection
from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.perception import ConversationKey
from daemon.core.text import one_line, shortened
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.handed import handed_among
from daemon.memory.records import as_json

_TURNS: Final = 24  # the newest ones
_LONGEST_TURN: Final = 300
_LONGEST_SUMMARY: Final = 8_000
_MEANWHILE: Final = "Said here while another soul answered:"


async def give_summary(
    transaction: Transaction, where: ConversationKey, to: ConversationKey, audience: str, now: int
) -> None:
    """Give the soul `to` what is known in `where`; `audience` may know it."""
    own = await transaction.one("SELECT max(seq) AS newest FROM turns WHERE conversation = :id", id=str(to))
    if own is None or own["newest"] is None:
        await _give_all(transaction, where, to, audience, now)
    else:
        await _add_what_came_between(transaction, where, to, audience, own["newest"], now)


async def _give_all(
    transaction: Transaction, where: ConversationKey, to: ConversationKey, audience: str, now: int
) -> None:
    """It covers all turns so far: who deletes one deletes it."""
    known = await _known(transaction, where)
    turns = await _turns(transaction, [str(where)], known["summarized_to"] if known else 0, _TURNS)
    newest = await transaction.one("SELECT max(seq) AS seq FROM turns WHERE conversation = :id", id=str(where))
    if newest is None or newest["seq"] is None:
        return
    lines = [known["summary"] if known else "", *map(_line, turns)]
    summary = "\n".join(filter(None, lines))[-_LONGEST_SUMMARY:]
    await _store(transaction, to, audience, now, summary=summary, summarized_to=newest["seq"])


async def _add_what_came_between(  # noqa: PLR0917 - one of each
    transaction: Transaction, where: ConversationKey, to: ConversationKey, audience: str, after: int, now: int
) -> None:
    """Add what others said since turn `after`. It covers no more own turns than before; see `forget_summary`.

    A job that is folding own turns just now would not know of it: it no longer finds the summary from which it began.
    """
    others = await handed_among(transaction, str(to)) - {str(to)}
    turns = await _turns(transaction, others, after, _TURNS + 1)
    if not turns:
        return
    known, theirs = await _known(transaction, to), await _known(transaction, where)
    kept = (known["summary"] if known else "")[-_LONGEST_SUMMARY:]
    folds = await transaction.one(  # the longer condition is that of the index
        "SELECT 1 FROM jobs WHERE conversation = :id AND state IN ('ready', 'running') AND state = 'running'",
        id=str(to),
    )
    version = known["version"] if known else 0
    older = (theirs["summary"] if theirs else "")[-_LONGEST_SUMMARY // 2 :] if len(turns) > _TURNS else ""
    summary = "\n".join(filter(None, (kept, _MEANWHILE, older, *map(_line, turns[-_TURNS:]))))
    covered = -(version + 1) if folds else known["summarized_to"] if known else 0
    await _store(transaction, to, audience, now, summary=summary, summarized_to=covered)


async def _store(
    transaction: Transaction, to: ConversationKey, audience: str, now: int, *, summary: str, summarized_to: int
) -> None:
    """Store the summary of a conversation; one that was there is replaced."""
    await transaction.insert(
        "working_memory",
        """
        ON CONFLICT (conversation) DO UPDATE SET version = working_memory.version + 1, audience = excluded.audience,
          summary = excluded.summary, summarized_to = excluded.summarized_to, updated_ms = excluded.updated_ms
        """,
        conversation=str(to),
        version=1,
        audience=audience,
        summary=summary,
        summarized_to=summarized_to,
        updated_ms=now,
    )


async def _known(transaction: Transaction, conversation: ConversationKey) -> sqlite3.Row | None:
    return await transaction.one("SELECT * FROM working_memory WHERE conversation = :id", id=str(conversation))


async def _turns(transaction: Transaction, conversations: Collection[str], after: int, most: int) -> list[sqlite3.Row]:
    """The newest turns there after turn `after`, oldest first, without what is not to be remembered."""
    rows = await transaction.rows(
        """
        SELECT name, body FROM turns WHERE conversation IN (SELECT value FROM json_each(:conversations))
          AND seq > :after AND passing = 0 AND kind <> 'apology' ORDER BY seq DESC LIMIT :most
        """,
        conversations=as_json(sorted(conversations)),
        after=after,
        most=most,
    )
    return rows[::-1]


def _line(turn: sqlite3.Row) -> str:
    return f"{clean_name(turn['name'])}: {shortened(one_line(turn['body']), _LONGEST_TURN)}"
