"""Three poor models: how many messages end mute, what private goes to Slack, and the model calls of a message."""

from contextlib import closing
from typing import Final

from bench.model_server import model_server
from bench.plan import Bench
from bench.poor_models import KINDS, PRIVATE, PoorModel
from bench.report import Row
from bench.stage import Bot, everything, stage
from daemon.memory.database.sqlite import sqlite3

_WITHIN: Final = 60.0
_WHO: Final = {"prose": "never writes a tag", "limit": "always meets its limit", "aloud": "thinks aloud"}


async def measure(bench: Bench) -> list[Row]:
    """For each model: apologies, private words in the calls to Slack, and calls for one message."""
    return [row for kind in KINDS for row in await _of(kind, bench.size(20, 6))]


async def _of(kind: str, messages: int) -> list[Row]:
    async with model_server() as model:
        model.thinker = PoorModel(kind)
        async with stage(Bot.OURS, **model.settings) as set_up:
            await set_up.start()
            for _ in range(messages):
                await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked()), _WITHIN)
            await set_up.quiet()
            replies = await set_up.replies([await set_up.people.open_dm("ada")])
            sent = everything([call["args"] for call in await set_up.people.calls()])
            with closing(sqlite3.connect(f"{(set_up.home / 'memory.db').as_uri()}?mode=ro", uri=True)) as connection:
                (calls,) = connection.execute("SELECT count(*) FROM llm_calls").fetchone()
    mute = sum("I'm sorry" in reply["shown"] for reply in replies)
    return [
        Row(f"a model that {_WHO[kind]}: mute, of {messages}", "", mute, at_most=0),
        Row(f"a model that {_WHO[kind]}: private words shown", "", sent.count(PRIVATE), at_most=0),
        Row(f"a model that {_WHO[kind]}: calls a message", "", calls / messages),
    ]
