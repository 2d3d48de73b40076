"""Distils eight closed visits of one audience into a core and eight cores into a sphere, and refills emptied ones."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, Origin, common
from daemon.core.value import Value
from daemon.core.words import likeness, terms_of, words_of
from daemon.memory.consolidation.runs import Run, Runs, note_seen
from daemon.memory.consolidation.undo import Recorder
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Core, Episode, SituationContext, Sphere, StructuredSummary, Trust
from daemon.memory.knowledge.records.ledger import last_write, note_write
from daemon.memory.knowledge.records.links import Link, Relation, common_of, links_to
from daemon.memory.knowledge.records.store import change, get
from daemon.memory.records import as_json

_AKIN: Final = 0.5  # likeness above which two words count as the same
_LEAST: Final = 4  # one content word in four, and at least one, must occur in the notes
_ID: Final = re.compile(r"\b(?:(?:EP|SMEM|JN)_\d{8}_\d+|(?:TU|TL|LB|core|sphere)_\d+|sem_[0-9a-f]{8})\b", re.IGNORECASE)


class DistillateRefused(StoreError):
    """The distillate does not rest on the notes that it was made of. Nothing was written."""


class DistilledLine(Value):
    """A sentence, and the numbers (from 1) of the notes that it rests on."""

    text: str
    notes: tuple[int, ...]


class Distillate(Value):
    """The common content of several notes. `significance` goes from 1 to 10."""

    claims: tuple[DistilledLine, ...]
    key_outcome: str = ""
    significance: int = 5
    tags: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        return " ".join(one.text for one in self.claims)


def require_grounded(made: Distillate, notes: Sequence[str]) -> None:
    """Raise DistillateRefused unless each sentence shares words with the notes that it rests on.

    At least a quarter of its content words and every number must occur in them. The reason quotes none of the words.
    """
    if not made.claims:
        raise _refused("it is empty")
    every = tuple(range(1, len(notes) + 1))
    for claim in (*made.claims, *((DistilledLine(made.key_outcome, every),) if made.key_outcome else ())):
        _require_founded(claim, notes)


def known_words(tags: Sequence[str], notes: Sequence[str]) -> tuple[str, ...]:
    """Return the tags that share a word with the notes."""
    said = words_of("\n".join(notes))
    return tuple(tag for tag in tags if _names_something(tag, said))


def _require_founded(claim: DistilledLine, notes: Sequence[str]) -> None:
    if not claim.notes or not all(1 <= one <= len(notes) for one in claim.notes):
        raise _refused("it rests on notes that aren't there")
    rests_on = "\n".join(notes[one - 1] for one in claim.notes)
    said = words_of(rests_on)
    if invented := set(_ID.findall(claim.text)) - set(_ID.findall(rests_on)):
        raise _refused(f"it names {len(invented)} memories by ids that it was not shown")
    if {word for word in words_of(claim.text) if word.isdigit()} - set(said):
        raise _refused("a number in it stands nowhere in the notes that it rests on")
    if not _names_something(claim.text, said):
        raise _refused("a sentence of it names too little of the notes that it rests on")


def _names_something(text: str, said: Sequence[str]) -> bool:
    terms = terms_of(text)
    known = sum(any(likeness(term, word) > _AKIN for word in said) for term in terms)
    return known >= max(1, len(terms) // _LEAST)


def _refused(reason: str) -> DistillateRefused:
    return DistillateRefused(reason, hint="nothing to do: it is tried again another night")


PART: Final = "distils"
EIGHT: Final = 8
PATIENCE_MS: Final = 7 * 86_400_000
"""Milliseconds that an emptied record waits for a source that is itself emptied, before it is made without that one."""

_FEWEST: Final = 2  # memories that are worth distilling together
_LOOKED_AT: Final = 400
_CUES: Final = 8

Distilled = type[Core] | type[Sphere]
_TIERS: Final[tuple[tuple[type[Episode], Distilled], ...]] = ((Episode, Core), (Core, Sphere))

_HERE: Final = "r.soul = :soul AND r.workspace = :workspace AND r.audience = :audience AND r.kind = :kind"
_FREE: Final = f"""
    r.id NOT IN (SELECT value FROM json_each(:without))
    AND NOT EXISTS (SELECT 1 FROM consolidation_items i WHERE i.part = '{PART}' AND i.object = r.id AND i.parked = 1)
    """  # noqa: S608 - a constant
_UNUSED: Final = f"""
    SELECT r.id FROM records r JOIN episodes k ON k.id = r.id
    WHERE {_HERE} AND k.state = 'closed' AND r.text <> '' AND {_FREE}
      AND NOT EXISTS (SELECT 1 FROM consolidation_items i
                      WHERE i.part = '{PART}' AND i.object = r.id AND i.seen_ms IS NOT NULL)
    ORDER BY r.at_ms, r.seq LIMIT {_LOOKED_AT}
    """  # noqa: S608 - constants
_EMPTIED: Final = f"""
    SELECT r.id FROM records r JOIN episodes k ON k.id = r.id
    WHERE {_HERE} AND k.state = 'closing' AND {_FREE}
      AND (r.updated_ms < :impatient OR NOT EXISTS (
        SELECT 1 FROM links l JOIN episodes s ON s.id = l.target
        WHERE l.origin = r.id AND l.relation = 'sources' AND s.state = 'closing'))
    ORDER BY r.seq
    """  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Group:
    """Memories to distil, oldest first: into a new core or sphere, or to refill the emptied record `anew`."""

    sources: tuple[str, ...]
    into: Distilled
    anew: str = ""

    @property
    def judged(self) -> tuple[str, ...]:
        return (self.anew,) if self.anew else self.sources


class ToDistil(Value):
    """An episode to distil. `stamp` is the last write to it."""

    episode: Episode
    stamp: int

    @property
    def note(self) -> str:
        summary, left = self.episode.summary, self.episode.workflow
        day = dt.datetime.fromtimestamp(self.episode.at_ms / 1000, dt.UTC).date().isoformat()
        parts = (
            ("", self.episode.text),
            ("Done: ", summary.action_taken),
            ("Outcome: ", summary.key_outcome),
            ("What follows: ", summary.future_implication),
            ("Left to do: ", "; ".join(left.pending_items)),
        )
        return f"({day}) " + " | ".join(f"{label}{text}" for label, text in parts if text)


class Distilling:
    """Finds the memories to distil for one audience, and stores the result."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def next(
        self, audience: Audience, now: int, paused: Collection[str], without: Collection[str]
    ) -> Group | None:
        """Return the next memories to distil, emptied records first. None when there are none.

        Left out are the memories `without`, those refused too often, and visits of users who have `paused` remembering.
        """
        values: dict[str, object] = {
            **self._runs.scope,
            "audience": str(audience),
            "without": as_json(sorted(without)),
        }

        async def unit(transaction: Transaction) -> Group | None:
            impatient = now - PATIENCE_MS
            return await _emptied(transaction, paused, impatient=impatient, **values) or await _unused(
                transaction, paused, **values
            )

        return await self._runs.read(unit)

    async def read(self, source: str) -> ToDistil | None:
        async def unit(transaction: Transaction) -> ToDistil | None:
            found = await get(transaction, source)
            return ToDistil(found, await last_write(transaction, source)) if isinstance(found, Episode) else None

        return await self._runs.read(unit)

    async def keep(self, run: Run, group: Group, sources: Sequence[ToDistil], made: Distillate) -> str:
        """Store what was distilled with links to all its sources, and mark these as distilled. Return its id.

        The id is empty, and nothing is written, if a source was changed or forgotten in between. Raises LostLease, and
        DistillateRefused where the distillate does not rest on its sources or has no readers.
        """
        require_grounded(made, [one.note for one in sources])

        async def unit(recorder: Recorder) -> str:
            transaction = recorder.transaction
            for one in sources:
                if await last_write(transaction, one.episode.id) != one.stamp:
                    return ""
            origin = await common_of(transaction, [one.episode.id for one in sources])
            fields = _fields(made, [one.episode for one in sources])
            if group.anew:
                return await _make_anew(recorder, group, origin, fields)
            if origin is None:
                raise DistillateRefused(
                    "no reader may hear all of its sources", hint="nothing to do: they stay as they are"
                )
            first = sources[0].episode
            record = group.into(
                soul=first.soul,
                workspace=first.workspace,
                audience=origin.audience,
                channel=origin.channel,
                trust=Trust.INFERRED,
                state="closed",
                **fields,  # type: ignore[arg-type]  # fields by name, checked by the class itself
            )
            links = [Link("", Relation.SOURCES, one.episode.id) for one in sources]
            kept = await recorder.put(record, links)
            for one in sources:
                await recorder.change(one.episode.id, "distilled", state="distilled")
            await note_seen(transaction, PART, [one.episode.id for one in sources], recorder.now)
            return kept.id

        return await self._runs.write(run, PART, unit)

    async def refuse(self, run: Run, group: Group, reason: str) -> None:
        """Note in the ledger why a distillate was refused. Raises LostLease."""

        async def unit(recorder: Recorder) -> None:
            about = group.anew or f"{group.into.kind} {run.audience}"
            await note_write(
                recorder.transaction,
                act=f"refuse {group.into.kind}",
                subject=f"refused {about}",
                reason=reason,
                now=recorder.now,
            )

        await self._runs.write(run, PART, unit)

    async def dissolve(self, run: Run, group: Group) -> None:
        """Forget an emptied record that has too few sources left. Its sources may be distilled with others."""

        async def unit(recorder: Recorder) -> None:
            await forget(recorder.transaction, [group.anew], recorder.now, "too few of its sources are left")

        await self._runs.write(run, PART, unit)


def enough(sources: Sequence[ToDistil]) -> bool:
    return len(sources) >= _FEWEST


async def _emptied(transaction: Transaction, paused: Collection[str], **values: object) -> Group | None:
    for _, above in _TIERS:
        for row in await transaction.rows(_EMPTIED, kind=above.kind, **values):
            sources = await _sources_of(transaction, row["id"])
            if not await _speaks_there(transaction, sources, paused):
                return Group(tuple(sources), above, row["id"])
    return None


async def _unused(transaction: Transaction, paused: Collection[str], **values: object) -> Group | None:
    for below, above in _TIERS:
        found: list[str] = []
        for row in await transaction.rows(_UNUSED, kind=below.kind, **values):
            if not await _speaks_there(transaction, [row["id"]], paused):
                found.append(row["id"])
            if len(found) == EIGHT:
                return Group(tuple(found), above)
    return None


async def _make_anew(recorder: Recorder, group: Group, origin: Origin | None, fields: dict[str, object]) -> str:
    """Give an emptied core its new words. Its audience never becomes wider."""
    transaction = recorder.transaction
    standing = await get(transaction, group.anew)
    if not isinstance(standing, Episode) or standing.state != "closing":
        return ""
    heard = common((Origin(standing.audience, standing.channel), origin)) if origin is not None else None
    if heard is None:
        raise DistillateRefused("no reader may hear all of its sources", hint="nothing to do: it stays empty")
    above = await links_to(transaction, group.anew, Relation.SOURCES)
    recorder.changed.append(group.anew)  # counted, but not recorded: an undo would need a copy of the words
    await change(
        transaction,
        group.anew,
        recorder.now,
        "distilled anew",
        audience=heard.audience,
        channel=heard.channel,
        state="distilled" if above else "closed",
        **fields,
    )
    return group.anew


def _fields(made: Distillate, sources: Sequence[Episode]) -> dict[str, object]:
    """Return the fields of a core: the model's sentences, and what its sources have in common by plain rules."""
    newest = max(sources, key=lambda one: (one.at_ms, one.seq))
    notes = [ToDistil(one, 0).note for one in sources]
    cues = Counter(cue for one in sources for cue in one.cues)
    return {
        "text": made.content,
        "at_ms": newest.at_ms,
        "significance": made.significance,
        "person": _shared(one.person for one in sources),
        "persona_id": newest.persona_id,
        "event_id": _shared(one.event_id for one in sources),
        "situation": SituationContext(
            domain_area=_shared(one.situation.domain_area for one in sources),
            agent_role=_shared(one.situation.agent_role for one in sources),
            mission_goal=newest.workflow.current_task,
        ),
        "summary": StructuredSummary(made.content, key_outcome=made.key_outcome),
        "workflow": newest.workflow,
        "tags": known_words(made.tags, notes),
        "cues": tuple(cue for cue, _ in cues.most_common(_CUES)),
        "closed_ms": newest.closed_ms,
    }


def _shared(values: Iterable[str]) -> str:
    found = set(values)
    return found.pop() if len(found) == 1 else ""


async def _sources_of(transaction: Transaction, distilled: str) -> list[str]:
    rows = await transaction.rows(
        """
        SELECT r.id FROM links l JOIN records r ON r.id = l.target
        WHERE l.origin = :id AND l.relation = 'sources' AND r.text <> '' ORDER BY r.at_ms, r.seq
        """,
        id=distilled,
    )
    return [row["id"] for row in rows]


async def _speaks_there(transaction: Transaction, ids: Sequence[str], people: Collection[str]) -> bool:
    """Return True if one of these people spoke in the visits that these memories are, or were distilled from."""
    if not people:
        return False
    row = await transaction.one(
        """
        WITH RECURSIVE visits (id) AS (
          SELECT value FROM json_each(:ids)
          UNION SELECT l.target FROM visits v JOIN records r ON r.id = v.id AND r.kind IN ('core', 'sphere')
            JOIN links l ON l.origin = v.id AND l.relation = 'sources')
        SELECT 1 FROM visits v JOIN links l ON l.origin = v.id AND l.relation = 'turn_refs'
          JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
        WHERE t.speaker <> 'soul' AND t.author IN (SELECT value FROM json_each(:people)) LIMIT 1
        """,
        ids=as_json(list(ids)),
        people=as_json(sorted(people)),
    )
    return row is not None
