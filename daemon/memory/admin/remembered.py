"""Memories as commands show them: counts, ids, words, audiences and evidence."""

from collections.abc import Sequence
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.perception import BESIDE, Audience, AudienceKind, ConversationKey, Readers
from daemon.core.sessions import DOOR
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import NOTHING_LEFT, Core, Episode, Fact, RecordKind, Sphere
from daemon.memory.knowledge.records.links import Link, Relation, links_from, links_to, turn_seq
from daemon.memory.knowledge.records.store import UnreadableRecord, get_any, select
from daemon.memory.reader_codes import record_heard_by
from daemon.memory.records import Row, as_json


class FactWithEvidence(Value):
    """A fact, the id that superseded it (or ''), and the links to the messages that prove it."""

    fact: Fact
    superseded_by: str
    evidence: tuple[Link, ...]


async def remembered_people(transaction: Transaction, limit: int) -> list[Row]:
    """Return the users with memories, the one who spoke last first, with counts of their messages and records."""
    rows = await transaction.rows(
        """
        SELECT person, sum(messages) AS messages, sum(facts) AS facts, sum(records) AS records, max(last_ms) AS last_ms
        FROM (
          SELECT author AS person, count(*) AS messages, 0 AS facts, 0 AS records, max(said_ms) AS last_ms
          FROM turns WHERE speaker = 'person' GROUP BY author
          UNION ALL
          SELECT r.person, 0, count(f.id), count(*), max(r.at_ms) FROM records r
          LEFT JOIN facts f ON f.id = r.id AND f.valid_until_ms IS NULL
          WHERE r.person <> '' GROUP BY r.person
        ) GROUP BY person ORDER BY last_ms DESC LIMIT :limit
        """,
        limit=limit,
    )
    return [dict(row) for row in rows]


async def facts_about(transaction: Transaction, people: Sequence[str]) -> list[Fact]:
    """Return the valid facts about these people, oldest first."""
    wanted = "r.person IN (SELECT value FROM json_each(:people)) AND k.valid_until_ms IS NULL"
    return await select(transaction, Fact, wanted, people=as_json(list(people)))


async def readers_at(transaction: Transaction, soul: str, person: str, place: str) -> tuple[ConversationKey, Readers]:
    """Return the readers of a reply to a person in a room, as far as memory.db knows.

    A reply asks Slack instead. Readers count as non-members unless memory.db shows that all are full members. Raises
    StoreError for an unknown room, or a person who isn't known there.
    """
    rows = await transaction.rows(
        """
        SELECT * FROM conversations WHERE soul = :soul AND channel = :place AND thread <> :beside ORDER BY last_ms DESC
        """,
        soul=soul,
        place=place,
        beside=BESIDE,
    )
    if not rows:
        raise StoreError(f"{soul} was never in {place}", hint="give the id of a room that the soul was spoken to in")
    where, audience = ConversationKey.parse(rows[0]["id"]), Audience.parse(rows[0]["audience"])
    rooms = await transaction.rows(
        "SELECT DISTINCT room FROM room_members WHERE workspace = :workspace AND person = :person",
        workspace=where.workspace,
        person=person,
    )
    members, spoke = {row["room"] for row in rooms}, await _spoke(transaction, rows, person)
    if audience.kind is not AudienceKind.WORKSPACE and place not in members and not spoke:
        raise StoreError(f"{person} is not known to be in {place}", hint="give a room that this user writes in")
    known = [row["members_only"] for row in rows if row["members_only"] is not None]  # of the newest reply first
    members_only = bool(known and known[0]) and not any(row["outsider_spoke"] for row in rows)
    members_only = members_only and (spoke or await _is_member_elsewhere(transaction, where, person))
    own = audience.kind is AudienceKind.DM and members_only
    apart = where.channel == DOOR
    return where, Readers(audience, members_only, frozenset(members) if own and not apart else frozenset(), apart)


async def facts_for(transaction: Transaction, where: ConversationKey, readers: Readers) -> tuple[FactWithEvidence, ...]:
    """Return the facts that may enter a reply to these readers, oldest first, including ended ones."""
    heard, values = record_heard_by(readers, where)
    found = await select(
        transaction,
        Fact,
        f"r.soul = :soul AND r.workspace = :workspace AND {heard}",
        soul=where.soul,
        workspace=where.workspace,
        **values,
    )
    return tuple([await _with_evidence(transaction, one) for one in found])


async def remembered_thing(transaction: Transaction, name: str) -> Row:
    """Return a record or a turn by its id, with its links in both directions. Raises StoreError."""
    links = (*await links_from(transaction, name), *await links_to(transaction, name))
    if (seq := turn_seq(name)) is not None:
        row = await transaction.one(
            """
            SELECT 'turn' AS kind, c.soul, c.workspace, t.audience, c.channel, t.author AS person, '' AS trust,
                   NULL AS significance, t.said_ms AS at_ms, t.body AS text
            FROM turns t JOIN conversations c ON c.id = t.conversation
            WHERE t.seq = :seq AND (t.speaker = 'soul') = :own
            """,
            seq=seq,
            own=name.startswith("TL"),
        )
        if row is not None:
            return {"id": name, **dict(row), "links": links}
    record = await get_any(transaction, name)
    if isinstance(record, UnreadableRecord):
        raise StoreError(f"{name} can't be read", hint="run `soul memory verify`")
    if record is None:
        raise StoreError(f"there is no memory {name}", hint="`soul memory passport export` writes all with their ids")
    of = ("kind", "soul", "workspace", "audience", "channel", "person", "trust", "significance", "at_ms", "text")
    return {"id": name, **{key: getattr(record, key) for key in of}, "links": links}


async def _spoke(transaction: Transaction, rows: list[sqlite3.Row], person: str) -> bool:
    for row in rows:
        if await transaction.one(
            "SELECT 1 FROM turns WHERE conversation = :id AND author = :person LIMIT 1", id=row["id"], person=person
        ):
            return True
    return False


async def _is_member_elsewhere(transaction: Transaction, where: ConversationKey, person: str) -> bool:
    found = await transaction.one(
        """
        SELECT 1 FROM user_models m JOIN conversations c ON c.soul = m.soul AND c.workspace = m.workspace
          AND c.channel = substr(m.audience, instr(m.audience, ':') + 1)
        WHERE m.soul = :soul AND m.workspace = :workspace AND m.person = :person AND c.members_only = 1 LIMIT 1
        """,
        soul=where.soul,
        workspace=where.workspace,
        person=person,
    )
    return found is not None


async def _with_evidence(transaction: Transaction, fact: Fact) -> FactWithEvidence:
    newer = await links_to(transaction, fact.id, Relation.SUPERSEDES)
    proofs = await links_from(transaction, fact.id, Relation.EVIDENCE)
    return FactWithEvidence(fact, newer[0].origin if newer else "", tuple(proofs))


KINDS: Final = (RecordKind.EPISODE, RecordKind.CORE, RecordKind.SPHERE)


class KeptEpisode(Value):
    """A visit, a core or a sphere, counts of its links, and the id of what was distilled from it."""

    episode: Episode | Core | Sphere
    turns: int
    sources: int
    facts: int
    senses: int
    made_into: str

    @property
    def has_words(self) -> bool:
        one = self.episode
        return bool(one.text or one.cues or one.situation.mission_goal or one.workflow != NOTHING_LEFT)


async def kept_episodes(
    transaction: Transaction, soul: str, limit: int, kind: RecordKind | None = None, state: str | None = None
) -> tuple[KeptEpisode, ...]:
    """Return a soul's episodes, newest first, of one kind or state if given."""
    rows = await transaction.rows(
        f"""
        SELECT r.id,
          (SELECT count(*) FROM links l WHERE l.origin = r.id AND l.relation = 'turn_refs') AS turns,
          (SELECT count(*) FROM links l WHERE l.origin = r.id AND l.relation = 'sources') AS sources,
          (SELECT count(*) FROM links l WHERE l.target = r.id AND l.relation = 'episode_refs') AS facts,
          (SELECT count(*) FROM links l WHERE l.target = r.id AND l.relation = 'episode_id') AS senses,
          coalesce((SELECT l.origin FROM links l JOIN records d ON d.id = l.origin AND d.kind IN ('core', 'sphere')
                    WHERE l.target = r.id AND l.relation = 'sources' LIMIT 1), '') AS made_into
        FROM records r JOIN episodes k ON k.id = r.id
        WHERE r.soul = :soul AND r.kind IN ({", ".join(f"'{one}'" for one in KINDS)})
          AND (:kind = '' OR r.kind = :kind) AND (:state = '' OR k.state = :state)
        ORDER BY r.at_ms DESC, r.seq DESC LIMIT :limit
        """,  # noqa: S608 - constants of this package
        soul=soul,
        kind=kind or "",
        state=state or "",
        limit=limit,
    )
    found = []
    for row in rows:
        episode = await get_any(transaction, row["id"])
        if not isinstance(episode, Episode):
            continue  # it can't be read, and `soul memory verify` says so
        counts = {name: row[name] for name in ("turns", "sources", "facts", "senses", "made_into")}
        found.append(KeptEpisode(episode, **counts))
    return tuple(found)


class WorkForPerson(Value):
    """The conversations in which a person spoke, and the traces of their turns."""

    conversations: frozenset[str]
    traces: frozenset[str]


async def people_named(database: Database, name: str) -> tuple[str, ...]:
    """Return the ids of users with this name or id, ignoring case."""

    async def unit(transaction: Transaction) -> tuple[str, ...]:
        rows = await transaction.rows(
            """
            SELECT DISTINCT person FROM user_models WHERE name = :name COLLATE NOCASE OR person = :name COLLATE NOCASE
            UNION SELECT DISTINCT author FROM inbox WHERE author = :capitals
            """,
            name=name,
            capitals=name.upper(),
        )
        return tuple(sorted(str(row[0]) for row in rows))

    return await database.read(unit)


async def work_for(database: Database, person: str, since_ms: int) -> WorkForPerson:
    """Return the conversations and traces of a person's messages since a time."""

    async def unit(transaction: Transaction) -> WorkForPerson:
        turns = await transaction.rows(
            "SELECT conversation, trace_id FROM turns WHERE author = :person AND said_ms >= :since",
            person=person,
            since=since_ms,
        )
        heard = await transaction.rows(
            "SELECT DISTINCT conversation FROM inbox WHERE author = :person AND received_ms >= :since",
            person=person,
            since=since_ms,
        )
        return WorkForPerson(
            frozenset(str(row[0]) for row in (*turns, *heard)), frozenset(str(row[1]) for row in turns if row[1])
        )

    return await database.read(unit)
