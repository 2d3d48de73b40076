"""Decisions of a person about what is known of them, carried out in the commit of the answer."""

from collections.abc import Mapping
from typing import Final, Protocol

from msgspec.structs import replace

from daemon.core.lineage import model_id
from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.ports.arrivals import Deletion
from daemon.core.timetable import surely_past
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.ledger import take_back
from daemon.memory.knowledge.records.links import Link, Relation, links_from, turn_id
from daemon.memory.knowledge.records.store import change, get_any, put
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE
from daemon.memory.people.known import FRESH, TAUGHT, show
from daemon.memory.people.retention import blank_reply
from daemon.memory.people.standing import decide, forget_belief
from daemon.memory.people.unsaying import own_fact, twins, unsay
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.edits import delete_message
from daemon.memory.queues.jobs import enqueue_job
from daemon.memory.records import IN_PRIVATE, Speaks, conversation_columns
from daemon.memory.stream.emptying import note_changed

FORGETTING: Final = "forgetting-"
"""The prefix of the id of the question whether to forget everything."""

CONFIRM_MS: Final = 3_600_000
"""Milliseconds that `forget me` waits for its `yes`."""

IN_OWN_WORDS: Final = "said"
"""The predicate of a fact that is the person's own words, as they said them."""

_SURE: Final[Mapping[Trust, float]] = {Trust.OWN: 0.95, Trust.CLAIM: 0.6}  # a person knows best about themselves
_WHY: Final = "its person asked for it"


class Asker(Value):
    """The person who decides, by the message `ts` in `conversation`.

    `audience` may hear what is said there. Their words up to turn number `upto` count, or all if it is None.
    """

    person: str
    conversation: ConversationKey
    audience: Audience
    ts: str
    upto: int | None = None

    @property
    def scope(self) -> Mapping[str, str]:
        return {"soul": self.conversation.soul, "workspace": self.conversation.workspace}


class MemoryAct(Protocol):
    """A decision. It does nothing if its subject is gone."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Carry it out. Raises StoreError."""


class Shown(Value):
    """The facts that were shown, in order. Without the `newest`, waiting learning jobs are hurried."""

    facts: tuple[str, ...]
    newest: str = ""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await show(transaction, asker.scope, asker.person, self.facts, self.newest, now)
        if not self.newest:
            await _hurry_learning(transaction, asker.scope, asker.person, now)


class Corrected(Value):
    """A wrong fact, replaced by the person's own `words` from this message."""

    fact: str
    words: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        fact = await own_fact(transaction, asker.scope, asker.person, self.fact)
        said = await transaction.one(
            "SELECT seq FROM turns WHERE conversation = :id AND ts = :ts AND author = :person AND speaker = 'person'",
            id=str(asker.conversation),
            ts=asker.ts,
            person=asker.person,
        )
        if fact is None or fact.valid_until_ms is not None or said is None:
            return
        trust = Trust.OWN if fact.person else Trust.CLAIM  # of what isn't about them, it is what they say
        newer = replace(
            fact,
            id="",
            audience=asker.audience,
            channel=asker.conversation.channel,
            conversation=str(asker.conversation),
            text=self.words,
            predicate=IN_OWN_WORDS,
            object=self.words,
            trust=trust,
            claimed_by=asker.person,
            confidence=_SURE[trust],
            at_ms=now,
            valid_from_ms=now,
            used=0,
            used_ms=None,
            extra={},
        )
        twice = await twins(transaction, asker.person, fact)
        wrong = [fact, *(one for one in twice if one.valid_until_ms is None)]
        await take_back(transaction, [turn for one in wrong for turn in await _taught_by(transaction, one.id)], now)
        proof = Link("", Relation.EVIDENCE, turn_id(Speaks.PERSON, said["seq"]), self.words)
        await put(transaction, newer, now, [proof, Link("", Relation.SUPERSEDES, fact.id)])
        for one in wrong:
            await change(transaction, one.id, now, "wrong", valid_until_ms=now, why_ended="wrong")
        await unsay(transaction, asker.person, wrong, now, _WHY, heard=True)
        await _outdate_guesses(transaction, asker, now)


class Forgotten(Value):
    """A fact to forget, with its twins, its words and the facts it replaced. Their messages teach nothing more."""

    fact: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        fact = await own_fact(transaction, asker.scope, asker.person, self.fact)
        if fact is None:
            return
        ids = [self.fact, *(one.id for one in await twins(transaction, asker.person, fact))]
        for one in ids:
            ids += [older.target for older in await links_from(transaction, one, Relation.SUPERSEDES)]
        facts = [found for one in ids if isinstance(found := await get_any(transaction, one), Fact)]
        await unsay(transaction, asker.person, facts, now, _WHY)
        await take_back(transaction, [turn for one in ids for turn in await _taught_by(transaction, one)], now)
        await forget(transaction, list(dict.fromkeys(ids[::-1])), now, _WHY, aged=True)
        await _outdate_guesses(transaction, asker, now)


class LastForgotten(Value):
    """The person's last message in the conversation to forget, with what was made of it and the reply to it."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        last = await last_said(transaction, asker.conversation, asker.person)
        if last is None:
            return
        ts, trace = last
        where = asker.conversation
        await delete_message(transaction, Deletion("", where.soul, where.workspace, where.channel, ts), now)
        await transaction.run(  # a reply that is under way loses its words once it is settled
            "UPDATE inbox SET cleared = 1 WHERE conversation = :id AND ts = :ts AND author = :person",
            id=str(where),
            ts=ts,
            person=asker.person,
        )
        replies = await transaction.rows(
            "SELECT seq FROM turns WHERE conversation = :id AND speaker = 'soul' AND (ts = :ts OR trace_id = :trace)",
            id=str(where),
            ts=ts,
            trace=trace,
        )
        await forget(transaction, [turn_id(Speaks.SOUL, row["seq"]) for row in replies], now, _WHY)
        await delete_these(transaction, [row["seq"] for row in replies], now, _WHY)
        await blank_reply(transaction, str(where), ts)


class Paused(Value):
    """A pause of remembering the person, or its end."""

    paused: bool

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await decide(transaction, asker.scope, asker.person, "paused_ms", now if self.paused else None)


class AskedToForget(Value):
    """The wait for the person to confirm that everything is forgotten, or (False) its end."""

    waits: bool = True

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        until = now + CONFIRM_MS if self.waits else None
        await decide(transaction, asker.scope, asker.person, "forget_until_ms", until)


class InformedOfMemory(Value):
    """The note that the person was informed that the soul remembers."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await decide(transaction, asker.scope, asker.person, "informed_ms", now)


class SaidInPrivate(Value):
    """An answer posted in the person's DM, in the thread `reply_to`, and as a file if `file` names one."""

    channel: str
    audience: Audience
    parts: tuple[str, ...]
    file: str = ""
    reply_to: str = ""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        where = ConversationKey(asker.conversation.soul, asker.conversation.workspace, self.channel)
        await open_conversation(transaction, where, Place.DM, self.audience, now)
        for part, body in enumerate(self.parts):
            await transaction.insert(
                "outbox",
                "ON CONFLICT (id) DO NOTHING",
                id=f"{where}{IN_PRIVATE}{asker.conversation.channel}:{asker.ts}#{part}",
                part=part,
                last=int(part == len(self.parts) - 1),
                body=body,
                reply_to=self.reply_to,
                recipient=asker.person,
                newer_than_ts=surely_past(now),
                audience=str(self.audience),
                state="pending",
                created_ms=now,
                file=self.file,
                **conversation_columns(where),
            )


async def last_said(transaction: Transaction, conversation: ConversationKey, person: str) -> tuple[str, str] | None:
    """Return the ts and the trace of the person's last remembered message in a conversation."""
    row = await transaction.one(
        """
        SELECT ts, trace_id FROM turns WHERE conversation = :id AND author = :person AND speaker = 'person'
        ORDER BY seq DESC LIMIT 1
        """,
        id=str(conversation),
        person=person,
    )
    return (row["ts"], row["trace_id"]) if row else None


async def _taught_by(transaction: Transaction, fact: str) -> list[str]:
    return [one.target for one in await links_from(transaction, fact, Relation.EVIDENCE, Relation.SOURCES)]


async def _outdate_guesses(transaction: Transaction, asker: Asker, now: int) -> None:
    """Drop the guesses about the person, which may rest on forgotten words. A revision under way is refused."""
    rows = await transaction.rows(
        """
        UPDATE user_models SET whispers = '', version = version + 1, updated_ms = :now
        WHERE soul = :soul AND workspace = :workspace AND person = :person
        RETURNING soul, workspace, person, audience
        """,
        person=asker.person,
        now=now,
        **asker.scope,
    )
    await note_changed(transaction, [model_id(**row) for row in rows])


async def _hurry_learning(transaction: Transaction, scope: Mapping[str, str], person: str, now: int) -> None:
    """Queue learning from a person's conversations now, and end the lull of the jobs that wait for one."""
    taught = await transaction.rows(
        f"SELECT DISTINCT c.id, c.version {FRESH} AND {TAUGHT}",
        person=person,
        **scope,
    )
    for row in taught:
        await enqueue_job(transaction, LEARNS_OF_PEOPLE, ConversationKey.parse(row["id"]), row["version"], now)
    await transaction.run(
        f"""
        UPDATE jobs SET not_before = 0
        WHERE soul = :soul AND workspace = :workspace AND kind = '{LEARNS_OF_PEOPLE}'
          AND state = 'ready' AND attempts = 0
          AND conversation IN (SELECT conversation FROM turns WHERE author = :person AND speaker = 'person')
        """,  # noqa: S608 - a constant
        person=person,
        **scope,
    )


class BeliefForgotten(Value):
    """A belief to forget, with the thoughts that hold it."""

    belief: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await forget_belief(transaction, asker.scope, asker.person, self.belief)
