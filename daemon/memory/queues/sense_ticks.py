"""Readings that wake a thought: each becomes a tick of its conversation, about the goal of which it tells."""

from collections.abc import Mapping
from typing import Final

from daemon.memory.database import Transaction

STILL_WAITS: Final = """
    EXISTS (SELECT 1 FROM readings r WHERE r.conversation = ticks.conversation AND r.state = 'waiting')
    AND (about = '' OR EXISTS (SELECT 1 FROM goals g WHERE g.soul = ticks.soul AND g.id = about AND g.state = 'open'))
    """
"""A condition in SQL: what a tick of the kind `sense` is about was not perceived meanwhile, and still matters."""

WAKING: Final = "soul = :soul AND workspace = :workspace AND wakes_ms IS NOT NULL"
"""A condition in SQL: the reading is to wake a thought."""

_LONG_AGO_MS: Final = 86_400_000  # a soul whose inner life begins today doesn't begin with what is long past


async def note_readings(transaction: Transaction, scope: Mapping[str, str], now: int, most: int) -> None:
    """Note as ticks the readings that are to wake a thought by now; a tick that has to wait for its turn waits on."""
    rows = await transaction.rows(
        f"""
        SELECT seq, conversation, concerns, wakes_ms FROM readings WHERE {WAKING} AND wakes_ms <= :now
        ORDER BY wakes_ms LIMIT :most
        """,  # noqa: S608 - a constant
        now=now,
        most=most,
        **scope,
    )
    for row in rows:
        await transaction.run("UPDATE readings SET wakes_ms = NULL WHERE seq = :seq", seq=row["seq"])
        if row["wakes_ms"] > now - _LONG_AGO_MS:
            await transaction.insert(
                "ticks",
                """
                ON CONFLICT (conversation, kind, about) DO UPDATE SET due_ms = coalesce(ticks.due_ms, excluded.due_ms)
                """,
                **scope,
                conversation=row["conversation"],
                kind="sense",
                about=row["concerns"],
                due_ms=now,
            )
