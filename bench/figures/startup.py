"""A bot's start, with a new home and with one that was used before: its first socket, its first reply, its memory."""

from statistics import median

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, Stage, stage
from bench.thinker import tagged
from daemon.core.value import Value

_WITHIN = 1.0
_PATIENCE = 60.0  # seconds for one reply of a loaded machine
_SETTLED = 2.0  # seconds without a call, in which what follows a reply is loaded


class _Start(Value):
    """Seconds from the start to the socket and to the reply to a DM that is sent then, and what that took."""

    socket: float
    reply: float
    processor: float
    memory: float


async def measure(bench: Bench) -> list[Row]:
    """The median of several starts of each kind; ours asks a model at once, over OpenAI's SDK."""
    first: dict[Bot, _Start] = {}
    again: dict[Bot, _Start] = {}
    async with model_server() as model:
        model.pieces = [tagged("Good morning.")]
        for bot in Bot:
            new, known = [], []
            for _ in range(bench.size(5, 2)):
                async with stage(bot, **model.settings) as set_up:
                    new.append(await _start(set_up))
                    await set_up.stop()
                    known.append(await _start(set_up))
            first[bot], again[bot] = _median(new), _median(known)
    rows = list[Row]()
    for name, seen in (("the first start", first), ("a restart", again)):
        ours, echo = seen[Bot.OURS], seen[Bot.ECHO]
        rows += [
            Row(f"socket up after {name}", "s", ours.socket, echo.socket, at_most=_WITHIN),
            Row(f"first reply after {name}", "s", ours.reply, echo.reply),
            Row(f"processor until then, {name}", "s", ours.processor, echo.processor),
            Row(f"resident memory after one DM, {name}", "MiB", ours.memory, echo.memory),
        ]
    return rows


async def _start(set_up: Stage) -> _Start:
    began = set_up.clock.monotonic()
    socket = await set_up.start()
    await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked()), _PATIENCE)
    reply, processor = set_up.clock.monotonic() - began, set_up.cpu
    await set_up.quiet(_SETTLED)
    return _Start(socket, reply, processor, set_up.memory)


def _median(starts: list[_Start]) -> _Start:
    return _Start(*(median(getattr(one, name) for one in starts) for name in _Start.__struct_fields__))
