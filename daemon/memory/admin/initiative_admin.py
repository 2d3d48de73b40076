"""A soul's permissions to write unasked: who granted them, what was written, and the admin's decisions."""

from typing import Final

from daemon.core.authority import Function, Level
from daemon.core.errors import StoreError
from daemon.core.initiative import DAY_MS, MOST_IN_A_THREAD, MOST_UNASKED, QuietHours, state_of
from daemon.core.perception import ConversationKey
from daemon.memory.audit import AuditedChanges, one_write
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.user_models import zone_in
from daemon.memory.queues.invitations import ARRIVED, decide_invitation, standing_of
from daemon.memory.records import Row
from daemon.memory.senses.readings import tell_of_level
from daemon.memory.stream.authority import authority_of, decide_level

_OF_PEOPLE: Final = "('dm', 'terminal')"
_LISTED: Final = f"""
    SELECT i.workspace, i.who, i.state, i.how, i.granted_by, i.until_ms, 1 AS decided,
      EXISTS (SELECT 1 FROM conversations c WHERE c.soul = i.soul AND c.workspace = i.workspace AND c.channel = i.who
                AND c.place NOT IN {_OF_PEOPLE}) AS is_channel
    FROM invitations i WHERE i.soul = :soul
    UNION
    SELECT DISTINCT m.workspace, m.person, 'unasked', '', '', 0, 0, 0 FROM user_models m WHERE m.soul = :soul
      AND NOT EXISTS (SELECT 1 FROM invitations i WHERE i.soul = m.soul AND i.workspace = m.workspace
                        AND i.who = m.person)
    ORDER BY 2, 1
"""  # noqa: S608 - constants


async def list_invitations(database: Database, soul: str, now: int, quiet: QuietHours) -> list[Row]:
    """Return the permissions of all users whom a soul knows, and of channels with a decision. Raises StoreError.

    `sent_today` counts unasked posts within a day, except promises and posts that never arrived. `next_ms` is the first
    moment for another one, None if time alone doesn't allow it.
    """

    async def unit(transaction: Transaction) -> list[Row]:
        rows = await transaction.rows(_LISTED, soul=soul)
        return [await _listed(transaction, soul, row, now, quiet) for row in rows]

    return await database.read(unit)


async def said_unasked(database: Database, soul: str, most: int) -> list[Row]:
    """Return a soul's newest unasked posts, oldest first, without their words. Raises StoreError."""
    rows = await database.rows(
        """
        SELECT at_ms, who, person, conversation, promised, disliked AS unwanted FROM initiatives WHERE soul = :soul
        ORDER BY seq DESC LIMIT :most
        """,
        soul=soul,
        most=most,
    )
    flags = ("promised", "unwanted")
    return [{**dict(row), **{name: bool(row[name]) for name in flags}} for row in reversed(rows)]


class InvitationChanges(AuditedChanges):
    """The permissions to write unasked, set by the admin `actor`. Only users can invite a soul to write to them."""

    @one_write
    async def allow(self, transaction: Transaction, soul: str, who: str) -> None:
        """Let a soul write unasked in the threads of a channel. Raises StoreError."""
        found = await _channels(transaction, soul, who)
        if not found and await _people(transaction, soul, who):
            raise StoreError(
                f"only {who} can invite {soul} to write to them",
                hint="they write `follow up on` to it in a direct message; an admin allows channels alone",
            )
        await self._decide(transaction, soul, who, found, invited=True)

    @one_write
    async def deny(self, transaction: Transaction, soul: str, who: str) -> None:
        """Forbid unasked messages to a user or in a channel, except promised ones. Raises StoreError."""
        found = (*await _channels(transaction, soul, who), *await _people(transaction, soul, who))
        await self._decide(transaction, soul, who, found, invited=False)

    async def _decide(
        self, transaction: Transaction, soul: str, who: str, workspaces: tuple[str, ...], *, invited: bool
    ) -> None:
        if not workspaces:
            raise StoreError(
                f"{soul} knows no channel or person {who[:40]!r}",
                hint="name one by its Slack id, such as C0123ABCD, in which the soul was spoken to",
            )
        now = self._clock.now_ms()
        for workspace in dict.fromkeys(workspaces):
            scope = {"soul": soul, "workspace": workspace}
            await decide_invitation(transaction, scope, who, invited=invited, how="admin", by=self._actor, now=now)
        await self._record(transaction, f"initiative.{'allow' if invited else 'deny'}", f"{soul} {who}")


async def _channels(transaction: Transaction, soul: str, who: str) -> tuple[str, ...]:
    rows = await transaction.rows(
        f"""
        SELECT DISTINCT workspace FROM conversations WHERE soul = :soul AND channel = :who
          AND place NOT IN {_OF_PEOPLE}
        """,  # noqa: S608 - a constant
        soul=soul,
        who=who,
    )
    return tuple(row["workspace"] for row in rows)


async def _people(transaction: Transaction, soul: str, who: str) -> tuple[str, ...]:
    rows = await transaction.rows(
        """
        SELECT workspace FROM user_models WHERE soul = :soul AND person = :who
        UNION SELECT workspace FROM invitations i WHERE soul = :soul AND who = :who AND NOT EXISTS
          (SELECT 1 FROM conversations c WHERE c.soul = i.soul AND c.workspace = i.workspace AND c.channel = i.who)
        """,
        soul=soul,
        who=who,
    )
    return tuple(row["workspace"] for row in rows)


async def _listed(transaction: Transaction, soul: str, row: sqlite3.Row, now: int, quiet: QuietHours) -> Row:
    workspace, who = row["workspace"], row["who"]
    state, sent, next_ms = state_of(row["state"], row["until_ms"], now), 0, None
    if row["decided"]:
        said = await transaction.one(
            f"""
            SELECT count(*) AS n FROM initiatives i WHERE soul = :soul AND workspace = :workspace AND who = :who
              AND promised = 0 AND at_ms > :since AND {ARRIVED}
            """,  # noqa: S608 - a constant
            soul=soul,
            workspace=workspace,
            who=who,
            since=now - DAY_MS,
        )
        sent = said["n"] if said else 0
    if row["state"] == "invited":
        next_ms = max(now, row["until_ms"])
        if not row["is_channel"]:
            zone = await zone_in(transaction, workspace, who)
            standing = await standing_of(transaction, ConversationKey(soul, workspace, ""), who, now)
            next_ms = standing.next_ms(now, lambda at: quiet.over(at, zone))
    return {
        "who": who,
        "state": state,
        "how": row["how"],
        "granted_by": row["granted_by"],
        "until_ms": row["until_ms"] if row["until_ms"] > now else None,
        "day_limit": MOST_IN_A_THREAD if row["is_channel"] else MOST_UNASKED,
        "sent_today": sent,
        "next_ms": next_ms,
    }


LONGEST_WHY: Final = 400


class AuthorityChanges(AuditedChanges):
    """The levels of authority, set by the admin `actor`."""

    @one_write
    async def set(self, transaction: Transaction, soul: str, function: Function, level: Level, why: str) -> Level:
        """Set a function's level and restart its counts. Return the level before. Raises StoreError."""
        if not why.strip() or len(why) > LONGEST_WHY:
            raise StoreError("the reason is missing or too long", hint=f"say why in at most {LONGEST_WHY} characters")
        now = self._clock.now_ms()
        before = (await authority_of(transaction, soul)).level(function)
        await decide_level(transaction, soul, function, level, why=why.strip(), by=self._actor, now=now)
        await tell_of_level(transaction, soul, function, level, now)
        await self._record(transaction, "mind.authority", f"{soul} {function}", f"{before} to {level}")
        return before
