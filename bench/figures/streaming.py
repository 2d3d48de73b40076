"""The time that the daemon adds around a slow model: before the prompt, and before the first visible words."""

from bench.model_server import ModelServer, model_server
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import Bot, Json, Stage, stage
from bench.thinker import tagged

_PACE = 0.02  # seconds a word, like a quick model
_LONGEST_WAIT = 20.0
_WORDS = "These are the words of a patient model that says a good deal before it comes to its end. "


async def measure(bench: Bench) -> list[Row]:
    """Medians over DMs, by one machine's clock (within a millisecond)."""
    before: list[float] = []
    first: list[float] = []
    whole: list[float] = []
    async with model_server() as model:
        model.pause = _PACE
        async with stage(Bot.OURS, **model.settings) as set_up:
            await set_up.start()
            for number in range(bench.size(20, 5) + 1):
                times = await _one(set_up, model, number)
                for gathered, value in zip((before, first, whole), times, strict=True):
                    gathered.append(value)
    return [
        Row("from the event to the prompt, p50", "ms", quantile(before[1:], 0.5), at_most=40),
        Row("from the model's first words to visible ones, p50", "ms", quantile(first[1:], 0.5)),
        Row("from the model's last word to the finished reply, p50", "ms", quantile(whole[1:], 0.5)),
    ]


async def _one(set_up: Stage, model: ModelServer, number: int) -> tuple[float, float, float]:
    """Milliseconds: event to prompt, first spoken piece to first visible one, last piece to the finished reply."""
    spoken = [f"Answer{number:03d} ", *(f"{word} " for word in (_WORDS * 4).split())]
    opening, closing = tagged("CUT").split("CUT")
    model.pieces = [opening, *spoken, closing]
    mark = (await set_up.people.calls())[-1]["number"]
    message = await set_up.say("ada", "dm", set_up.marked())
    await set_up.reply_to(message, _LONGEST_WAIT)
    calls = await set_up.people.calls(after=mark)
    said, received = model.said_at[-1], 1000 * float(message["ts"])
    return (
        model.asked_at[-1] - received,
        1000 * _first_shown(calls) - said[spoken[0]],
        1000 * set_up.answers[message["ts"]] - said[closing],
    )


def _first_shown(calls: list[Json]) -> float:
    return float(next(call["at"] for call in calls if call["method"] in ("chat.startStream", "chat.postMessage")))
