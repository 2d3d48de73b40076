"""The time that the daemon adds around a slow model: before the prompt, and before the first visible words."""

from bench.model_server import ModelServer, model_server
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import Bot, Json, Stage, stage
from bench.thinker import tagged

_PACE = 0.02  # seconds a word, like a quick model
_LONGEST_WAIT = 20.0
_Times = tuple[float, float, float]
_WORDS = "These are the words of a patient model that says a good deal before it comes to its end. "


async def measure(bench: Bench) -> list[Row]:
    """Medians over DMs, by one machine's clock (within a millisecond); half of the answers say what is called for."""
    with_wish: list[_Times] = []
    without: list[_Times] = []
    async with model_server() as model:
        model.pause = _PACE
        async with stage(Bot.OURS, **model.settings) as set_up:
            await set_up.start()
            for number in range(bench.size(16, 5) + 1):
                with_wish.append(await _one(set_up, model, 2 * number))
                without.append(await _one(set_up, model, 2 * number + 1, wish=False))
    before, first, whole = (quantile(values, 0.5) for values in zip(*with_wish[1:], strict=True))
    first_without = quantile([first for _, first, _ in without[1:]], 0.5)
    return [
        Row("from the event to the prompt, p50", "ms", before, at_most=40),
        Row("from the model's first words to visible ones, p50", "ms", first),
        Row("the same, later than without the first element", "ms", first - first_without, at_most=15),
        Row("from the model's last word to the finished reply, p50", "ms", whole),
    ]


async def _one(set_up: Stage, model: ModelServer, number: int, *, wish: bool = True) -> _Times:
    """Milliseconds: event to prompt, first spoken piece to first visible one, last piece to the finished reply."""
    spoken = [f"Answer{number:03d} ", *(f"{word} " for word in (_WORDS * 4).split())]
    opening, closing = tagged("CUT", wish="nothing" if wish else "").split("CUT")
    model.pieces = [opening, *spoken, closing]
    mark = (await set_up.people.calls())[-1]["number"]
    message = await set_up.say("ada", "dm", set_up.marked())
    await set_up.reply_to(message, _LONGEST_WAIT)
    calls = await set_up.people.calls(after=mark)
    asked = next(at for at, said in enumerate(model.said_at) if spoken[0] in said)  # a summary may be asked for later
    said, received = model.said_at[asked], 1000 * float(message["ts"])
    return (
        model.asked_at[asked] - received,
        1000 * _first_shown(calls) - said[spoken[0]],
        1000 * set_up.answers[message["ts"]] - said[closing],
    )


def _first_shown(calls: list[Json]) -> float:
    return float(next(call["at"] for call in calls if call["method"] in ("chat.startStream", "chat.postMessage")))
