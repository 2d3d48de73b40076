"""A minute without a message: the calls and the processor time of an idle bot."""

from contextlib import closing
from pathlib import Path

from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, stage
from daemon.memory.database.sqlite import sqlite3


async def measure(bench: Bench) -> list[Row]:
    """Calls of models and of Slack's Web API, and processor time; in real time, both bots side by side."""
    seconds = bench.size(60, 10)
    async with stage(Bot.OURS) as ours, stage(Bot.ECHO) as echo:
        both = (ours, echo)
        for one in both:
            await one.start()
            await one.reply_to(await one.say("ada", "dm", one.marked()))
            await one.quiet(3.0)
        calls = [len(await one.people.calls()) for one in both]
        used = [one.cpu for one in both]
        await ours.clock.sleep(seconds)
        asked, echo_asked = [len(await one.people.calls()) - count for one, count in zip(both, calls, strict=True)]
        busy, echo_busy = [100 * (one.cpu - before) / seconds for one, before in zip(both, used, strict=True)]
        await ours.stop()
        thoughts = _model_calls(ours.home / "memory.db") - 1  # the one before the silence
    when = f"{seconds} s of silence"
    return [
        Row(f"{when}, model calls", "", thoughts, 0, at_most=0),
        Row(f"{when}, Slack calls", "", asked, echo_asked, at_most=0),
        Row(f"{when}, processor", "%", busy, echo_busy, at_most=2),
    ]


def _model_calls(path: Path) -> int:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM llm_calls").fetchone()[0])
