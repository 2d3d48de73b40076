"""Intentions: their requests, their rows, how they fall due, and what an edit or deletion of their message does."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from msgspec import field

from daemon.core.perception import ConversationKey, Modality
from daemon.core.timetable import Recurrence, next_slot, recurrence_of
from daemon.core.value import Value
from daemon.core.words import ALIKE, Term, likeness, terms_of, words_of
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import Note, note_in_conversation
from daemon.memory.knowledge.turns import handed_among
from daemon.memory.knowledge.user_models import zone_in
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.records import read_row

DIGEST: Final = "digest"
"""The errand of an intention that tells in a channel what was said there since the last time."""

CUE: Final = "cue"
"""The parameter of a due event that holds its cue: SILENCE if no answer came."""

SILENCE: Final = "silence"
"""The cue of an intention that another person's words after `covers_to` in its conversation cancel."""

IN_MIND: Final = "mind:"
"""The prefix of the slots of what a thought means to do later: it comes back in a prompt and posts nothing."""

FOR_PEOPLE: Final = f"slot <> 'idle' AND slot NOT GLOB '{IN_MIND}*'"
"""A SQL condition: the intention is for people, and not the soul's own."""

ENDS_MS: Final = "ends_ms"
"""The parameter that holds the end (ms, UTC) of a recurring intention."""

TIMES: Final = "times"
"""The parameter that holds how often a recurring intention fires at most."""

DUE_OF: Final = "due_of"
"""The parameter of a due event that holds the id of its intention, if that has a rule or an errand."""


class NewIntention(Value, kw_only=True):
    """An event that the soul perceives at `due_ms`, or from then on at each slot of `every`.

    `every` is a crontab in UTC, or a rule (`core.timetable`) on the clocks of `zone`, which follows `behalf` when they
    move. `process` is the mental process to visit, with `params`. If it is empty, the conversation's current process
    perceives the event. `behalf` is the user (platform id) it is done for, whom the gate checks. The `errand` is done
    in place of a reminder. `asked_where` is the conversation that asked for it, if that is another one. Without an `id`
    a random one is drawn.
    """

    slot: str
    due_ms: int = 0
    process: str = ""
    params: Mapping[str, object] = field(default_factory=dict)
    content: str = ""
    every: str = ""
    behalf: str
    cue: Literal["", "silence"] = ""
    zone: str = ""
    errand: str = ""
    covers_to: str = ""
    asked_where: str = ""
    id: str = ""


class Intention(Value):
    """A row of `intentions`.

    `fired` counts how often it fell due. Its person names it by `number`. `zone` is the time zone of its rule,
    `fired_day` the local day for which it was last due. A `paused` intention doesn't fall due. A digest covers what
    came after the ts `covers_to`.
    """

    id: str
    conversation: str
    slot: str
    due_ms: int
    every: str
    process: str
    params: Mapping[str, object]
    content: str
    behalf: str
    place: str
    audience: str
    state: str
    reason: str
    fired: int
    created_ms: int
    settled_ms: int | None
    cue: str = ""
    number: int = 0
    zone: str = ""
    fired_day: str = ""
    errand: str = ""
    covers_to: str = ""
    paused: str = ""

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Intention":
        return read_row(cls, row, params=json.loads)

    @property
    def ends_ms(self) -> int:
        return _whole(self.params.get(ENDS_MS))

    @property
    def times_left(self) -> int:
        times = _whole(self.params.get(TIMES))
        return max(1, times - self.fired) if times else 0


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


async def next_number(transaction: Transaction, behalf: str, workspace: str) -> int:
    """Return the number for a person's next intention, across all souls. The daemon's own looks have none."""
    row = await transaction.one(
        """
        SELECT coalesce(max(number), 0) + 1 AS next FROM intentions
        WHERE behalf = :behalf AND workspace = :workspace AND slot <> 'idle'
        """,
        behalf=behalf,
        workspace=workspace,
    )
    assert row is not None  # an aggregate always has a row
    return int(row["next"])


async def fire(transaction: Transaction, intention: Intention, now: int) -> None:
    """Queue a due intention once for each slot, and reschedule a recurring one. A thought's only becomes `due`."""
    if intention.slot.startswith(IN_MIND):
        await transaction.run(
            "UPDATE intentions SET state = 'due', fired = 1, settled_ms = :now WHERE id = :id", now=now, id=intention.id
        )
        return
    fired, rule = intention.fired + 1, recurrence_of(intention.every)
    own = {DUE_OF: intention.id} if rule is not None or intention.errand else {}
    own |= {CUE: intention.cue} if intention.cue else {}
    await store_internal_event(
        transaction,
        name=f"due:{intention.id}:{fired}",
        conversation=ConversationKey.parse(intention.conversation),
        modality=Modality.TIME,
        author=intention.behalf,
        place=intention.place,
        audience=intention.audience,
        body=intention.content,
        process=intention.process,
        params={**intention.params, **own},
        at_ms=intention.due_ms,
        now=now,
    )
    day = rule.day_of(intention.due_ms, intention.zone) if rule is not None else ""
    zone = await zone_in(transaction, intention.conversation.split("/")[1], intention.behalf) or intention.zone
    following = _following(intention, rule, now, zone, day)
    await transaction.run(
        """
        UPDATE intentions SET fired = :fired, due_ms = coalesce(:following, due_ms),
               fired_day = :day, zone = CASE :rule WHEN 1 THEN :zone ELSE zone END,
               state = CASE WHEN :following IS NULL THEN 'due' ELSE state END,
               settled_ms = CASE WHEN :following IS NULL THEN :now END WHERE id = :id
        """,
        fired=fired,
        following=following,
        day=day,
        zone=zone,
        rule=int(rule is not None),
        now=now,
        id=intention.id,
    )


def _following(intention: Intention, rule: Recurrence | None, now: int, zone: str, day: str) -> int | None:
    if intention.times_left == 1:
        return None
    try:
        if rule is not None:
            due_ms = rule.after(intention.due_ms, now, zone, day).due_ms
            return None if 0 < intention.ends_ms < due_ms else due_ms
        return next_slot(intention.every, max(now, intention.due_ms) + 1) if intention.every else None
    except ValueError:  # the crontab has no further slot
        return None


ASKED_IN: Final = "heard"
"""The parameter that holds the ts of the messages that asked for an intention. Deleting one cancels it."""

WITHDRAWN: Final = "withdrawn"
"""The parameter of an event about an intention that ended with the message that asked for it."""


async def forget_what_was_asked(transaction: Transaction, conversation: str, ts: str, now: int) -> None:
    """Cancel the intentions that a deleted message asked for, and delete their text."""
    for row in await _asked_in(transaction, conversation, ts):
        await _drop(transaction, row, "its message was deleted", now)
        if row["errand"] == DIGEST and row["state"] == "waiting":
            await _have_it_heard(transaction, row, now)


async def _have_it_heard(transaction: Transaction, row: sqlite3.Row, now: int) -> None:
    """Inform the person by an event that their digest ended: their DM may have to be opened first."""
    await store_internal_event(
        transaction,
        name=f"withdrawn:{row['id']}",
        conversation=ConversationKey.parse(row["conversation"]),
        modality=Modality.TIME,
        author=row["behalf"],
        place=row["place"],
        audience=row["audience"],
        params={DUE_OF: row["id"], WITHDRAWN: True},
        now=now,
    )


async def reword_what_was_asked(transaction: Transaction, conversation: str, ts: str, text: str, now: int) -> None:
    """Cancel the intentions that hold words which an edit takes out of their message, and keep the others.

    The person gets a line that says which. Call this before the turn gets its new text.
    """
    asked = await _asked_in(transaction, conversation, ts)
    turn = asked and await transaction.one(
        "SELECT body FROM turns WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'",
        conversation=conversation,
        ts=ts,
    )
    if not turn:
        return
    said, written = words_of(turn["body"]), words_of(text)
    if said == written:
        return
    kept = set(written)
    gone = set(said) - kept
    for row in asked:
        stays = not any(_says(term, gone) and not _says(term, kept) for term in terms_of(row["content"]))
        if not stays:
            await _drop(transaction, row, "its message was edited", now)
        if row["state"] == "waiting":
            await note_in_conversation(
                transaction,
                row["conversation"],
                f"{'kept' if stays else 'edited'} {row['id']}",
                Note.AS_SET if stays else Note.REWORDED,
                reply_to=conversation.rpartition("/")[2],
                recipient=row["behalf"],
                now=now,
            )


def _says(term: Term, words: Collection[str]) -> bool:
    return any(likeness(term, word) >= ALIKE for word in words)


async def _asked_in(transaction: Transaction, conversation: str, ts: str) -> list[sqlite3.Row]:
    """Return the intentions that a message asked for, also those of a soul to which the thread was handed."""
    rows = [
        row
        for one in sorted(await handed_among(transaction, conversation))
        for row in await transaction.rows(
            """
            SELECT * FROM intentions WHERE conversation = :conversation AND content <> ''
            UNION ALL SELECT * FROM intentions
            WHERE conversation = :conversation AND state = 'waiting' AND content = '' AND errand <> ''
            UNION ALL SELECT * FROM intentions
            WHERE asked_where = :conversation AND asked_where <> ''
              AND (content <> '' OR (errand <> '' AND state = 'waiting'))
            """,
            conversation=one,
        )
    ]
    return [row for row in rows if ts in _messages_that_asked(json.loads(row["params"]))]


async def _drop(transaction: Transaction, row: sqlite3.Row, reason: str, now: int) -> None:
    await transaction.run(
        """
        UPDATE intentions SET content = '', settled_ms = coalesce(settled_ms, :now),
               reason = CASE WHEN state = 'waiting' THEN :reason ELSE reason END,
               state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END WHERE id = :id
        """,
        reason=reason,
        now=now,
        id=row["id"],
    )


def _messages_that_asked(params: Mapping[str, object]) -> Sequence[object]:
    timestamps = params.get(ASKED_IN)
    return timestamps if isinstance(timestamps, list) else ()
