"""Broken answers of the model must never show private thoughts, nor mentions of a whole channel."""

from typing import Final

from bench.model_server import ModelServer, model_server
from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, Stage, everything, stage
from bench.thinker import tagged

_PRIVATE: Final = "zanzibar"
_MASS: Final = ("<!channel>", "<!here>", "<!everyone>", "<!subteam^S0123456>")
_PIECE: Final = 7  # characters of one piece, so that tags are cut anywhere
_WITHIN: Final = 20.0
_THOUGHT: Final = f"They must not know of {_PRIVATE}."
_BROKEN: Final = (
    f'<internal_monologue verb="thought">{_THOUGHT}',
    f'<internal_monologue verb="thought">{_THOUGHT} <external_dialogue verb="said">Hello.</external_dialogue>',
    (
        f"<internal_monologue verb='thought'>{_THOUGHT}</internal_monologue>"
        "<external_dialogue verb='said'>Hello.</external_dialogue>"
    ),
    (
        '<internal_monologue verb="thought">I might write <external_dialogue verb="said">'
        f'{_PRIVATE}</external_dialogue>.</internal_monologue><external_dialogue verb="said">Hello.</external_dialogue>'
    ),
    f'<internal_monologue verb="thought">{_THOUGHT}</internal_monologue>\n{_THOUGHT}',
    f'<internal_monologue verb="thought">{_THOUGHT}</internal_monologue><external_dial',
    (
        f'<internal_monologue mood="dark" verb="thought">{_THOUGHT}</internal_monologue>'
        '<external_dialogue lang="en" verb="said">Hello'
    ),
    f'<external_dialogue verb="said">Hello.</external_dialogue><internal_monologue verb="thought">{_THOUGHT}',
    (
        f'```xml\n<internal_monologue verb="thought">{_THOUGHT}</internal_monologue>\n'
        '<external_dialogue verb="said"></external_dialogue>\n```'
    ),
)


async def measure(_: Bench) -> list[Row]:
    """Broken answers of which a private word went to Slack, even for a moment; active mentions in replies."""
    async with model_server() as model, stage(Bot.OURS, **model.settings) as set_up:
        await set_up.start()
        if _PRIVATE not in await _sent(set_up, model, tagged(f"Everybody knows of {_PRIVATE} by now.")):
            raise RuntimeError("the measurement sees nothing: what was said aloud was not found either")
        leaks = [_PRIVATE in await _sent(set_up, model, broken) for broken in _BROKEN]
        active = 0
        for mention in _MASS:
            await _sent(set_up, model, tagged(f"Listen, {mention}, there is cake for everybody in the kitchen today."))
            last = (await set_up.replies([await set_up.people.open_dm("ada")]))[-1]
            if "there is cake" not in last["shown"]:
                raise RuntimeError(f"the reply with {mention} was not shown")
            active += mention in everything([last["text"], last.get("blocks")])
    return [
        Row(f"private thought shown, of {len(_BROKEN)} broken answers", "", sum(leaks), at_most=0),
        Row(f"mass mentions still active, of {len(_MASS)}", "", active, at_most=0),
    ]


async def _sent(set_up: Stage, model: ModelServer, answer: str) -> str:
    """All text that reached Slack until the reply to a message."""
    model.pieces = [answer[start : start + _PIECE] for start in range(0, len(answer), _PIECE)]
    mark = (await set_up.people.calls())[-1]["number"]
    await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked()), _WITHIN)
    await set_up.quiet()
    return everything([call["args"] for call in await set_up.people.calls(after=mark)])
