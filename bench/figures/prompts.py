"""How the prompt grows over a hundred turns of one conversation, by the tokens in `llm_calls`."""

from contextlib import closing
from pathlib import Path

from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, stage
from daemon.memory.database.sqlite import sqlite3

_TURNS = 100
_FLAT_FROM = 30
_GROWTH = 1.15  # of the longest prompt after that turn to the longest before it
_SENTENCE = "We looked into the figures of last week again and found that the second pump had been left running. "


async def measure(_: Bench) -> list[Row]:
    """Tokens of the first and the last prompt, and whether the later ones still grow."""
    async with stage(Bot.OURS) as set_up:
        await set_up.start()
        for _turn in range(_TURNS):
            await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked(_SENTENCE * 4)))
        await set_up.quiet()
        await set_up.stop()
        tokens = _ledger(set_up.home / "memory.db")
    growth = max(tokens[_FLAT_FROM:]) / max(tokens[:_FLAT_FROM])
    return [
        Row("prompt of turn 1", "tokens", tokens[0], at_most=2500),
        Row(f"prompt of turn {_TURNS}", "tokens", tokens[-1], at_most=4000, note=f"{len(tokens)} replies counted"),
        Row(f"longest prompt of the {_TURNS}", "tokens", max(tokens), at_most=4000),
        Row(f"longest prompt after turn {_FLAT_FROM} to longest before", "", growth, at_most=_GROWTH),
    ]


def _ledger(path: Path) -> list[int]:
    """Tokens of each reply's prompt, in order; the daemon has ended, so that no other process has the file open."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT tokens_in FROM llm_calls WHERE step = 'respond' ORDER BY rowid").fetchall()
    return [int(count) for (count,) in found]
