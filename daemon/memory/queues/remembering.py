"""Facts and journal entries noted by directive, in the commit of the reply that confirms them."""

from collections.abc import Mapping

from daemon.core.lineage import kept_readers
from daemon.core.perception import Origin
from daemon.core.text import visible_line
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Fact, JournalEntry, Record, Trust
from daemon.memory.knowledge.records.links import Link, Relation, link, may_rest_on, origin_of, turn_id
from daemon.memory.knowledge.records.store import put
from daemon.memory.people.standing import paused_of
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.reader_codes import READERS
from daemon.memory.records import Speaks, object_or_nothing
from daemon.memory.thought_parts import StoredThought

_LOOKED_AT = 12  # newest messages of the person that may hold the quotation
_SURE: Mapping[Trust, float] = {Trust.OWN: 0.95, Trust.CLAIM: 0.6, Trust.INFERRED: 0.5}


class Remembered(Value):
    """A fact to remember, with its significance from 1 to 10, tags and tone.

    `quote` are the person's words that prove it. It is empty for the soul's own thought, inferred from their message.
    `claim`: it is about another person, and remains what this person said.
    """

    content: str
    significance: int = 5
    tags: tuple[str, ...] = ()
    tone: str = ""
    quote: str = ""
    claim: bool = False

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await self.noted(transaction, asker, now)

    async def noted(
        self, transaction: Transaction, asker: Asker, now: int, thought: StoredThought | None = None
    ) -> bool:
        """Store it, or return False if the person paused memory or their words are gone.

        A thought may hold what only its readers know, and rests on all that it saw. Its note is kept for those readers
        alone, and goes with the words of `thought`.
        """
        if await paused_of(transaction, asker.scope, [asker.person]):
            return False
        said = await _message(transaction, asker, self.quote)
        if said is None:
            return False
        trust = Trust.INFERRED if not self.quote else Trust.CLAIM if self.claim else Trust.OWN
        source = Link("", Relation.EVIDENCE if self.quote else Relation.SOURCES, said, self.quote)
        about = asker.person if trust is Trust.OWN else ""
        before, also = _thought_before(thought), (("tags", list(self.tags)), ("tone", self.tone))
        if (standing := await self._standing(transaction, asker, about, said, before)) is not None:
            await link(transaction, [Link(standing, source.relation, said, self.quote)], now)
            return True
        fact = Fact(
            soul=asker.conversation.soul,
            workspace=asker.conversation.workspace,
            audience=asker.audience,
            channel=asker.conversation.channel,
            conversation=str(asker.conversation),
            person=about,
            trust=trust,
            text=self.content,
            at_ms=now,
            significance=min(10, max(1, self.significance)),
            subject=about or asker.conversation.soul,
            predicate="said" if self.quote else "noted",
            object=self.content,
            confidence=_SURE[trust],
            claimed_by=asker.person if self.quote else "",
            valid_from_ms=now,
            extra={**before, **{name: value for name, value in also if value}},
        )
        await tie(transaction, await put(transaction, fact, now, [source]), thought)
        return True

    async def _standing(
        self, transaction: Transaction, asker: Asker, about: str, said: str, before: Mapping[str, object]
    ) -> str | None:
        """Return the id of an equal fact for the same people, who may all hear what was said now."""
        rows = await transaction.rows(
            """
            SELECT r.id, r.extra FROM records r JOIN facts f ON f.id = r.id
            WHERE r.soul = :soul AND r.workspace = :workspace AND r.audience = :audience AND r.kind = 'fact'
              AND r.person = :person AND r.text = :text AND f.valid_until_ms IS NULL
            ORDER BY r.seq LIMIT :most
            """,
            audience=str(asker.audience),
            person=about,
            text=self.content,
            most=_LOOKED_AT,
            **asker.scope,
        )
        source = await origin_of(transaction, said)
        for row in rows:
            if object_or_nothing(row["extra"]).get(READERS) != before.get(READERS):
                continue
            heard = await origin_of(transaction, row["id"])
            if heard is not None and source is not None and may_rest_on(heard, source):
                return str(row["id"])
        return None


class Journaled(Value):
    """An entry of the soul's journal, with its significance from 1 to 10, tags and tone."""

    content: str
    significance: int = 5
    tags: tuple[str, ...] = ()
    tone: str = ""

    async def noted(
        self, transaction: Transaction, asker: Asker, now: int, thought: StoredThought | None = None
    ) -> bool:
        """Store it for the people alone who may hear the words that it rests on.

        Returns False if these are gone, or the person paused memory. `thought` is used as in `Remembered.noted`.
        """
        if await paused_of(transaction, asker.scope, [asker.person]):
            return False
        said = await _message(transaction, asker, "")
        if said is None:
            return False
        entry = JournalEntry(
            soul=asker.conversation.soul,
            workspace=asker.conversation.workspace,
            audience=asker.audience,
            channel=asker.conversation.channel,
            conversation=str(asker.conversation),
            text=self.content,
            at_ms=now,
            trust=Trust.INFERRED,
            significance=min(10, max(1, self.significance)),
            tone=self.tone,
            tags=self.tags,
            extra=_thought_before(thought),
        )
        await tie(transaction, await put(transaction, entry, now, [Link("", Relation.SOURCES, said)]), thought)
        return True


def _thought_before(thought: StoredThought | None) -> Mapping[str, object]:
    if thought is None or not (thought.readers.members_only or thought.readers.rooms):
        return {}
    return {READERS: kept_readers(thought.readers)}


async def tie(transaction: Transaction, record: Record, thought: StoredThought | None) -> None:
    """Have a record go with the words of the thought that noted it."""
    if thought is not None:
        await transaction.insert("thought_notes", record=record.id, thought=thought.id)


async def _message(transaction: Transaction, asker: Asker, quote: str) -> str | None:
    """Return the id of the person's newest message here that holds the quotation and that all readers may hear.

    What was said while the channel was private proves nothing to later readers.
    """
    rows = await transaction.rows(
        """
        SELECT seq, body FROM turns WHERE conversation = :id AND author = :person AND speaker = 'person'
          AND seq <= coalesce(:upto, seq) ORDER BY seq DESC LIMIT :most
        """,
        id=str(asker.conversation),
        upto=asker.upto,
        person=asker.person,
        most=_LOOKED_AT,
    )
    heard = Origin(asker.audience, asker.conversation.channel)
    for said in (turn_id(Speaks.PERSON, row["seq"]) for row in rows if quote in visible_line(row["body"])):
        origin = await origin_of(transaction, said)
        if origin is not None and may_rest_on(heard, origin):
            return said
    return None
