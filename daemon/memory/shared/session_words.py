"""Words of sessions of Claude Code, which are no evidence about people: kept texts, and counts of requests."""

from typing import Final

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.sessions import DOOR, HookEvent, KeyOwner, SessionWords
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.people.standing import paused_of
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn

MOST_KEPT_DAILY: Final = 1_000
"""The most texts kept with one key in a day."""

_DAY_MS: Final = 24 * 3_600_000


async def may_keep(transaction: Transaction, key: str, now: int) -> bool:
    """Count a text. Return False if the day's limit is reached."""
    row = await transaction.one(
        """
        UPDATE keys SET words_day = :day,
          words_kept = CASE words_day WHEN :day THEN min(words_kept + 1, :most) ELSE 1 END,
          words_left_out = CASE words_day WHEN :day THEN words_left_out + (words_kept >= :most) ELSE 0 END,
          words_noted = CASE words_day WHEN :day THEN words_noted ELSE 0 END
        WHERE id = :key RETURNING words_left_out
        """,
        key=key,
        day=now // _DAY_MS,
        most=MOST_KEPT_DAILY,
    )
    return row is None or not row["words_left_out"]


async def is_to_be_heard(transaction: Transaction, key: str, now: int) -> bool:
    """Return True if texts were left out today and no session knows. Marks it as known."""
    heard = await transaction.one(
        """
        UPDATE keys SET words_noted = 1 WHERE id = :key AND words_day = :day AND words_left_out > 0 AND words_noted = 0
        RETURNING id
        """,
        key=key,
        day=now // _DAY_MS,
    )
    return heard is not None


async def keep_words(  # noqa: PLR0917 - one of each
    transaction: Transaction, owner: KeyOwner, where: ConversationKey, text: str, audience: Audience, now: int
) -> bool:
    """Store a text as said in a session's conversation. Return False if its person paused remembering."""
    trace = f"{owner.author}/{platform_time(now)}"
    return await _keep(transaction, owner, SessionWords(where, audience, text), "", trace, now, now)


async def keep_said(transaction: Transaction, owner: KeyOwner, event: HookEvent, words: SessionWords) -> bool:
    """Store a hook's words. Return False if they can't be kept, or repeat another user's question."""
    asked = await transaction.one(
        """
        SELECT 1 FROM shared_messages WHERE addressee = :session AND kind IN ('question', 'task')
          AND words <> '' AND instr(:text, words) > 0
        """,
        session=event.session,
        text=words.text,
    )
    if asked and event.hook == "UserPromptSubmit":
        return False
    if not await may_keep(transaction, owner.key, event.received_ms):
        return False
    trace, what = f"hook/{event.id}", _WHAT.get(event.hook, "")
    return await _keep(transaction, owner, words, what, trace, event.happened_ms, event.received_ms)


_WHAT: Final = {"UserPromptSubmit": ", asked", "PostCompact": ", in short"}


async def _keep(  # noqa: PLR0917 - one of each
    transaction: Transaction, owner: KeyOwner, words: SessionWords, what: str, trace: str, said_ms: int, now: int
) -> bool:
    where = words.where
    if await paused_of(transaction, {"soul": where.soul, "workspace": where.workspace}, [owner.author]):
        return False
    await open_conversation(transaction, where, Place.TERMINAL, words.audience, now, heard=True)
    name = f"{owner.name}'s session" if owner.name else "the admin's session"
    said = Turn(Speaks.SESSION, owner.author, f"{name}{what}", platform_time(said_ms), words.text)
    await store_turns(transaction, [said], conversation=where, audience=words.audience, trace_id=trace, now=now)
    return True


async def asked_since(transaction: Transaction, owner: KeyOwner, soul: str, workspace: str, since_ms: int) -> int:
    """Return the number of questions to the soul, and of kept texts, from a key's sessions since then."""
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
