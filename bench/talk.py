"""Talk with a daemon of the shipped soul, one message after the other, and what its file says of it afterwards."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from bench.processes import CHECKOUT
from bench.stage import Json, Stage
from bench.thinker import Thinker
from daemon.memory.database.sqlite import sqlite3

SENTENCE: Final = "We looked into the figures again and found that the second pump, number {}, had been left running."
"""What is said in each turn of a talk that counts tokens, with its number."""

_WITHIN: Final = 30.0
_CONTACT: Final = '\n[[contacts]]\nname = "Ben"\nslack = "U0BEN"\ncan = "restarts the database"\n'


def furnish(home: Path, pipeline: str, mind: str = "process") -> None:
    """Give a daemon the shipped soul in this pipeline and with this mind, with a person who can act."""
    folder = home / "souls" / "minoan"
    shutil.copytree(CHECKOUT.get() / "souls" / "minoan", folder)
    manifest = folder / "soul.toml"
    shipped = manifest.read_text(encoding="utf-8")
    fields = f'pipeline = "{pipeline}"' + (f'\nmind = "{mind}"' if mind != "process" else "")
    manifest.write_text(shipped.replace('pipeline = "unified"', fields) + _CONTACT, encoding="utf-8")


async def say(set_up: Stage, thinker: Thinker, person: str, words: str) -> Json:
    """Say something in a DM, and wait until the reply stands and all that follows it is done; gives the message."""
    thinker.newest = words
    message = await set_up.say(person, "dm", words)
    await set_up.reply_to(message, _WITHIN)
    await at_rest(set_up)
    return message


async def at_rest(set_up: Stage) -> None:
    """Wait until nothing is posted and nothing is left to do after a reply. Raises RuntimeError where it goes on."""

    async def look() -> bool:
        return not read(set_up, "SELECT 1 FROM jobs WHERE state IN ('ready', 'running') LIMIT 1")

    await set_up.quiet(0.3)
    if not await set_up.until(look, _WITHIN):
        raise RuntimeError("what is done after a reply did not come to its end")


def mark(set_up: Stage) -> tuple[int, int]:
    """The last rows of `llm_calls` and of the transitions."""
    calls, steps = "SELECT coalesce(max(rowid), 0) FROM llm_calls", "SELECT coalesce(max(seq), 0) FROM transitions"
    return int(read(set_up, calls)[0][0]), int(read(set_up, steps)[0][0])


def read(set_up: Stage, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows of the daemon's file."""
    with closing(sqlite3.connect(f"{(set_up.home / 'memory.db').as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, values).fetchall()
