"""A person's memories for that person: facts with their evidence, counts of the rest, and an export."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.core.sessions import DOOR
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.knowledge.records.links import Relation
from daemon.memory.knowledge.records.store import select
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE
from daemon.memory.people.standing import Belief, beliefs_about
from daemon.memory.people.unsaying import OWN_FACT, each_once
from daemon.memory.reader_codes import heard_by, record_heard_by
from daemon.memory.records import JSONObject, read_row
from daemon.memory.tables import TABLES
from daemon.memory.worker_store import WorkerStore

SESSIONS_OF_PERSON: Final = "SELECT 'session.' || id AS author FROM keys WHERE person = :person"
"""A SELECT of the author names of a person's sessions, by their keys."""

NAMES_OF_PERSON: Final = f"SELECT :person UNION ALL {SESSIONS_OF_PERSON}"
"""A SELECT of the person and their sessions' author names."""


# A CROSS JOIN keeps its order: one person's rows are few, those of a workspace are not.
TAKES_PART: Final = f"""
    SELECT c.id FROM (SELECT conversation FROM turns WHERE author IN ({NAMES_OF_PERSON}) AND speaker <> 'soul'
                      UNION SELECT conversation FROM inbox WHERE author IN ({NAMES_OF_PERSON})
                      UNION SELECT heard_in FROM shared_messages WHERE behalf = :person AND behalf <> ''
                      UNION SELECT id FROM conversations WHERE workspace = :workspace AND channel = '{DOOR}'
                        AND thread GLOB :person || ':*') p -- a passport brings no keys
    CROSS JOIN conversations c ON c.id = p.conversation WHERE c.workspace = :workspace
    """  # noqa: S608 - constants
PRIVATE: Final = f"{TAKES_PART} AND c.audience LIKE 'dm:%'"
"""A SELECT of the ids of the person's DMs."""


_ORDER: Final = ("role", "work", "preference", "answering", "other")
_MOST_QUOTES: Final = 5


class QuotedWords(Value):
    """A quotation of a person that proves a fact, with its conversation and time (ms)."""

    quote: str
    conversation: ConversationKey
    said_ms: int


class Besides(Value):
    """The counts of a person's memories other than facts.

    `unread` messages wait for processing. `summaries` are of visits with this person alone, and their distillations.
    """

    messages: int
    files: int
    summaries: int
    reminders: int
    zone: str
    unread: int


class LastSaid(Value):
    """A person's last message in a conversation, its time (ms), and True if the soul replied after it.

    `words` are those of the last remembered message. `is_newest`: both are the same message.
    """

    text: str
    at_ms: int
    is_followed: bool
    words: str
    is_newest: bool


class KnownOfPerson(WorkerStore):
    """The memories of a person that one worker's soul has, limited to what the readers of the answer may hear."""

    async def facts(self, person: str, readers: Readers, where: ConversationKey) -> tuple[Fact, ...]:
        """Return the valid facts without repetition, by topic and age. Facts about others come last."""
        heard, values = record_heard_by(readers, where)

        async def unit(transaction: Transaction) -> tuple[Fact, ...]:
            found = await select(
                transaction,
                Fact,
                f"{OWN_FACT} AND k.valid_until_ms IS NULL AND {heard}",
                person=person,
                **values,
                **self._worker.scope,
            )
            order = {one.id: _ORDER.index(one.topic) if one.person else len(_ORDER) for one in found}
            in_order = sorted(found, key=lambda one: (order[one.id], one.valid_from_ms, one.seq))
            return await each_once(transaction, person, in_order)

        return await self._database.read(unit)

    async def beliefs(self, person: str, readers: Readers, where: ConversationKey) -> tuple[Belief, ...]:
        """Return the current beliefs about the person that the readers may hear."""
        return await beliefs_about(self._database, self._worker.scope, person, readers, where, self._clock.now_ms())

    async def fact(self, fact: str, person: str, readers: Readers, where: ConversationKey) -> Fact | None:
        """Return a valid fact of that person by its id, or None."""
        return next((one for one in await self.facts(person, readers, where) if one.id == fact), None)

    async def evidence(self, fact: str, readers: Readers, where: ConversationKey) -> tuple[QuotedWords, ...]:
        """Return the quotations that prove a fact, newest first, as far as the readers may hear them."""
        heard, values = heard_by(readers, where, audience="t.audience", channel="c.channel")
        rows = await self._database.rows(
            f"""
            SELECT l.quote, t.conversation, t.said_ms FROM links l JOIN turns t ON 'TU_' || t.seq = l.target
            JOIN conversations c ON c.id = t.conversation
            WHERE l.origin = :fact AND l.relation = '{Relation.EVIDENCE}' AND l.quote <> '' AND {heard}
            ORDER BY t.seq DESC LIMIT {_MOST_QUOTES}
            """,  # noqa: S608 - constants of this package
            fact=fact,
            **values,
        )
        return tuple(
            QuotedWords(row["quote"], ConversationKey.parse(row["conversation"]), row["said_ms"]) for row in rows
        )

    async def besides(self, person: str, readers: Readers, where: ConversationKey) -> Besides:
        """Count the person's memories other than facts."""
        heard, values = heard_by(readers, where, audience="t.audience", channel="c.channel")
        seen, of_records = record_heard_by(readers, where)
        row = await self._database.one(
            f"""
            SELECT
              (SELECT count(*) FROM turns t JOIN conversations c ON c.id = t.conversation
               WHERE t.author IN ({NAMES_OF_PERSON}) AND t.speaker <> 'soul' AND c.soul = :soul
                 AND c.workspace = :workspace AND {heard}) AS messages,
              (SELECT count(*) FROM records r WHERE r.person = :person AND r.kind = 'sense' AND r.soul = :soul
                 AND r.workspace = :workspace AND {seen}) AS files,
              (SELECT count(*) FROM records r WHERE r.person = :person AND r.kind IN ('episode', 'core', 'sphere')
                 AND r.text <> '' AND r.soul = :soul AND r.workspace = :workspace AND {seen}) AS summaries,
              (SELECT count(*) FROM intentions WHERE behalf = :person AND soul = :soul AND workspace = :workspace
                 AND state = 'waiting' AND slot LIKE 'reminder-%') AS reminders,
              coalesce((SELECT zone FROM person_zones WHERE workspace = :workspace AND person = :person), '') AS zone,
              (SELECT count(*) {FRESH} AND {heard} AND ({TAUGHT} OR EXISTS (
                 SELECT 1 FROM jobs j WHERE j.conversation = c.id AND j.kind = '{LEARNS_OF_PEOPLE}'
                   AND j.state IN ('ready', 'running')))) AS unread
            """,  # noqa: S608 - constants of this package
            person=person,
            **{**values, **of_records},
            **self._worker.scope,
        )
        assert row is not None  # it has no FROM
        return read_row(Besides, row)

    async def shown(self, person: str) -> tuple[tuple[str, ...], str]:
        """Return the facts of the last list that the person was shown, in its order, and the fact asked about last."""
        row = await self._database.one(
            "SELECT facts, newest FROM shown_facts WHERE soul = :soul AND workspace = :workspace AND person = :person",
            person=person,
            **self._worker.scope,
        )
        return (tuple(json.loads(row["facts"])), row["newest"]) if row else ((), "")

    async def last_said(self, person: str, where: ConversationKey) -> LastSaid:
        """Return the person's last answered message in a conversation. Raises StoreError."""
        row = await self._database.one(_LAST_SAID, person=person, id=str(where))
        return read_row(LastSaid, row) if row else LastSaid("", 0, is_followed=False, words="", is_newest=False)

    async def export(self, person: str, readers: Readers, where: ConversationKey) -> JSONObject:
        """Return a person's memories as JSON: all their words, and the rest as far as the readers may hear it."""
        facts = await self.facts(person, readers, where)
        quotes = {one.id: await self.evidence(one.id, readers, where) for one in facts}
        heard, values = heard_by(readers, where, audience="t.audience", channel="c.channel")
        thought, of_thoughts = heard_by(
            readers, where, audience="t.audience", channel="c.channel", thought_before="t.readers"
        )
        known, of_records = record_heard_by(readers, where)
        values |= {**of_thoughts, **of_records, "person": person, "names": json.dumps([person]), **self._worker.scope}
        besides = await self.besides(person, readers, where)
        return {
            "person": person,
            "time_zone": besides.zone,
            "facts": [_plain_fact(one, quotes[one.id]) for one in facts],
            "beliefs": [
                {"about": one.attribute, "text": one.words, "since_ms": one.since_ms, "until_ms": one.until_ms}
                for one in await self.beliefs(person, readers, where)
            ],
            "messages": await self._all(_MESSAGES.format(heard=heard), values),
            "intentions": await self._all(_INTENDED.format(heard=thought), values),
            "goals": await self._all(_GOALS.format(heard=thought), values),
            "expectations": await self._all(_EXPECTED.format(heard=thought), values),
            "records": await self._all(_RECORDS.format(heard=known), values),
            **{name: await self._all(sql, values) for name, sql in _OWN.items()},
        }

    async def _all(self, sql: str, values: Mapping[str, object]) -> Sequence[JSONObject]:
        named = {name: value for name, value in values.items() if f":{name}" in sql}
        rows = await self._database.rows(sql, **named)
        return [{name: row[name] for name in row.keys()} for row in rows]  # noqa: SIM118 - a row is no mapping


_LAST_SAID: Final = """
    SELECT i.body AS text, i.received_ms AS at_ms, coalesce(t.body, '') AS words, coalesce(t.ts = i.ts, 0) AS is_newest,
      EXISTS (SELECT 1 FROM turns s WHERE s.conversation = i.conversation AND s.speaker = 'soul'
        AND s.said_ms > i.received_ms AND s.trace_id IS NOT t.trace_id) AS is_followed
    FROM inbox i LEFT JOIN turns t ON t.seq = (SELECT max(seq) FROM turns
      WHERE conversation = i.conversation AND author = i.author AND speaker = 'person')
    WHERE i.conversation = :id AND i.author = :person AND i.state = 'answered'
    ORDER BY i.received_ms DESC, i.ts DESC LIMIT 1
    """
_OWN: Final = MappingProxyType(
    {
        name: f"SELECT {columns} FROM {table.name} WHERE soul = :soul AND {table.owned} AND {which}"  # noqa: S608 - declared there
        for table in TABLES
        if table.export
        for name, columns, which in (table.export,)
    }
)
_MESSAGES: Final = f"""
    SELECT t.speaker, t.body AS text, t.said_ms, c.channel, c.thread FROM turns t
    JOIN conversations c ON c.id = t.conversation
    WHERE c.soul = :soul AND c.workspace = :workspace AND {{heard}}
      AND ((t.author IN ({NAMES_OF_PERSON}) AND t.speaker <> 'soul') OR (t.speaker = 'soul' AND t.trace_id IN
        (SELECT trace_id FROM turns WHERE author IN ({NAMES_OF_PERSON}) AND speaker <> 'soul')))
    ORDER BY t.seq
    """  # noqa: S608 - a constant
_INTENDED: Final = """
    SELECT i.content AS text, i.due_ms, i.state FROM intentions i JOIN conversations c ON c.id = i.conversation
      JOIN thoughts t ON t.id = substr(i.id, 1, instr(i.id, '-') - 1)
    WHERE i.behalf = :person AND i.soul = :soul AND i.workspace = :workspace AND i.content <> ''
      AND i.slot GLOB 'mind:*' AND {heard} ORDER BY i.due_ms, i.id
    """
_GOALS: Final = f"""
    SELECT t.id, t.goal AS text, CASE t.changed_by WHEN t.thought THEN t.why ELSE '' END AS why, t.state, t.due_ms,
      t.created_ms, t.closed_ms FROM goals t
      JOIN conversations c ON c.id = t.conversation
    WHERE (t.behalf = :person OR t.conversation IN ({PRIVATE})) AND t.soul = :soul AND t.workspace = :workspace
      AND {{heard}} ORDER BY t.seq
    """  # noqa: S608 - a constant; the reason of a later change may be of a narrower talk
_EXPECTED: Final = f"""
    SELECT t.id, t.what AS text, t.timeframe, t.confidence, t.state, t.made_ms, t.due_ms, t.scored_ms FROM predictions t
      JOIN conversations c ON c.id = t.conversation JOIN thoughts h ON h.id = t.thought
    WHERE t.soul = :soul AND t.workspace = :workspace AND t.what <> '' AND {{heard}} AND h.trace_id IN
      (SELECT trace_id FROM turns WHERE author IN ({NAMES_OF_PERSON}) AND speaker <> 'soul')
    ORDER BY t.seq
    """  # noqa: S608 - a constant
_RECORDS: Final = """
    SELECT r.kind, r.text, r.at_ms, r.trust FROM records r
    WHERE r.person = :person AND r.soul = :soul AND r.workspace = :workspace
      AND r.kind NOT IN ('fact', 'journal') AND {heard} ORDER BY r.seq
    """


def _plain_fact(fact: Fact, evidence: Sequence[QuotedWords]) -> JSONObject:
    return {
        "id": fact.id,
        "text": fact.text,
        "group": fact.topic,
        "trust": fact.trust,
        "confidence": fact.confidence,
        "since_ms": fact.valid_from_ms,
        "quotations": [{"text": one.quote, "said_ms": one.said_ms} for one in evidence],
    }


async def show(  # noqa: PLR0917 - the columns of a row
    transaction: Transaction, scope: Mapping[str, str], person: str, facts: Sequence[str], newest: str, now: int
) -> None:
    """Store the list that a person was shown, and the fact asked about last."""
    await transaction.insert(
        "shown_facts",
        """
        ON CONFLICT (soul, workspace, person) DO UPDATE SET facts = excluded.facts, newest = excluded.newest,
          shown_ms = excluded.shown_ms
        """,
        person=person,
        facts=json.dumps(list(facts)),
        newest=newest,
        shown_ms=now,
        **scope,
    )


FRESH: Final = """
    FROM turns t JOIN conversations c ON c.id = t.conversation
    LEFT JOIN looked_through l ON l.conversation = t.conversation AND l.person = t.author
    WHERE t.author = :person AND t.speaker = 'person' AND c.soul = :soul AND c.workspace = :workspace
      AND t.passing = 0 AND t.seq > coalesce(l.up_to, 0)
    """
"""SQL after FROM: a person's turns `t` that were not processed yet, with their conversations `c`."""

TAUGHT: Final = """
    EXISTS (SELECT 1 FROM turns s WHERE s.trace_id = t.trace_id AND s.conversation = t.conversation
              AND s.speaker = 'soul' AND json_extract(s.thought, '$.user_model_check') = 1)
    """
"""A condition in SQL on a turn `t`: its reply said that something was learned."""
