"""Messages that a soul posts unasked, and the pause that grows each time a user doesn't want them."""

import json
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from daemon.core.initiative import QuietHours, QuietThere, WhySilent
from daemon.core.perception import ConversationKey, Place
from daemon.core.tempo import REFLECTING
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.goals_in_force import OWED
from daemon.memory.knowledge.user_models import zone_in
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.invitations import heard_alone, invitation_of, pause, standing_in, why_silent
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.queues.promises import PromisesKept, is_promised
from daemon.memory.records import Speaks, as_json
from daemon.memory.stream.keeping import NewThought

_OF_ONE: Final = "soul = :soul AND workspace = :workspace AND who = :who"
_IN_VAIN: Final = 2
"""The number of unanswered messages in a row after which the soul pauses."""


class SpokeUnasked(Value):
    """The unasked words that are posted with the same commit.

    `post` is the first post, `about` are the inbox ids of their ticks. `promised`: they were promised to the person,
    and need no invitation.
    """

    post: str
    about: tuple[str, ...]
    promised: bool = False

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        place = await transaction.one("SELECT place FROM conversations WHERE id = :id", id=str(asker.conversation))
        to_person = self.promised or place is None or place["place"] == Place.DM
        row = await transaction.insert(
            "initiatives",
            "RETURNING seq",
            **asker.scope,
            conversation=str(asker.conversation),
            who=asker.person if to_person else asker.conversation.channel,
            person=asker.person,
            promised=int(self.promised),
            post=self.post,
            at_ms=now,
        )
        assert row is not None
        await transaction.run(
            "UPDATE ticks SET spoken = :seq WHERE inbox IN (SELECT value FROM json_each(:about)) AND inbox <> ''",
            seq=row["seq"],
            about=as_json(list(self.about)),
        )


class NotNow(Value):
    """A person's answer that they don't want an unasked message now."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        row = await unwanted_here(transaction, asker.conversation, asker.person)
        if row is not None:
            await _unwanted(transaction, row, now)


async def unwanted_here(transaction: Transaction, where: ConversationKey, person: str) -> sqlite3.Row | None:
    """Return the newest unasked message, also of another DM thread, that *not now* may mean, or None."""
    row = await transaction.one(
        """
        SELECT i.*, c.place FROM initiatives i JOIN conversations c ON c.id = i.conversation
        WHERE i.soul = :soul AND i.workspace = :workspace AND (i.conversation = :conversation
          OR (i.who = :person AND c.channel = :channel)) ORDER BY i.seq DESC LIMIT 1
        """,
        soul=where.soul,
        workspace=where.workspace,
        conversation=str(where),
        person=person,
        channel=where.channel,
    )
    if row is None or row["disliked"] or not _concerns(row, person):
        return None
    said = await transaction.one(
        """
        SELECT 1 FROM turns WHERE conversation IN (:conversation, :here) AND author = :person AND said_ms > :at
        LIMIT 1
        """,
        conversation=row["conversation"],
        here=str(where),
        person=person,
        at=row["at_ms"],
    )
    return row if said is None else None


async def dislike(transaction: Transaction, post: str, person: str, now: int) -> None:
    """Leave a person alone for a while who rated an unasked post bad."""
    row = await transaction.one(
        "SELECT * FROM initiatives WHERE post = :post AND disliked = 0", post=f"{post.rpartition('#')[0]}#0"
    )
    if row is not None and _concerns(row, person):
        await _unwanted(transaction, row, now)


async def _unwanted(transaction: Transaction, row: sqlite3.Row, now: int) -> None:
    await transaction.run("UPDATE initiatives SET disliked = 1 WHERE seq = :seq", seq=row["seq"])
    await _leave_alone(transaction, [row], now)


async def quiet_to_speak(transaction: Transaction, room: sqlite3.Row, person: str, now: int, quiet: QuietHours) -> int:
    """Return the end (ms, UTC) of the quiet hours that an allowed unasked message has to wait for, or 0.

    `room` is the row of its conversation. If earlier unasked messages there got no answer, a pause begins first.
    """
    standing = await standing_in(transaction, room, person, now)
    if standing.unanswered:
        where = ConversationKey.parse(room["id"])
        await _pause_if_in_vain(transaction, where, person if room["place"] == Place.DM else where.channel, now)
    over = quiet.over(now, await zone_in(transaction, room["workspace"], person))
    return over if standing.why_silent(now, over) == "quiet" else 0


async def _pause_if_in_vain(transaction: Transaction, where: ConversationKey, who: str, now: int) -> None:
    """Pause for a person, or for a channel's threads, if the last two unasked messages got no answer."""
    rows = await transaction.rows(
        f"SELECT * FROM initiatives WHERE {_OF_ONE} ORDER BY seq DESC LIMIT {_IN_VAIN}",  # noqa: S608 - constants
        soul=where.soul,
        workspace=where.workspace,
        who=who,
    )
    found = await invitation_of(transaction, where.soul, where.workspace, who)
    since = max(found.at_ms, found.until_ms - found.pause_ms)  # what was said before the last pause counts once
    if len(rows) < _IN_VAIN or any(row["disliked"] or row["at_ms"] <= since for row in rows):
        return
    for row in rows:
        if await _was_answered(transaction, row, min(each["at_ms"] for each in rows)):
            return
    await _leave_alone(transaction, rows, now)


async def _was_answered(transaction: Transaction, row: sqlite3.Row, since: int) -> bool:
    said = await transaction.one(
        """
        SELECT 1 FROM turns WHERE conversation = :conversation AND speaker = 'person' AND said_ms > :since
          AND (author = :person OR :person = '') LIMIT 1
        """,
        conversation=row["conversation"],
        since=since,
        person=row["who"] if row["who"] == row["person"] else "",
    )
    if said is not None or row["who"] != row["person"]:
        return said is not None
    return await heard_alone(transaction, ConversationKey.parse(row["conversation"]), row["who"]) > since


def _concerns(row: sqlite3.Row, person: str) -> bool:
    return bool(row["person"] == person or row["who"] != row["person"])


async def _leave_alone(transaction: Transaction, rows: Sequence[sqlite3.Row], now: int) -> None:
    """Pause once for all these rows, and drop what they were about, except promises."""
    seqs, first = as_json([row["seq"] for row in rows]), rows[0]
    scope = {"soul": first["soul"], "workspace": first["workspace"]}
    await pause(transaction, scope, first["who"], now)
    await transaction.run(
        f"""
        UPDATE ticks SET due_ms = NULL WHERE conversation IN (SELECT conversation FROM initiatives
            WHERE seq IN (SELECT value FROM json_each(:seqs)))
          AND spoken IN (SELECT value FROM json_each(:seqs))
          AND NOT EXISTS (SELECT 1 FROM goals g WHERE g.soul = ticks.soul AND g.id = about AND {OWED})
        """,  # noqa: S608 - a constant
        seqs=seqs,
    )


SPEECH: Final = "external_speech"
"""The field of a thought whose words are said."""


async def as_may_be_said(transaction: Transaction, effect: CycleEffect, now: int) -> CycleEffect:
    """Return the effect, without its unasked words if they may not be posted now."""
    if effect.quiet is None or not effect.parts or effect.asker is None:
        return effect
    where, person = effect.claim.conversation, effect.asker.person
    kept = next((one for one in effect.acts if isinstance(one, PromisesKept)), None)
    goals = kept.goals if kept is not None else ()
    early = kept is not None and kept.early
    owed = [one for one in goals if await is_promised(transaction, where.soul, one, now, early=early)]
    if goals and not owed:
        return _unsaid(effect, "not_now")
    is_tick = any(one.perception.process == REFLECTING for one in effect.claim.messages)
    invited = bool(goals) or not is_tick  # else it is a silence, into which the soul speaks by its file
    why = await must_be_silent(transaction, where, person, now, effect.quiet, promised=invited)
    return _unsaid(effect, why) if why else effect


async def must_be_silent(
    transaction: Transaction, conversation: ConversationKey, person: str, now: int, quiet: QuietHours, *, promised: bool
) -> WhySilent:
    """Return why an unasked thought may not be posted now, or ''. Only quiet hours hold back what was promised."""
    if not promised:
        return await why_silent(transaction, conversation, person, now, quiet)
    return "quiet" if quiet.over(now, await zone_in(transaction, conversation.workspace, person)) > now else ""


async def quiet_of_posts(transaction: Transaction, effect: CycleEffect) -> str:
    """Return the quiet hours of an effect's posts, as their rows store them, or '' if a user waits for them."""
    if effect.quiet is None or effect.asker is None:
        return ""
    zone = await zone_in(transaction, effect.claim.conversation.workspace, effect.asker.person)
    return str(QuietThere(effect.quiet, zone))


def _unsaid(effect: CycleEffect, why: WhySilent) -> CycleEffect:
    thoughts = effect.thoughts
    if thoughts is not None:
        thoughts = replace(thoughts, thoughts=tuple(_silenced(one, why) for one in thoughts.thoughts))
    return replace(
        effect,
        parts=(),
        files=(),
        turns=tuple(one for one in effect.turns if one.speaker is not Speaks.SOUL),
        acts=tuple(one for one in effect.acts if not isinstance(one, PromisesKept | SpokeUnasked)),
        surfaced=(),
        known_facts=(),
        thoughts=thoughts,
        silent=True,
    )


def _silenced(thought: NewThought, why: WhySilent) -> NewThought:
    output = json.loads(thought.output)
    if not thought.spoke and not output.get(SPEECH):
        return thought
    output.pop(SPEECH, None)
    return replace(
        thought, output=json.dumps(output, ensure_ascii=False), spoke=False, refused=(*thought.refused, (SPEECH, why))
    )
