"""Old notes without a quotation: the words of their sources, the quotation that is found there, and their end."""

from dataclasses import dataclass
from typing import Final

from daemon.core.perception import Audience
from daemon.memory.consolidation.items import note_seen, unseen
from daemon.memory.consolidation.recorder import Recorder
from daemon.memory.consolidation.refreshing import outdate
from daemon.memory.consolidation.runs import Run, Runs, lost_in, may_lose
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.ids import turn_id
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.store import get
from daemon.memory.records import Speaks

PART: Final = "seeks_quotations"
PATIENCE_MS: Final = 30 * 86_400_000
"""How long a note may stay without a quotation after it was sought in vain."""

UNQUOTED: Final = "unquoted"
_AT_ONCE: Final = 100  # notes of one audience in a night
_SOURCES: Final = 24  # newest messages of a note's sources that are looked through
_CONFIDENCE: Final = 0.9

_OVERDUE: Final = f"""
    r.trust = 'noted' AND EXISTS (SELECT 1 FROM consolidation_items i WHERE i.part = '{PART}' AND i.object = r.id
                                  AND i.seen_ms <= :before AND i.parked = 0)
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True)
class QuotableTurn:
    """A message of the person that a note may rest on: the seq of its turn and its words."""

    turn: int
    words: str


@dataclass(frozen=True, slots=True)
class UnquotedNote:
    """A line that nobody quoted, with the names of its person and its sources, oldest first."""

    id: str
    person: str
    text: str
    names: tuple[str, ...]
    sources: tuple[QuotableTurn, ...]


class Quoting:
    """Notes of one audience that prove nothing yet."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def unsought(self, audience: Audience) -> tuple[UnquotedNote, ...]:
        """The notes for which no quotation was sought yet, oldest first."""
        ids = await self._runs.facts(audience, f"r.trust = 'noted' AND {unseen(PART)}", _AT_ONCE)

        async def unit(transaction: Transaction) -> tuple[UnquotedNote, ...]:
            return tuple([found for one in ids if (found := await _with_sources(transaction, one))])

        return await self._runs.read(unit) if ids else ()

    async def overdue(self, audience: Audience, now: int) -> tuple[str, ...]:
        """The ids of notes for which a quotation was sought in vain long ago, oldest first."""
        return await self._runs.facts(audience, _OVERDUE, _AT_ONCE, before=now - PATIENCE_MS)

    async def prove(self, run: Run, note: UnquotedNote, turn: int, quote: str) -> bool:
        """Let a note stand on its person's own words, if both are still there as they were read. Raises LostLease."""

        async def unit(recorder: Recorder) -> bool:
            transaction = recorder.transaction
            fact = await get(transaction, note.id)
            read = next((one.words for one in note.sources if one.turn == turn), None)
            said = await transaction.one("SELECT body FROM turns WHERE seq = :seq", seq=turn)
            still = isinstance(fact, Fact) and fact.trust is Trust.NOTED and fact.text == note.text
            if not still or said is None or said["body"] != read:
                return False
            assert isinstance(fact, Fact)
            await recorder.quote(note.id, turn_id(Speaks.PERSON, turn), quote)
            sure = max(fact.confidence, _CONFIDENCE)
            await recorder.change(note.id, "its quotation was found", trust=Trust.OWN, confidence=sure)
            await note_seen(transaction, PART, [note.id], recorder.now)
            return True

        return await self._runs.write(run, PART, unit)

    async def note_sought(self, run: Run, ids: tuple[str, ...]) -> None:
        """Note that nothing in their sources proves these notes: from now on their time runs."""

        async def unit(recorder: Recorder) -> None:
            await note_seen(recorder.transaction, PART, ids, recorder.now)

        await self._runs.write(run, PART, unit)

    async def retire(self, run: Run, note: str, most_lost: float) -> bool:
        """End a note that nothing proved in time, unless too much of what is known of its person would go at once."""

        async def unit(recorder: Recorder) -> bool:
            fact = await get(recorder.transaction, note)
            if not isinstance(fact, Fact) or fact.trust is not Trust.NOTED or fact.valid_until_ms is not None:
                return False
            lost = await lost_in(recorder.transaction, recorder.run, fact.person)
            if not may_lose(lost, lost + await standing_lines(recorder.transaction, fact), most_lost):
                return False
            await recorder.change(note, UNQUOTED, lost=True, valid_until_ms=recorder.now, why_ended=UNQUOTED)
            await outdate(recorder, fact, {"retired": [note]})
            return True

        return await self._runs.write(run, PART, unit)


async def standing_lines(transaction: Transaction, fact: Fact) -> int:
    """How many facts about the same person hold now for the same audience."""
    row = await transaction.one(
        """
        SELECT count(*) AS n FROM records r JOIN facts f ON f.id = r.id WHERE r.soul = :soul
          AND r.workspace = :workspace AND r.audience = :audience AND r.kind = 'fact' AND r.person = :person
          AND r.trust <> 'claim' AND f.valid_until_ms IS NULL
        """,
        soul=fact.soul,
        workspace=fact.workspace,
        audience=str(fact.audience),
        person=fact.person,
    )
    return int(row["n"]) if row else 0


async def _with_sources(transaction: Transaction, note: str) -> UnquotedNote | None:
    fact = await transaction.one(
        """
        SELECT r.person, r.text, (SELECT name FROM user_models m WHERE m.soul = r.soul AND m.workspace = r.workspace
          AND m.person = r.person AND m.audience = r.audience) AS name FROM records r WHERE r.id = :note
        """,
        note=note,
    )
    if fact is None:
        return None
    rows = await transaction.rows(
        f"""
        SELECT t.seq, t.body FROM links l JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
        WHERE l.origin = :note AND l.relation = 'evidence' AND substr(l.target, 1, 3) = 'TU_'
          AND t.speaker = 'person' AND t.author = :person AND t.passing = 0 ORDER BY t.seq DESC LIMIT {_SOURCES}
        """,  # noqa: S608 - a constant
        note=note,
        person=fact["person"],
    )
    sources = tuple(QuotableTurn(row["seq"], row["body"]) for row in reversed(rows))
    return UnquotedNote(note, fact["person"], fact["text"], (fact["name"],) if fact["name"] else (), sources)
