"""Invitations to write unasked: a person gives their own, and an admin those for the threads of a channel."""

from collections.abc import Mapping
from typing import Final, Literal

from daemon.core.errors import LostLease
from daemon.core.initiative import (
    DAY_MS,
    MOST_IN_A_THREAD,
    MOST_UNASKED,
    QuietHours,
    SayingUnasked,
    State,
    WhySilent,
    next_pause,
)
from daemon.core.perception import ConversationKey, Place
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.user_models import zone_in
from daemon.memory.queues.memory_acts import Asker

How = Literal["phrase", "click", "admin"]

_ONE: Final = "soul = :soul AND workspace = :workspace AND who = :who"
ARRIVED: Final = "coalesce((SELECT state FROM outbox WHERE id = i.post), 'sent') NOT IN ('dropped', 'dead', 'expired')"
"""A SQL condition on a row `i` of `initiatives`: its post arrived, or may have."""

_LOOKED_AT: Final = 200  # of a person's newest turns, for one that was said to the soul alone


class AskedBefore(LostLease):
    """A person was asked, or decided, during the cycle. Nothing was written, and a new cycle is due."""


class Invitation(Value):
    """A decision about unasked messages to a person or a channel.

    Times are ms, UTC, or 0 for none. `asked`: the soul has asked for the invitation.
    """

    state: State = "unasked"
    until_ms: int = 0
    pause_ms: int = 0
    asked: bool = False
    at_ms: int = 0


async def invitation_of(transaction: Transaction, soul: str, workspace: str, who: str) -> Invitation:
    """Return the invitation of a person, or of a channel for its threads, by platform id."""
    row = await transaction.one(
        f"SELECT * FROM invitations WHERE {_ONE}",  # noqa: S608 - a constant
        soul=soul,
        workspace=workspace,
        who=who,
    )
    if row is None:
        return Invitation()
    return Invitation(row["state"], row["until_ms"], row["pause_ms"], row["asked_ms"] is not None, row["at_ms"])


async def why_silent(
    transaction: Transaction, conversation: ConversationKey, person: str, now: int, quiet: QuietHours
) -> WhySilent:
    """Return why nothing may be said unasked in a conversation now, or ''. `person` spoke there last."""
    room = await transaction.one("SELECT * FROM conversations WHERE id = :id", id=str(conversation))
    if room is None:
        return "not_invited"
    standing = await standing_in(transaction, room, person, now)
    return standing.why_silent(now, quiet.over(now, await zone_in(transaction, room["workspace"], person)))


async def standing_in(transaction: Transaction, room: sqlite3.Row, person: str, now: int) -> SayingUnasked:
    """Return the state of unasked messages in a conversation. `room` is its row, and `person` spoke there last."""
    alone = room["place"] == Place.DM
    key = ConversationKey.parse(room["id"])
    if not alone and not (key.posted_in and room["taking_part"]):
        return SayingUnasked()
    return await standing_of(transaction, key, "" if not alone else person, now)


async def standing_of(transaction: Transaction, where: ConversationKey, person: str, now: int) -> SayingUnasked:
    """Return the state of unasked messages in a person's DMs, or without `person` in a channel's thread."""
    who = person or where.channel
    found = await invitation_of(transaction, where.soul, where.workspace, who)
    if found.state != "invited":
        return SayingUnasked()
    scope = {"soul": where.soul, "workspace": where.workspace, "who": who}
    thread = "" if person else str(where)
    rows = await transaction.rows(
        f"""
        SELECT at_ms FROM initiatives i WHERE {_ONE} AND promised = 0 AND {ARRIVED}
          {"AND conversation = :thread" if thread else ""} ORDER BY seq DESC LIMIT {MOST_UNASKED}
        """,  # noqa: S608 - constants
        **scope,
        **({"thread": thread} if thread else {}),
    )
    said = tuple(row["at_ms"] for row in rows)
    heard = await _heard_in(transaction, thread) if thread else await heard_alone(transaction, where, person)
    return SayingUnasked(
        invited=True,
        paused_to_ms=found.until_ms,
        said_ms=tuple(one for one in said if one > now - DAY_MS),
        most=MOST_IN_A_THREAD if thread else MOST_UNASKED,
        unanswered=bool(said) and max(heard, found.at_ms) <= said[0],
    )


async def heard_alone(transaction: Transaction, where: ConversationKey, person: str) -> int:
    """Return when a person last wrote to the soul in a DM (ms, UTC), or 0 if that is long ago."""
    row = await transaction.one(
        """
        SELECT max(t.said_ms) AS at_ms FROM
          (SELECT conversation, said_ms FROM turns WHERE author = :person AND speaker = 'person'
           ORDER BY seq DESC LIMIT :most) t
        JOIN conversations c ON c.id = t.conversation
        WHERE c.soul = :soul AND c.workspace = :workspace AND c.place = 'dm'
        """,
        person=person,
        most=_LOOKED_AT,
        soul=where.soul,
        workspace=where.workspace,
    )
    return int(row["at_ms"] or 0) if row else 0


async def pause(transaction: Transaction, scope: Mapping[str, str], who: str, now: int) -> int:
    """Pause unasked messages for twice as long as the last time, and return the end (ms, UTC)."""
    length = next_pause((await invitation_of(transaction, scope["soul"], scope["workspace"], who)).pause_ms)
    await transaction.insert(
        "invitations",
        """
        ON CONFLICT (soul, workspace, who) DO UPDATE SET pause_ms = excluded.pause_ms, until_ms = excluded.until_ms
        """,
        **scope,
        who=who,
        state="unasked",
        pause_ms=length,
        until_ms=now + length,
        at_ms=now,
    )
    return now + length


async def decide_invitation(
    transaction: Transaction, scope: Mapping[str, str], who: str, *, invited: bool, how: How, by: str, now: int
) -> None:
    """Invite a soul, which ends a pause, or decline."""
    await transaction.insert(
        "invitations",
        """
        ON CONFLICT (soul, workspace, who) DO UPDATE SET state = excluded.state, how = excluded.how,
          granted_by = excluded.granted_by, at_ms = excluded.at_ms,
          pause_ms = CASE excluded.state WHEN 'invited' THEN 0 ELSE pause_ms END,
          until_ms = CASE excluded.state WHEN 'invited' THEN 0 ELSE until_ms END
        """,
        **scope,
        who=who,
        state="invited" if invited else "declined",
        how=how,
        granted_by=by,
        at_ms=now,
    )


class Invited(Value):
    """A person's decision to be written to unasked, or not."""

    invited: bool
    how: How = "phrase"

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        who = asker.person
        await decide_invitation(transaction, asker.scope, who, invited=self.invited, how=self.how, by=who, now=now)


class InvitationAskedFor(Value):
    """The one question to a person, in this very post, for an invitation to write to them unasked."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Note the question. Raises AskedBefore."""
        found = await invitation_of(transaction, asker.scope["soul"], asker.scope["workspace"], asker.person)
        if found.asked or found.state != "unasked":
            raise AskedBefore("the person was asked or has decided by now", hint="nothing to do: it is thought anew")
        await transaction.insert(
            "invitations",
            "ON CONFLICT (soul, workspace, who) DO UPDATE SET asked_ms = excluded.asked_ms",
            **asker.scope,
            who=asker.person,
            state="unasked",
            asked_ms=now,
            at_ms=now,
        )


async def _heard_in(transaction: Transaction, conversation: str) -> int:
    row = await transaction.one(
        "SELECT said_ms FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=conversation,
    )
    return int(row["said_ms"] or 0) if row else 0
