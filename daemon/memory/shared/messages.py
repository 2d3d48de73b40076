"""The notes that souls send each other: each counts once against a budget, before it costs a model call (seed 003).

A note's inbox row is in a conversation of the sender and of those who may know its words. Words said in one such
conversation never enter another. A trigger updates the note with the row's state.
"""

import secrets
from typing import Final

from daemon.core.contexts import ADMIN, SOULS
from daemon.core.notes import (
    FROM_PARAM,
    MARK,
    NOTE_PARAM,
    SOUL_CHANNEL,
    NoteBudget,
    NoteKind,
    NoteState,
    SharedMessage,
)
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Place
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.bound_threads import called_by_people, holder_of, other_apps
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import read_row
from daemon.memory.shared.store import AwarenessStore

_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS


class NewNote(Value):
    """A note to store. `answered` is the note that it answers, which determines its conversation."""

    sender: str
    addressee: str
    workspace: str
    words: str
    audience: Audience
    hops: int
    conversation: str = ""
    behalf: str = ""
    answered: SharedMessage | None = None

    @property
    def kind(self) -> NoteKind:
        return NoteKind.NOTE if self.answered is None else NoteKind.ANSWER

    @property
    def heard_in(self) -> str:
        if self.answered is not None:
            return self.answered.conversation
        everybody = self.audience.kind is AudienceKind.WORKSPACE
        thread = self.sender if everybody else f"{self.sender}:{self.audience}"
        return str(ConversationKey(self.addressee, self.workspace, SOUL_CHANNEL, thread))


class NoteStore:
    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace
        self._awareness = AwarenessStore(database, clock, workspace)

    async def hosted(self) -> frozenset[str]:
        """Return the souls that living daemons host, by their shown names. Raises StoreError."""
        present = await self._awareness.members(SOULS, ADMIN.audience)
        return frozenset(one.member.partition(":")[0] for one in present)

    async def called(self) -> dict[str, str]:
        """Return the shown name of each hosted soul. Raises StoreError."""
        return await self._database.read(called_by_people)

    async def other_apps(self, where: ConversationKey) -> dict[str, frozenset[str]]:
        """Return the souls that only other Slack apps host, with their bot accounts. Raises StoreError."""
        return await self._database.read(lambda transaction: other_apps(transaction, where))

    async def send(self, note: NewNote, budget: NoteBudget) -> SharedMessage:
        """Store a note, as `refused` if it exceeds the budget. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(lambda transaction: store_note(transaction, note, budget, now))

    async def why_over(self, note: NewNote, budget: NoteBudget, pending: int) -> str:
        """Return the reason why the budget refuses a note after `pending` others, or ''. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.read(lambda transaction: why_over(transaction, note, budget, now, pending))

    async def note(self, name: str) -> SharedMessage | None:
        return await self._database.read(lambda transaction: note_of(transaction, name))

    async def newest(self, limit: int) -> list[SharedMessage]:
        rows = await self._database.rows(
            "SELECT * FROM shared_messages ORDER BY created_ms DESC, rowid DESC LIMIT :limit", limit=limit
        )
        return [read_note(row) for row in rows]

    async def sent_from(self, conversation: ConversationKey, since_ms: int, limit: int) -> list[SharedMessage]:
        """Return the newest notes that a soul sent from a conversation since then, newest first. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT * FROM shared_messages
            WHERE conversation = :id AND created_ms > :since AND kind = 'note'
            ORDER BY created_ms DESC, rowid DESC LIMIT :limit
            """,
            id=str(conversation),
            since=since_ms,
            limit=limit,
        )
        return [read_note(row) for row in rows]

    async def heard_in(self, conversation: ConversationKey, limit: int) -> list[SharedMessage]:
        """Return the newest notes for a conversation's readers, oldest first. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT * FROM shared_messages WHERE heard_in = :id AND state IN ('delivered', 'answered')
              AND audience = (SELECT audience FROM conversations WHERE id = :id)
            ORDER BY created_ms DESC, rowid DESC LIMIT :limit
            """,
            id=str(conversation),
            limit=limit,
        )
        return [read_note(row) for row in reversed(rows)]


async def store_note(
    transaction: Transaction, note: NewNote, budget: NoteBudget, now: int, refused: str = ""
) -> SharedMessage:
    """Store a note with its inbox row, or as `refused` if it exceeds the budget or `refused` gives a reason."""
    name, kind, heard_in = f"{MARK}{secrets.token_hex(6)}", note.kind, note.heard_in
    if note.answered is not None and heard_in:
        heard_in = str(await holder_of(transaction, ConversationKey.parse(heard_in)))
    reason = refused or await why_over(transaction, note, budget, now)
    state, inbox = NoteState.REFUSED, ""
    if not reason and not heard_in:
        state = NoteState.DELIVERED  # the admin looks by themselves
    elif not reason:
        inbox = await _have_perceived(transaction, name, note, heard_in, now)
        state, reason = (NoteState.WAITING, "") if inbox else (NoteState.DROPPED, "its conversation is gone")
    await transaction.insert(
        "shared_messages",
        id=name,
        kind=kind,
        sender=note.sender,
        addressee=note.addressee,
        workspace=note.workspace,
        conversation=note.conversation,
        heard_in=heard_in,
        inbox=inbox,
        behalf=note.behalf,
        audience=str(note.audience),
        hops=note.hops,
        answers=note.answered.id if note.answered else "",
        state=state,
        reason=reason,
        created_ms=now,
        delivered_ms=now if state is NoteState.DELIVERED else None,
        words=note.words,
    )
    if note.answered is not None and state is not NoteState.REFUSED:
        await transaction.run(
            "UPDATE shared_messages SET state = 'answered', answered_ms = :now WHERE id = :id",
            now=now,
            id=note.answered.id,
        )
    stored = await note_of(transaction, name)
    assert stored is not None  # stored in this very transaction
    return stored


async def why_over(transaction: Transaction, note: NewNote, budget: NoteBudget, now: int, pending: int = 0) -> str:
    """Return the reason why a note exceeds the budget, or ''. An answer needs only few enough hops."""
    if note.hops > budget.hops:
        return f"it is more than {budget.hops} notes away from what a person said; wait until a person says more"
    if note.kind is NoteKind.ANSWER:
        return ""
    row = await transaction.one(
        """
        SELECT coalesce(sum(pair AND created_ms > :minute), 0) AS minutely, coalesce(sum(pair), 0) AS hourly
        FROM (SELECT created_ms, (sender = :sender AND addressee = :addressee)
                OR (sender = :addressee AND addressee = :sender) AS pair
              FROM shared_messages
              WHERE created_ms > :hour AND workspace = :workspace AND kind = 'note' AND state <> 'refused')
        """,
        sender=note.sender,
        addressee=note.addressee,
        workspace=note.workspace,
        minute=now - _MINUTE_MS,
        hour=now - _HOUR_MS,
    )
    day = await transaction.one(
        """
        SELECT count(*) AS daily FROM shared_messages
        WHERE created_ms > :day AND workspace = :workspace AND sender = :sender AND kind = 'note' AND state <> 'refused'
        """,
        sender=note.sender,
        workspace=note.workspace,
        day=now - _DAY_MS,
    )
    assert row is not None  # sums of no rows are a row, too
    assert day is not None
    between = f"between {note.sender} and {note.addressee}"
    if row["minutely"] + pending >= budget.pair_minutely:
        return f"{budget.pair_minutely} notes a minute are the most {between}; wait a minute"
    if row["hourly"] + pending >= budget.pair_hourly:
        return f"{budget.pair_hourly} notes an hour are the most {between}; wait, or have SOUL_PAIR_HOURLY raised"
    if day["daily"] + pending >= budget.soul_daily:
        return f"{budget.soul_daily} notes a day are the most of {note.sender}; wait until tomorrow"
    return ""


async def note_of(transaction: Transaction, name: str) -> SharedMessage | None:
    row = await transaction.one("SELECT * FROM shared_messages WHERE id = :id", id=name)
    return read_note(row) if row else None


async def last_heard(transaction: Transaction, conversation: ConversationKey, sender: str) -> SharedMessage | None:
    """Return the newest note of a sender that was received in a conversation."""
    row = await transaction.one(
        """
        SELECT * FROM shared_messages WHERE heard_in = :id AND sender = :sender AND state IN ('delivered', 'answered')
        ORDER BY created_ms DESC, rowid DESC LIMIT 1
        """,
        id=str(conversation),
        sender=sender,
    )
    return read_note(row) if row else None


async def _have_perceived(transaction: Transaction, name: str, note: NewNote, heard_in: str, now: int) -> str:
    """Put the note into the inbox. Return the row's id, or '' if the conversation is gone."""
    key = ConversationKey.parse(heard_in)
    place, audience, author = str(Place.TERMINAL), str(note.audience), f"{SOUL_CHANNEL}.{note.sender}"
    if note.answered is None:
        await open_conversation(transaction, key, Place.TERMINAL, note.audience, now)
    else:
        row = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=str(key))
        if row is None:
            return ""
        place, audience = row["place"], row["audience"]
        author = author if key.channel == SOUL_CHANNEL else note.behalf
    return await store_internal_event(
        transaction,
        name=name,
        conversation=key,
        modality=Modality.NOTE,
        author=author,
        place=place,
        audience=audience,
        body=note.words,
        params={NOTE_PARAM: name, FROM_PARAM: note.sender},
        now=now,
    )


def read_note(row: sqlite3.Row) -> SharedMessage:
    return read_row(SharedMessage, row, kind=NoteKind, audience=Audience.parse, state=NoteState, bound=bool)


class SentNote(Value):
    """A note that the soul sends with its conversation's audience. `refused` is the reason why it may not be sent."""

    addressee: str
    words: str
    behalf: str
    hops: int
    budget: NoteBudget
    refused: str = ""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        where = asker.conversation
        note = NewNote(
            where.soul,
            self.addressee,
            where.workspace,
            self.words,
            asker.audience,
            self.hops,
            conversation=str(where),
            behalf=self.behalf,
        )
        await store_note(transaction, note, self.budget, now, self.refused)


class SaidToSoul(Value):
    """A soul's words to the soul that it hears: an answer to the note `heard`, or a new note after an answer."""

    heard: str
    words: str
    budget: NoteBudget

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        where = asker.conversation
        heard, other = await note_of(transaction, self.heard), where.thread.partition(":")[0]
        if heard is None:  # forgotten since
            return
        theirs = heard if heard.sender == other else await last_heard(transaction, where, other)
        if theirs is None:
            return
        asks = theirs.kind is NoteKind.NOTE and theirs.answered_ms is None
        note = NewNote(
            where.soul,
            other,
            where.workspace,
            self.words,
            asker.audience,
            heard.hops + 1,
            conversation=str(where),
            behalf=heard.behalf,
            answered=theirs if asks else None,
        )
        await store_note(transaction, note, self.budget, now)
