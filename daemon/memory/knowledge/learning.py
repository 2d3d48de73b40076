"""Writes facts learned about a user with their quotations: all of a revision, or nothing."""

import unicodedata
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey
from daemon.core.text import visible_line
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Fact, Topic, Trust
from daemon.memory.knowledge.records.ledger import is_taken_back, note_write
from daemon.memory.knowledge.records.links import Link, Relation, link, turn_id
from daemon.memory.knowledge.records.store import change, put
from daemon.memory.knowledge.user_models import MODEL_KEY, current_facts, model_key, note_looked_through
from daemon.memory.records import Speaks, as_json
from daemon.memory.worker_store import WorkerStore

_SUPERSEDED, _RETIRED = "superseded", "retired"
_CONFIDENCE: Mapping[Trust, float] = {Trust.OWN: 0.9, Trust.CLAIM: 0.6}
_CONFIRMED = 0.02  # added confidence for another quotation
_MOST_SURE = 0.99


class LossRefused(StoreError):
    """A revision would delete more of the notes at once than the soul allows. Nothing was written."""


class TurnRange(Value):
    """The turns of a conversation that a revision was made from: seq `first` to `last`, both included."""

    conversation: ConversationKey
    first: int
    last: int


class Proved(Value):
    """A line with its proof: `turn` is the seq of the user's own turn that holds `quote`.

    `claim`: the line is about another person, whose platform id is `about`, if known.
    """

    text: str
    turn: int
    quote: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    topic: Topic = Topic.OTHER
    claim: bool = False
    about: str = ""


class Learned(Value):
    """The changes of a revision: new facts, facts (by id) that newer ones supersede, and facts that no longer hold.

    `refused` holds the reasons why other proposals were not taken, without their words.
    """

    added: tuple[Proved, ...] = ()
    corrected: tuple[tuple[str, Proved], ...] = ()
    retired: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    whispers: str = ""


class Learning(WorkerStore):
    """Revises the facts about users for one worker's soul."""

    async def revise(
        self,
        person: str,
        audience: Audience,
        learned: Learned,
        *,
        expected_version: int,
        source: TurnRange,
        most_lost: float,
        trace_id: str,
    ) -> bool:
        """Store the learned facts as the next version of a model.

        Return False, and write nothing, if `expected_version` is outdated: another revision was faster, or a message
        that it may be made from was edited or deleted. Raises LossRefused if more than `most_lost` (0..1) of several
        lines would go without a correction.
        """
        key, now = model_key(self._worker.scope, person, audience), self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            row = await transaction.one(f"SELECT * FROM user_models WHERE {MODEL_KEY}", **key)  # noqa: S608 - constant
            if row is None or row["version"] != expected_version:
                return False
            standing = {fact.id: fact for fact in await current_facts(transaction, key)}
            _refuse_loss(len(standing), [one for one in learned.retired if one in standing], most_lost)
            writer = _Writer(transaction, self._worker.scope, person, audience, source.conversation, now)
            changed = await writer.write(learned, standing)
            await transaction.run(
                f"""
                UPDATE user_models SET version = version + 1, whispers = :whispers, updated_ms = :now,
                  modelled_to = max(modelled_to, :modelled_to) WHERE {MODEL_KEY}
                """,  # noqa: S608 - the key is a constant
                whispers=learned.whispers,
                modelled_to=source.last,
                now=now,
                **key,
            )
            await note_looked_through(transaction, source.conversation, person, source.last)
            place = {"conversation": str(source.conversation), "first": source.first, "last": source.last}
            await store_version(
                transaction,
                key,
                version=expected_version + 1,
                whispers=learned.whispers,
                change={**changed, **place},
                trace_id=trace_id,
                now=now,
            )
            return True

        return await self._database.write(unit)


class _Writer(Value):
    transaction: Transaction
    scope: Mapping[str, str]
    person: str
    audience: Audience
    conversation: ConversationKey
    now: int

    async def write(self, learned: Learned, standing: Mapping[str, Fact]) -> dict[str, object]:
        """Write the whole revision. Return the ids of the added, corrected and retired facts."""
        added = [found for one in learned.added if (found := await self._add(one, standing))]
        corrected = []
        for older, one in learned.corrected:
            if older in standing and (newer := await self._add(one, {})):
                await self._end(older, _SUPERSEDED)
                await link(self.transaction, [Link(newer, Relation.SUPERSEDES, older)], self.now)
                corrected.append([older, newer])
        retired = [fact for fact in learned.retired if fact in standing]
        for fact in retired:
            await self._end(fact, _RETIRED)
        for reason in learned.refused:
            await self._refuse(reason)
        return {"added": added, "corrected": corrected, "retired": retired}

    async def _refuse(self, reason: str) -> None:
        await note_write(self.transaction, act="refuse fact", subject=str(self.audience), reason=reason, now=self.now)

    async def _add(self, line: Proved, standing: Mapping[str, Fact]) -> str:
        """Store a fact and return its id, or '' if it only confirms a known line.

        Return '' also if the user had the facts from this message forgotten.
        """
        proof = Link("", Relation.EVIDENCE, turn_id(Speaks.PERSON, line.turn), line.quote)
        if await is_taken_back(self.transaction, proof.target):
            await self._refuse("its person had forgotten what this message taught")
            return ""
        for fact in standing.values():
            if fact.text.casefold() == line.text.casefold():
                surer = min(_MOST_SURE, max(fact.confidence, _CONFIDENCE[Trust.OWN]) + _CONFIRMED)
                trust = Trust.OWN if fact.trust is Trust.NOTED else fact.trust
                if fact.channel != self.conversation.channel:  # said in two channels: outsiders hear it in none
                    await change(self.transaction, fact.id, self.now, "said elsewhere, too", channel="")
                await link(self.transaction, [replace(proof, origin=fact.id)], self.now)
                await change(self.transaction, fact.id, self.now, "confirmed", confidence=surer, trust=trust)
                return ""
        trust = Trust.CLAIM if line.claim else Trust.OWN
        fact = Fact(
            soul=self.scope["soul"],
            workspace=self.scope["workspace"],
            audience=self.audience,
            channel=self.conversation.channel,
            conversation=str(self.conversation),
            person=line.about if line.claim else self.person,
            trust=trust,
            text=line.text,
            at_ms=self.now,
            subject=line.subject or self.person,
            predicate=line.predicate,
            object=line.object,
            topic=line.topic,
            confidence=_CONFIDENCE[trust],
            claimed_by=self.person,
            valid_from_ms=self.now,
        )
        return (await put(self.transaction, fact, self.now, [proof])).id

    async def _end(self, fact: str, why: str) -> None:
        await change(self.transaction, fact, self.now, why, valid_until_ms=self.now, why_ended=why)


async def store_version(
    transaction: Transaction,
    key: Mapping[str, str],
    *,
    version: int,
    whispers: str,
    change: Mapping[str, object],
    trace_id: str,
    now: int,
) -> None:
    """Store a version in the history: the ids of the facts that hold in it, and the change."""
    facts = [fact.id for fact in await current_facts(transaction, key)]
    await transaction.insert(
        "user_model_history",
        version=version,
        notes=as_json(facts),
        whispers=whispers,
        change=as_json(change),
        trace_id=trace_id,
        made_ms=now,
        **key,
    )


def model_key_of(fact: Fact) -> dict[str, str]:
    """Return the key columns of the user model that a fact belongs to."""
    return {name: str(getattr(fact, name)) for name in ("soul", "workspace", "person", "audience")}


async def new_version(transaction: Transaction, key: Mapping[str, str], change: Mapping[str, object], now: int) -> None:
    """Store the next version of a user model, if there is one. A revision under way then fails."""
    row = await transaction.one(
        f"UPDATE user_models SET version = version + 1, updated_ms = :now WHERE {MODEL_KEY} RETURNING *",  # noqa: S608 - a constant
        now=now,
        **key,
    )
    if row is not None:
        await store_version(
            transaction, key, version=row["version"], whispers=row["whispers"], change=change, trace_id="", now=now
        )


def _refuse_loss(before: int, retired: Sequence[str], most_lost: float) -> None:
    lost = len(retired)
    if lost > 1 and lost > most_lost * before:
        raise LossRefused(f"{lost} of {before} notes would be lost at once", hint="nothing to do: the notes stay")


def stands_in(quote: str, words: str) -> bool:
    """Return True if a text contains a quotation. Case, white space and Unicode forms do not matter."""
    wanted = _levelled(quote)
    return bool(wanted) and wanted in _levelled(words)


def _levelled(text: str) -> str:
    return visible_line(unicodedata.normalize("NFKC", visible_line(text))).casefold()
