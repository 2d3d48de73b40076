"""A memory.db with very many thoughts, goals and expectations, made by a few statements of SQL.

One direct message holds a tenth of the thoughts; the others and as many threads share the rest. Of the goals those in
direct messages are open and not yet due, of the expectations the newest five of each conversation are open.
"""

from contextlib import closing
from pathlib import Path
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.memory.database import schema
from daemon.memory.database.sqlite import sqlite3

SOUL, TEAM = "ada", "T1"
TALKS: Final = 2_000
_EVERY_MS: Final = 20_000  # between two thoughts
_LATER_MS: Final = 30 * 86_400_000  # until the first goal is due
_OWNER: Final = f"'{SOUL}', '{TEAM}'"
_TALK: Final = f"iif(i % 10, i % {TALKS}, 0)"  # the number of a conversation
_EVENLY: Final = f"(i % {TALKS})"
_OPEN: Final = f"i >= :rows - {5 * TALKS}"  # of the predictions, the newest five of each conversation
_NUMBERS: Final = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :rows - 1)"


def _id(number: str) -> str:
    """The id of a conversation by its number, in SQL; even ones are DMs."""
    return f"printf(iif({number} % 2, '{SOUL}/{TEAM}/C1/t%d', '{SOUL}/{TEAM}/D%d/'), {number})"


def _audience(number: str) -> str:
    return f"iif({number} % 2, 'workspace:{TEAM}', 'dm:D' || ({number}))"


def _where(number: str) -> str:
    """The columns of a conversation by its number: workspace, id, audience and readers."""
    readers = f"json_object('audience', {_audience(number)}, 'members_only', json('true'))"
    return f"'{TEAM}', {_id(number)}, {_audience(number)}, {readers}"


_FILL: Final = {
    "conversations": f"""
    INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms, taking_part)
    SELECT {_id("i")}, {_OWNER}, iif(i % 2, 'C1', 'D' || i), iif(i % 2, 't' || i, ''),
           iif(i % 2, 'thread', 'dm'), {_audience("i")}, :began, 1 FROM n
    """,  # noqa: S608 - constants
    "thoughts": f"""
    INSERT INTO thoughts (soul, id, workspace, conversation, audience, readers, trace_id, previous, at_ms, occasion,
                          process, asked, degraded, spoke, did, refused, calls, tokens_in, tokens_out, cost_usd, saw_to,
                          passing, input, output)
    SELECT '{SOUL}', 'TH_' || i, {_where(_TALK)}, 't' || i, '', :began + i * {_EVERY_MS},
           iif(i % 4, 'words', 'due'), 'engaged', 1, i % 50 = 0, i % 4 > 0, '{{}}', '[]', 1, 3000, 300, 0.005, 2 * i,
           0, iif(i > :rows * 0.9, printf('{{"inner_speech": "%.*c"}}', 4000, 'x'), ''),
           printf('{{"inner_speech": "%.*c"}}', 600, 'y') FROM n
    """,  # noqa: S608 - constants
    "goals": f"""
    INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words, priority, state,
                       follow_up, said_in, kept_ms, due_ms, created_ms, touched_ms, why, thought, changed_by)
    SELECT '{SOUL}', 'G' || i, {_where(_EVENLY)}, 'U' || ({_EVENLY}), 'see to it ' || i, 'see to it ' || i, 0.5,
           iif(i % 2 AND i > 24, 'done', 'open'), i % 4 = 0, iif(i % 4, '', 'post' || i),
           iif(i % 4 = 0 AND i < :rows * 0.9, :began, NULL),
           :now + {_LATER_MS} + i * {_EVERY_MS}, :now - i, :now - i, '', 'TH_' || i, 'TH_' || i FROM n
    """,  # noqa: S608 - constants
    "predictions": f"""
    INSERT INTO predictions (soul, id, workspace, conversation, audience, readers, thought, confidence, kind, goal,
                             made_ms, due_ms, state, surprise, scored_ms, shown, woken, what, timeframe, awaited)
    SELECT '{SOUL}', 'P' || i, {_where(_EVENLY)}, 'TH_' || i, 0.7, 'mention', '', :began,
           iif({_OPEN}, :now + {_LATER_MS}, :began),
           iif({_OPEN}, 'open', iif(i % 3, 'hit', 'miss')), iif({_OPEN}, NULL, iif(i % 3, 0.3, 0.7)),
           iif({_OPEN}, NULL, :began + i), i < :rows - {7 * TALKS}, 1, 'it works ' || i, 'in 30 days',
           '{{"kind": "mention", "words": ["works"], "who": ""}}' FROM n
    """,  # noqa: S608 - constants
    "ticks": f"""
    INSERT INTO ticks (soul, workspace, conversation, kind, about, due_ms, pause_ms)
    SELECT {_OWNER}, {_id(_EVENLY)}, 'due', 'G' || i,
           iif(i % 10, NULL, :now + {_LATER_MS} + i), 0 FROM n
    """,  # noqa: S608 - constants
}


def fill(path: Path, sizes: dict[str, int], now_ms: int) -> None:
    """Make a memory.db with so many thoughts, goals and predictions, of which none is due at `now_ms` (UTC)."""
    schema.migrate(path)
    rows = {"conversations": TALKS, "ticks": sizes["goals"], **sizes}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("synchronous=OFF", "cache_size=-200000", "foreign_keys=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        for table, statement in _FILL.items():
            values = {"rows": rows[table], "now": now_ms, "began": now_ms - sizes["thoughts"] * _EVERY_MS}
            select = statement.index("SELECT")
            connection.execute(f"{statement[:select]} {_NUMBERS} {statement[select:]}", values)
        connection.execute("COMMIT")


def talk(number: int) -> tuple[ConversationKey, Readers]:
    """One of the conversations, and its readers."""
    number %= TALKS
    audience = Audience(AudienceKind.WORKSPACE, TEAM) if number % 2 else Audience(AudienceKind.DM, f"D{number}")
    room = ("C1", f"t{number}") if number % 2 else (f"D{number}", "")
    return ConversationKey(SOUL, TEAM, *room), Readers(audience, members_only=True)
