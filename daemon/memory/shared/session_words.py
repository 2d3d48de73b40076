"""What sessions of Claude Code say: texts that they have the soul keep, and how often they ask it."""

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.sessions import DOOR, KeyOwner
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.people.standing import paused_of
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.records import Speaks, Turn


async def keep_words(  # noqa: PLR0917 - one of each
    transaction: Transaction, owner: KeyOwner, where: ConversationKey, text: str, audience: Audience, now: int
) -> bool:
    """Store a text as said in a session's conversation; False where its person has remembering paused.

    Its author is the session, never its person: what a program says is no evidence about people.
    """
    scope = {"soul": where.soul, "workspace": where.workspace}
    if await paused_of(transaction, scope, [owner.author]):
        return False
    await open_conversation(transaction, where, Place.TERMINAL, audience, now, heard=True)
    name = f"{owner.name}'s session" if owner.name else "the admin's session"
    ts = f"{now // 1000}.{now % 1000:03d}000"
    said = Turn(Speaks.PERSON, owner.author, name, ts, text)
    await store_turns(
        transaction, [said], conversation=where, audience=audience, trace_id=f"{owner.author}/{ts}", now=now
    )
    return True


async def asked_since(transaction: Transaction, owner: KeyOwner, soul: str, workspace: str, since_ms: int) -> int:
    """How often the sessions of a key have asked the soul, or had it keep a text, since then."""
    talks = str(ConversationKey(soul, workspace, DOOR))
    row = await transaction.one(
        """
        SELECT (SELECT count(*) FROM inbox
                WHERE author = :author AND workspace = :workspace AND received_ms > :since_ms)
             + (SELECT count(*) FROM turns WHERE conversation >= :first AND conversation < :last
                  AND author = :author AND substr(trace_id, 1, length(:kept)) = :kept AND ts > :since) AS number
        """,
        author=owner.author,
        workspace=workspace,
        since_ms=since_ms,
        first=talks,
        last=f"{talks}~",
        kept=f"{owner.author}/",
        since=platform_time(since_ms),
    )
    assert row is not None
    number: int = row["number"]
    return number
