"""The turns of a conversation, its summary in working memory, and the handing of that summary to another soul."""

from collections.abc import Collection
from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.perception import ConversationKey
from daemon.core.ports.services import Clock
from daemon.core.text import one_line, shortened
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.turn_index import note_fields
from daemon.memory.records import InboxMessage, Turn, as_json

OF_SOUL: Final = """
  EXISTS (SELECT 1 FROM conversations h WHERE h.id = :soul || substr(c.id, length(c.soul) + 1)
            AND (h.id = c.id OR h.handed_to <> '' OR c.handed_to <> ''))
"""
"""The SQL condition that `:soul` has conversation `c`, or another soul has it by a thread handed to or from `:soul`."""

_AMONG: Final = """
    SELECT o.id FROM conversations c
    CROSS JOIN conversations h ON h.workspace = c.workspace AND h.channel = c.channel AND h.thread = c.thread
      AND h.handed_to <> ''
    CROSS JOIN conversations o ON o.id IN (h.id, h.handed_to || substr(h.id, length(h.soul) + 1))
    WHERE c.id = :id
"""


async def handed_among(transaction: Transaction, conversation: str) -> frozenset[str]:
    """Return the conversation, and those of other souls that had or have its thread."""
    rows = await transaction.rows(_AMONG, id=conversation)
    return frozenset({conversation, *(row["id"] for row in rows)})


THOUGHT_TURNS = 20
"""The newest turns of a conversation whose private thoughts may return in a prompt."""

_WITH = """
    t.conversation = :id AND t.passing <= :passing AND (t.speaker = 'person' AND t.author = :person
      OR t.speaker = 'soul' AND EXISTS (SELECT 1 FROM turns p WHERE p.conversation = :id AND p.ts = t.ts
                                          AND p.speaker = 'person' AND p.author = :person))
    """


class Transcript(Value):
    """A summary of the turns up to `summarized_to`, and the turns after it.

    `summarized_to` is zero or less if the summary covers none of its turns. `aside` holds messages between users in the
    thread since the soul's last reply.
    """

    summary: str
    summarized_to: int
    turns: tuple[Turn, ...]
    aside: tuple[InboxMessage, ...] = ()


class Turns:
    """Reads turns and keeps their summary."""

    def __init__(self, database: Database, clock: Clock, *, passing: bool = True) -> None:
        self._database = database
        self._clock = clock
        self._passing = passing

    def lasting(self) -> "Turns":
        """Return the reader of turns that may be learned from, without those that must not be remembered."""
        return Turns(self._database, self._clock, passing=False)

    async def transcript(self, conversation: ConversationKey, limit: int) -> Transcript:
        """Return the summary and at most `limit` of the newest turns that it does not cover."""

        async def unit(transaction: Transaction) -> Transcript:
            known = await transaction.one(
                "SELECT summary, summarized_to FROM working_memory WHERE conversation = :id", id=str(conversation)
            )
            summarized_to = known["summarized_to"] if known else 0
            rows = await transaction.rows(
                """
                SELECT * FROM turns WHERE conversation = :id AND seq > :after AND passing <= :passing
                ORDER BY seq DESC LIMIT :limit
                """,
                passing=int(self._passing),
                id=str(conversation),
                after=summarized_to,
                limit=limit,
            )
            aside = await transaction.rows(
                """
                SELECT * FROM inbox WHERE conversation = :id AND aside = 1
                  AND CAST(ts AS REAL) > coalesce((SELECT CAST(ts AS REAL) FROM turns WHERE conversation = :id
                                                   ORDER BY seq DESC LIMIT 1), 0)
                ORDER BY ts DESC LIMIT 20
                """,
                id=str(conversation),
            )
            return Transcript(
                summary=known["summary"] if known else "",
                summarized_to=summarized_to,
                turns=tuple(map(Turn.from_row, reversed(rows))),
                aside=tuple(InboxMessage.from_row(row) for row in reversed(aside)),
            )

        return await self._database.read(unit)

    async def speakers(self, conversation: ConversationKey, most: int) -> tuple[str, ...]:
        """Return the platform ids of users in the newest `most` turns of a conversation, newest first.

        Users whose older words still wait to be looked through are included.
        """
        rows = await self._database.rows(
            """
            SELECT author FROM (
              SELECT author, seq FROM (SELECT * FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT :most)
              WHERE speaker = 'person' AND passing <= :passing
              UNION ALL SELECT person, wanted_to FROM looked_through WHERE conversation = :id AND wanted_to > up_to)
            GROUP BY author ORDER BY max(seq) DESC
            """,
            passing=int(self._passing),
            id=str(conversation),
            most=most,
        )
        return tuple(row["author"] for row in rows)

    async def said_with(
        self, conversation: ConversationKey, person: str, after: int, *, fresh: int, before: int
    ) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
        """Return a user's turns in a conversation with the soul's answers, oldest first, whether summarized or not.

        These are the first `fresh` turns after turn `after`, and the last `before` turns up to it.
        """
        values: dict[str, object] = {"id": str(conversation), "person": person, "passing": int(self._passing)}

        async def unit(transaction: Transaction) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
            news = await transaction.rows(
                f"SELECT * FROM turns t WHERE {_WITH} AND seq > :after ORDER BY seq LIMIT :most",  # noqa: S608 - a constant
                after=after,
                most=fresh,
                **values,
            )
            known = await transaction.rows(
                f"SELECT * FROM turns t WHERE {_WITH} AND seq <= :after ORDER BY seq DESC LIMIT :most",  # noqa: S608 - a constant
                after=after,
                most=before,
                **values,
            )
            return tuple(map(Turn.from_row, news)), tuple(map(Turn.from_row, reversed(known)))

        return await self._database.read(unit)

    async def newest_ms(self) -> int:
        """Return when the newest turn was said, in milliseconds since the epoch. 0 before the first."""
        rows = await self._database.rows("SELECT max(said_ms) AS newest FROM turns")
        return rows[0]["newest"] or 0

    async def note_fields(self, *turns: Turn) -> None:
        """Store how turns were heard or stated, if their words are unchanged."""
        now = self._clock.now_ms()
        await self._database.write(lambda transaction: note_fields(transaction, turns, now))

    async def summarize(self, conversation: ConversationKey, summary: str, up_to: int, *, instead_of: int) -> bool:
        """Replace the summary that covers the turns to `instead_of` by one that covers those to `up_to`.

        Return False, and write nothing, if the old summary is outdated. Edits and deletions by users outdate it, too.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            known = await transaction.one(
                "SELECT summarized_to FROM working_memory WHERE conversation = :id", id=str(conversation)
            )
            if (known["summarized_to"] if known else 0) != instead_of:
                return False
            row = await transaction.one(
                """
                INSERT INTO working_memory (conversation, version, audience, summary, summarized_to, updated_ms)
                SELECT c.id, 1, c.audience, :summary, :up_to, :now FROM conversations c
                WHERE c.id = :id AND EXISTS (SELECT 1 FROM turns t WHERE t.conversation = c.id AND t.seq = :up_to)
                ON CONFLICT (conversation) DO UPDATE SET version = working_memory.version + 1,
                  summary = excluded.summary, summarized_to = excluded.summarized_to, updated_ms = excluded.updated_ms
                RETURNING version
                """,
                id=str(conversation),
                summary=summary,
                up_to=up_to,
                now=now,
            )
            return row is not None

        return await self._database.write(unit)


async def forget_summary(transaction: Transaction, conversation: str, seq: int) -> None:
    """Delete a summary that covers turn `seq`, which was edited or deleted, and make a job that writes one fail.

    The same is done for each soul that the thread was handed to, because it may know the turn. `summarized_to` gets a
    new value below zero. The running job then does not find the summary that it began from.
    """
    for one in sorted(await handed_among(transaction, conversation)):
        await transaction.run(
            """
            INSERT INTO working_memory (conversation, version, audience, summary, summarized_to, updated_ms)
            SELECT id, 1, audience, '', -1, last_ms FROM conversations c WHERE id = :id
              AND (EXISTS (SELECT 1 FROM working_memory w WHERE w.conversation = c.id
                             AND (w.summarized_to >= :seq OR (w.summary <> '' AND c.id <> :conversation)))
                OR EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id
                             AND j.state IN ('ready', 'running') AND j.state = 'running'))
            ON CONFLICT (conversation) DO UPDATE SET summary = '', version = working_memory.version + 1,
              summarized_to = -(working_memory.version + 1)
            """,
            id=one,
            conversation=conversation,
            seq=seq,
        )


_TURNS: Final = 24  # the most turns in a summary that is handed on
_LONGEST_TURN: Final = 300
_LONGEST_SUMMARY: Final = 8_000
_MEANWHILE: Final = "Said here while another soul answered:"


async def give_summary(
    transaction: Transaction, where: ConversationKey, to: ConversationKey, audience: str, now: int
) -> None:
    """Give the soul `to` a summary of `where`, which `audience` may know."""
    own = await transaction.one("SELECT max(seq) AS newest FROM turns WHERE conversation = :id", id=str(to))
    if own is None or own["newest"] is None:
        await _give_all(transaction, where, to, audience, now)
    else:
        await _add_what_came_between(transaction, where, to, audience, own["newest"], now)


async def _give_all(
    transaction: Transaction, where: ConversationKey, to: ConversationKey, audience: str, now: int
) -> None:
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
    """Add what others said since turn `after`. The summary then covers the same own turns as before.

    A job that is summarizing own turns would miss the addition, and is made to fail (see `forget_summary`).
    """
    others = await handed_among(transaction, str(to)) - {str(to)}
    turns = await _turns(transaction, others, after, _TURNS + 1)
    if not turns:
        return
    known, theirs = await _known(transaction, to), await _known(transaction, where)
    kept = (known["summary"] if known else "")[-_LONGEST_SUMMARY:]
    folds = await transaction.one(  # the redundant condition lets SQLite use the index
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
