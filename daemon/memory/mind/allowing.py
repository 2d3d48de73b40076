"""What a thought proposed takes effect, since an admin allows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey
from daemon.core.thought_readers import read_readers
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.zones import zone_in
from daemon.memory.records import as_json, object_or_nothing
from daemon.memory.thought_parts import StoredThought, ThoughtPart


@dataclass(frozen=True, slots=True)
class Proposal:
    """A field of a soul's thought that an admin allows: the thought with nothing in it but this field, as JSON."""

    soul: str
    field: str
    output: str
    zone: str
    now_ms: int


PartsOf = Callable[[Proposal], Sequence[ThoughtPart]]
"""Gives the parts of a proposal that take effect in the transaction that allows it."""


async def allow(transaction: Transaction, arguments: str, parts_of: PartsOf, now: int) -> tuple[str, Sequence[str]]:
    """Let what a thought proposed take effect; gives its field, and why some of it did not.

    Raises StoreError where nothing of it can take effect, the words of its thought are gone, or came before others than
    may read them now.
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
    """A thought as its commit knew it, and the zone of the person whom it answered.

    Raises StoreError where its channel was made private since.
    """
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
