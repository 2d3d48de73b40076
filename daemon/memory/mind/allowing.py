"""Applies the parts of thoughts: proposals that an admin allows, intentions, and notes."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from daemon.core.errors import StoreError
from daemon.core.lineage import read_readers
from daemon.core.perception import Audience, ConversationKey, Place, Readers
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.user_models import zone_in
from daemon.memory.mind.goal_changes import same_words
from daemon.memory.queues.intention_rows import IN_MIND, NewIntention
from daemon.memory.queues.intentions import store_intentions
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.records import as_json, object_or_nothing
from daemon.memory.thought_parts import PartsTaken, StoredThought, ThoughtPart, came_before


class Proposal(Value):
    """A field of a soul's thought that an admin allows: the thought as JSON with this field alone."""

    soul: str
    field: str
    output: str
    zone: str
    now_ms: int


PartsOf = Callable[[Proposal], Sequence[ThoughtPart]]
"""A function that returns the parts of a proposal to apply in the transaction that allows it."""


async def allow(transaction: Transaction, arguments: str, parts_of: PartsOf, now: int) -> tuple[str, Sequence[str]]:
    """Apply what a thought proposed. Return its field, and the reasons why parts of it were refused.

    Raises StoreError if no part can take effect, the words of the thought are gone, or its readers have changed.
    """
    known = object_or_nothing(arguments)
    field = str(known.get("field", ""))
    thought = await transaction.one("SELECT * FROM thoughts WHERE id = :id", id=str(known.get("thought", "")))
    held = object_or_nothing(thought["output"]) if thought is not None and not thought["emptied"] else {}
    if thought is None or field not in held:
        raise StoreError("the words of its thought are gone", hint="refuse it with `soul approvals refuse`")
    stored, zone = await _stored(transaction, thought, now)
    alone = {"inner_speech": "", field: held[field]}
    proposal = Proposal(stored.conversation.soul, field, as_json(alone), zone, now)
    taken = [await part.take(transaction, stored) for part in parts_of(proposal)]
    refused = [why for one in taken for why in one.refused]
    if refused and not any(one.done for one in taken):
        why = ", ".join(dict.fromkeys(refused))
        raise StoreError(f"nothing of it can take effect: {why}", hint="refuse it with `soul approvals refuse`")
    return field, refused


async def _stored(transaction: Transaction, thought: sqlite3.Row, now: int) -> tuple[StoredThought, str]:
    """Return a thought as its commit knew it, and its person's time zone. Raises StoreError if its readers changed."""
    then = read_readers(object_or_nothing(thought["readers"]))
    if then is None or str(then.audience) != thought["audience"]:
        raise StoreError(f"{thought['id']} was thought before other readers", hint="refuse what it proposes")
    said = await transaction.one(
        """
        SELECT author, seq FROM turns WHERE conversation = :conversation AND trace_id = :trace AND speaker = 'person'
        ORDER BY seq DESC LIMIT 1
        """,
        conversation=thought["conversation"],
        trace=thought["trace_id"],
    )
    person = said["author"] if said else ""
    conversation = ConversationKey.parse(thought["conversation"])
    stored = StoredThought(
        thought["id"],
        conversation,
        Audience.parse(thought["audience"]),
        then,
        person=person,
        now=now,
        upto=said["seq"] if said else None,
    )
    return stored, await zone_in(transaction, conversation.workspace, person) if person else ""


MOST_WAITING: Final = 12
"""The most open intentions of the thoughts of one conversation."""

_OPEN: Final = f"""
    SELECT i.id, i.content, i.due_ms, i.conversation, t.id AS thought, t.audience, t.readers FROM intentions i
    JOIN thoughts t ON t.id = substr(i.id, 1, instr(i.id, '-') - 1)
    WHERE i.conversation = :id AND i.slot GLOB '{IN_MIND}*' AND i.content <> ''
      AND (i.state = 'waiting' OR (i.state = 'due' AND i.reason = ''))
    ORDER BY i.due_ms, i.id
    """  # noqa: S608 - a constant
_CAME_BACK: Final = "came back"


class ToDo(Value):
    """An intention for a time (ms, UTC)."""

    words: str
    due_ms: int


class Intended(Value):
    """A due intention, and the id of the thought that made it."""

    id: str
    words: str
    due_ms: int
    thought: str


class IntendedInThought(Value):
    """The intentions of one thought. `refused` holds the reasons why others of it can't take effect."""

    planned: tuple[ToDo, ...]
    refused: Sequence[str] = ()
    field: ClassVar[str] = "memory_ops"

    @property
    def size(self) -> int:
        return len(self.planned) + len(self.refused)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        reasons = [await _intend(transaction, one, thought, seq) for seq, one in enumerate(self.planned, start=1)]
        return PartsTaken(reasons.count(""), (*self.refused, *filter(None, reasons)))


class IntentionsCameBack(Value):
    """The intentions that were in the prompt of an answer, and are therefore over."""

    ids: tuple[str, ...]

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await transaction.run(
            f"""
            UPDATE intentions SET state = 'due', reason = '{_CAME_BACK}', settled_ms = :now
            WHERE conversation = :conversation AND id IN (SELECT value FROM json_each(:ids))
              AND slot GLOB '{IN_MIND}*' AND state IN ('waiting', 'due')
            """,  # noqa: S608 - constants
            conversation=str(asker.conversation),
            ids=as_json(list(self.ids)),
            now=now,
        )


async def intended_now(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, now: int
) -> tuple[Intended, ...]:
    """Return the due intentions of a conversation that were in no prompt yet and that these readers may know."""
    rows = await transaction.rows(_OPEN, id=str(conversation))
    return tuple(
        Intended(row["id"], row["content"], row["due_ms"], row["thought"])
        for row in rows
        if row["due_ms"] <= now and came_before(row, conversation, readers)
    )


async def _intend(transaction: Transaction, one: ToDo, thought: StoredThought, seq: int) -> str:
    """Store an intention. Return the reason why it can't be stored, or ''."""
    waiting = await transaction.rows(_OPEN, id=str(thought.conversation))
    if any(_says_the_same(row, one, thought) for row in waiting):
        return "duplicate"
    if len(waiting) >= MOST_WAITING:
        return "too_many"
    room = await transaction.one("SELECT place FROM conversations WHERE id = :id", id=str(thought.conversation))
    assert room is not None  # the conversation of the thought exists
    name = f"{thought.id}-i{seq}"
    refused = await store_intentions(
        transaction,
        conversation=thought.conversation,
        place=Place(room["place"]),
        audience=thought.audience,
        intentions=(
            NewIntention(slot=f"{IN_MIND}{name}", due_ms=one.due_ms, content=one.words, behalf=thought.person, id=name),
        ),
        now=thought.now,
        most=MOST_WAITING,
    )
    return "too_far" if refused else ""


def _says_the_same(row: sqlite3.Row, one: ToDo, thought: StoredThought) -> bool:
    return same_words(row["content"]) == same_words(one.words) and came_before(
        row, thought.conversation, thought.readers
    )


MOST_NOTED: Final = 5
"""The most notes of one thought."""


class NotedInThought(Value):
    """The notes and journal entries of a thought. The words of the person whom it answers are their evidence."""

    notes: tuple[Remembered | Journaled, ...]

    field: ClassVar[str] = "memory_ops"

    @property
    def size(self) -> int:
        return len(self.notes)

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        asker = Asker(thought.person, thought.conversation, thought.audience, "", thought.upto)
        done = 0
        for note in self.notes[:MOST_NOTED]:
            done += await note.noted(transaction, asker, thought.now, thought)
        refused = ["private"] * (len(self.notes[:MOST_NOTED]) - done)
        return PartsTaken(done, [*refused, *["too_many"] * len(self.notes[MOST_NOTED:])])


class KnownOutcome(Value):
    """Parts that were carried out while the soul thought. Their outcome is known before the commit."""

    field: str
    done: int = 0
    refused: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return self.done + len(self.refused)

    async def take(self, _transaction: Transaction, _thought: StoredThought) -> PartsTaken:
        return PartsTaken(self.done, self.refused)
