"""An answer of thirty thousand characters: every word must show, in order, in parts that Slack takes."""

import re

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, stage
from bench.thinker import tagged

_LENGTH = 30_000
_LARGEST = 12_000
_PIECE = 40  # characters of one piece
_WITHIN = 30.0
_SENTENCE = "This is sentence {:04d} of a long answer, and it stands where it belongs.\n\n"


async def measure(_: Bench) -> list[Row]:
    """Sentences that are missing or misplaced, and the longest part."""
    sentences = [_SENTENCE.format(number) for number in range(_LENGTH // len(_SENTENCE.format(0)) + 1)]
    whole = tagged("".join(sentences))
    async with model_server() as model:
        model.pieces = [whole[start : start + _PIECE] for start in range(0, len(whole), _PIECE)]
        async with stage(Bot.OURS, **model.settings) as set_up:
            await set_up.start()
            await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked()), _WITHIN)
            await set_up.quiet(2.0)
            parts = [reply["shown"] for reply in await set_up.replies([await set_up.people.open_dm("ada")])]
    shown_sentences = re.findall(
        r"sentence (\d{4}) of a long answer, and it stands where it belongs\.", " ".join(parts)
    )
    expected = [f"{number:04d}" for number in range(len(sentences))]
    astray = sum(one != other for one, other in zip(shown_sentences, expected, strict=False)) + abs(
        len(shown_sentences) - len(expected)
    )
    return [
        Row(f"{_LENGTH:,} characters shown, sentences astray", "", astray, at_most=0, note=f"in {len(parts)} messages"),
        Row("longest message of it", "characters", max(map(len, parts), default=0), at_most=_LARGEST),
    ]
