"""The cost of the engine for an ordinary message, compared with the engine switched off, and of a second soul."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import Bot, Stage, stage

_WARM_UP: Final = 10
_NAME: Final = "measured"
_BARE: Final = 'subprocesses = []\nprocesses = ["engaged"]\n'


async def measure(bench: Bench) -> list[Row]:
    """Ratios within one run: both daemons run side by side and get messages by turns, so that load affects both."""
    return [*await _messages(bench.size(200, 40)), await _second_soul()]


async def _messages(size: int) -> list[Row]:
    times: tuple[list[float], list[float]] = ([], [])
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(stage(Bot.OURS, SOUL_NAME=_NAME)) for _ in times]
        for one, manner in zip(both, ("", _BARE), strict=True):
            _write_soul(one.home, manner)
            await one.start()
        for number in range(size + _WARM_UP):
            if number == _WARM_UP:
                used = [one.cpu for one in both]
            for one, taken in zip(both, times, strict=True):
                taken.append(1000 * await one.reply_to(await one.say("ada", "dm", one.marked())))
        for one in both:
            await one.quiet()
        full, bare = (1000 * (one.cpu - before) / size for one, before in zip(both, used, strict=True))
    with_it, without = (quantile(taken[_WARM_UP:], 0.5) for taken in times)
    return [
        Row(
            "ordinary message with all machinery to one without, processor",
            "",
            full / bare,
            note=f"{full:.1f} ms against {bare:.1f} ms; without: no subprocess, and engaged alone of ten processes",
        ),
        Row(
            "ordinary message with all machinery to one without, p50",
            "",
            with_it / without,
            note=f"{with_it:.1f} ms against {without:.1f} ms until the reply stands",
        ),
    ]


async def _second_soul() -> Row:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(stage(Bot.OURS))
        two = await stack.enter_async_context(stage(Bot.OURS, SOUL_SOULS=_NAME))
        _write_soul(two.home, 'channels = ["C0GENERAL"]\n')
        alone, together = await _at_rest(one), await _at_rest(two)
    return Row(
        "resident memory with two souls to one, restarted",
        "",
        together / alone,
        note=f"{together:.1f} MiB against {alone:.1f} MiB",
    )


async def _at_rest(set_up: Stage) -> float:
    """Memory after a restart, once every soul has answered in a DM and in a channel."""
    await set_up.start()
    await set_up.stop()
    await set_up.start()
    for room in ("dm", "general"):
        await set_up.reply_to(await set_up.say("ada", room, f"@soul {set_up.marked()}"))
    await set_up.quiet()
    return set_up.memory


def _write_soul(home: Path, manner: str) -> None:
    folder = home / "souls" / _NAME
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text(f'name = "{_NAME}"\ndisplay_name = "Soul"\n{manner}', encoding="utf-8")
    (folder / "soul.md").write_text("You are a colleague: exact, warm and brief.\n", encoding="utf-8")
