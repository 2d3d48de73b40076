"""The record of words shown to an admin, written before they are printed and reported to their authors."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from daemon.core.contexts import OPERATOR
from daemon.core.notes import MARK
from daemon.core.perception import Audience, AudienceKind
from daemon.core.sessions import key_of
from daemon.core.value import Value
from daemon.memory.audit import record_act
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.knowledge.records.links import DERIVING, origin_of, turn_seq
from daemon.memory.records import Speaks

ACT: Final = "read words"
"""The act in the audit log. Its object is the person."""

ADMINS_GOAL: Final = "GO_"
"""The prefix of the name of a goal in an admin's own words, before its row number."""

_PASSAGE: Final = "LB_"
_THOUGHT: Final = "TH_"
_MODEL: Final = "UM_"
_MADE_OF: Final = ", ".join(f"'{one}'" for one in DERIVING)


class Worded(Value):
    """A text that a command shows, with the platform ids of its authors. `private`: not for the whole workspace."""

    id: str
    soul: str
    workspace: str
    private: bool
    people: frozenset[str]


async def worded(transaction: Transaction, ids: Iterable[str]) -> list[Worded]:
    """Return the turns, records, notes, thoughts and library passages that a command may show.

    The journal is left out, and messages written while their author had paused remembering.
    """
    found = [await _one(transaction, name) for name in dict.fromkeys(ids)]
    return [one for one in found if one is not None]


async def record_readings(
    transaction: Transaction, shown: Collection[Worded], *, actor: str, command: str, now: int
) -> None:
    """Record in the audit log that a command shows these words to the admin `actor`, and note the people to inform."""
    theirs = [(one, person) for one in shown for person in (one.people or {""})]
    every, private = Counter(person for _, person in theirs), Counter(person for one, person in theirs if one.private)
    for person in sorted(every):
        detail = f"{command}: {every[person]}, private among them: {private[person]}"
        await record_act(transaction, actor=actor, act=ACT, subject=person or command, detail=detail, now=now)
    for soul, workspace, person in sorted({(one.soul, one.workspace, person) for one, person in theirs if person}):
        await transaction.run(
            """
            INSERT INTO word_readings (soul, workspace, person, first_ms, last_ms, next_ms)
            VALUES (:soul, :workspace, :person, :now, :now, :now)
            ON CONFLICT (soul, workspace, person) DO UPDATE
              SET first_ms = coalesce(word_readings.first_ms, excluded.first_ms), last_ms = excluded.last_ms
            """,
            soul=soul,
            workspace=workspace,
            person=person,
            now=now,
        )


async def _one(transaction: Transaction, name: str) -> Worded | None:
    if name.startswith(_PASSAGE):  # a file of the admin's own
        return Worded(name, "", "", private=False, people=frozenset())
    for prefix, read in ((MARK, _note), (_THOUGHT, _whole_thought), (ADMINS_GOAL, _goal), (_MODEL, _model)):
        if name.startswith(prefix):
            return await read(transaction, name)
    origin = await origin_of(transaction, name)
    if origin is None:
        return None
    private = origin.audience.kind is not AudienceKind.WORKSPACE
    if (seq := turn_seq(name)) is not None:
        return await _turn(transaction, name, seq, private=private)
    row = await transaction.one(
        """
        SELECT r.kind, r.soul, r.workspace, r.person, coalesce(f.claimed_by, '') AS claimed_by
        FROM records r LEFT JOIN facts f ON f.id = r.id WHERE r.id = :id
        """,
        id=name,
    )
    if row is None or row["kind"] == RecordKind.JOURNAL:
        return None
    authors = {row["person"], row["claimed_by"], *await _authors(transaction, name)} - {""}
    return Worded(name, row["soul"], row["workspace"], private, await _people_of(transaction, authors))


async def _note(transaction: Transaction, name: str) -> Worded | None:
    row = await transaction.one("SELECT * FROM shared_messages WHERE id = :id", id=name)
    if row is None:
        return None
    private = Audience.parse(row["audience"]).kind is not AudienceKind.WORKSPACE
    soul = row["addressee"] if row["sender"] == OPERATOR else row["sender"]
    return Worded(name, soul, row["workspace"], private, frozenset({row["behalf"]} - {""}))


async def _whole_thought(transaction: Transaction, name: str) -> Worded | None:
    """Return a thought. Its words also belong to everyone heard in its conversation until then."""
    row = await transaction.one("SELECT * FROM thoughts WHERE id = :id AND passing = 0 AND emptied = 0", id=name)
    if row is None:
        return None
    heard = await transaction.rows(
        "SELECT DISTINCT author FROM turns WHERE conversation = :conversation AND seq <= :saw_to AND speaker <> 'soul'",
        conversation=row["conversation"],
        saw_to=row["saw_to"],
    )
    sources = await transaction.rows("SELECT source FROM thought_sources WHERE thought = :id", id=name)
    authors = {one["author"] for one in heard}
    for one in sources:
        authors |= await _authors(transaction, one["source"])
    private = Audience.parse(row["audience"]).kind is not AudienceKind.WORKSPACE
    return Worded(name, row["soul"], row["workspace"], private, await _people_of(transaction, authors))


async def _goal(transaction: Transaction, name: str) -> Worded | None:
    """Return a goal in an admin's words, which belong to no user."""
    row = await transaction.one(
        "SELECT soul, workspace, audience FROM goals WHERE seq = :seq", seq=name[len(ADMINS_GOAL) :]
    )
    if row is None:
        return None
    private = Audience.parse(row["audience"]).kind is not AudienceKind.WORKSPACE
    return Worded(name, row["soul"], row["workspace"], private, frozenset())


async def _model(transaction: Transaction, name: str) -> Worded | None:
    soul, _, person, audience = name.removeprefix(_MODEL).split("/", 3)
    row = await transaction.one(
        "SELECT workspace FROM user_models WHERE soul = :soul AND person = :person AND audience = :audience",
        soul=soul,
        person=person,
        audience=audience,
    )
    private = Audience.parse(audience).kind is not AudienceKind.WORKSPACE
    return Worded(name, soul, row["workspace"], private, frozenset({person})) if row is not None else None


async def _turn(transaction: Transaction, name: str, seq: int, *, private: bool) -> Worded | None:
    """Return a turn. The words of a reply also belong to the people that it answers."""
    row = await transaction.one(
        """
        SELECT c.soul, c.workspace, t.conversation, t.author, t.trace_id, t.speaker FROM turns t
        JOIN conversations c ON c.id = t.conversation WHERE t.seq = :seq AND t.passing = 0
        """,
        seq=seq,
    )
    if row is None:
        return None
    people = {row["author"]}
    if row["speaker"] == Speaks.SOUL:
        answered = await transaction.rows(
            """
            SELECT author, trace_id FROM turns WHERE conversation = :conversation AND speaker <> 'soul' AND seq < :seq
            ORDER BY seq DESC LIMIT 20
            """,
            conversation=row["conversation"],
            seq=seq,
        )
        people = {one["author"] for one in answered if one["trace_id"] == row["trace_id"]}
        people = people or {one["author"] for one in answered[:1]}
    return Worded(name, row["soul"], row["workspace"], private, await _people_of(transaction, people))


async def _people_of(transaction: Transaction, authors: Collection[str]) -> frozenset[str]:
    """Return the people behind authors. A session's person is that of its key, and the admin's key has none."""
    people = set[str]()
    for one in authors:
        if (key := key_of(one)) is None:
            people.add(one)
        elif (row := await transaction.one("SELECT person FROM keys WHERE id = :key", key=key)) is not None:
            people.add(row["person"])
    return frozenset(people - {""})


async def _authors(transaction: Transaction, name: str) -> set[str]:
    rows = await transaction.rows(
        f"""
        WITH RECURSIVE made (id) AS (
          VALUES (:id) UNION
          SELECT l.target FROM links l JOIN made m ON l.origin = m.id WHERE l.relation IN ({_MADE_OF}))
        SELECT DISTINCT t.author FROM made m JOIN turns t ON t.seq = CAST(substr(m.id, 4) AS INTEGER)
        WHERE substr(m.id, 1, 3) = 'TU_' AND t.speaker <> 'soul'
        """,  # noqa: S608 - names of this package
        id=name,
    )
    return {row["author"] for row in rows}
