"""What is remembered, for commands: counts, ids, words, who may hear it and what proves it."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.core.errors import StoreError
from daemon.core.perception import BESIDE, Audience, AudienceKind, ConversationKey, Readers
from daemon.core.sessions import DOOR
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.records.ids import turn_seq
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.knowledge.records.links import Link, Relation, links_from, links_to
from daemon.memory.knowledge.records.store import UnreadableRecord, get_any, select
from daemon.memory.reader_codes import record_heard_by
from daemon.memory.records import as_json, read_row


@dataclass(frozen=True, slots=True)
class RememberedPerson:
    """How much is remembered of a person: their messages, facts about them that hold, records about them in all."""

    person: str
    messages: int
    facts: int
    records: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class FactWithEvidence:
    """A fact, what superseded it (empty for nothing), and the links to the messages that prove it."""

    fact: Fact
    superseded_by: str
    evidence: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class RememberedThing:
    """A record or a turn, and its links in both directions."""

    id: str
    kind: str
    soul: str
    workspace: str
    audience: str
    channel: str
    person: str
    trust: str
    significance: int | None
    at_ms: int
    text: str
    links: tuple[Link, ...]


async def remembered_people(transaction: Transaction, limit: int) -> tuple[RememberedPerson, ...]:
    """The people of whom anything is remembered, the one who spoke last first."""
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
    return tuple(read_row(RememberedPerson, row) for row in rows)


async def facts_about(transaction: Transaction, people: Sequence[str]) -> list[Fact]:
    """The facts that hold about any of these people, oldest first."""
    wanted = "r.person IN (SELECT value FROM json_each(:people)) AND k.valid_until_ms IS NULL"
    return await select(transaction, Fact, wanted, people=as_json(list(people)))


async def readers_at(transaction: Transaction, soul: str, person: str, place: str) -> tuple[ConversationKey, Readers]:
    """Who reads a reply to a person in a room, as far as memory.db knows: as a reply there found last, and news since.

    A reply asks the platform; where memory.db can't tell that all readers are full members, they count as others.
    Raises StoreError for a room that it does not know, and for one where it knows nothing of this person.
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
    """The facts that may enter a reply to these readers, oldest first, those that ended among them."""
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


async def remembered_thing(transaction: Transaction, name: str) -> RememberedThing:
    """A record or a turn by its id. Raises StoreError."""
    links = (*await links_from(transaction, name), *await links_to(transaction, name))
    if (seq := turn_seq(name)) is not None:
        row = await transaction.one(
            """
            SELECT t.*, c.soul, c.workspace, c.channel FROM turns t JOIN conversations c ON c.id = t.conversation
            WHERE t.seq = :seq AND (t.speaker = 'soul') = :own
            """,
            seq=seq,
            own=name.startswith("TL"),
        )
        if row is not None:
            return RememberedThing(
                id=name,
                kind="turn",
                soul=row["soul"],
                workspace=row["workspace"],
                audience=row["audience"],
                channel=row["channel"],
                person=row["author"],
                trust="",
                significance=None,
                at_ms=row["said_ms"],
                text=row["body"],
                links=links,
            )
    record = await get_any(transaction, name)
    if isinstance(record, UnreadableRecord):
        raise StoreError(f"{name} can't be read", hint="run `soul memory verify`")
    if record is None:
        raise StoreError(f"there is no memory {name}", hint="`soul memory passport export` writes all with their ids")
    return RememberedThing(
        id=name,
        kind=record.kind,
        soul=record.soul,
        workspace=record.workspace,
        audience=str(record.audience),
        channel=record.channel,
        person=record.person,
        trust=record.trust,
        significance=record.significance,
        at_ms=record.at_ms,
        text=record.text,
        links=links,
    )


async def _spoke(transaction: Transaction, rows: list[sqlite3.Row], person: str) -> bool:
    for row in rows:
        if await transaction.one(
            "SELECT 1 FROM turns WHERE conversation = :id AND author = :person LIMIT 1", id=row["id"], person=person
        ):
            return True
    return False


async def _is_member_elsewhere(transaction: Transaction, where: ConversationKey, person: str) -> bool:
    """Whether a user was met where all who read are full members."""
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
