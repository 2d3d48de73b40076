"""A hundred turns of one talk: most of each prompt was sent before, and no prompt grows long."""

from itertools import pairwise

import pytest

from daemon.core.ports.services import Prompt
from tests.given import tagged, tokens
from tests.journeys.house import House
from tests.models import Reply
from tests.prompts.cache_share import common_share, marked_share

TURNS = 60
SAID = "We looked into the figures of last week again and found that the second pump, number {}, had been left running."
REPLY = (
    "The second pump was left running over the weekend, which is why the figures of last week look so odd. I'd compare "
    "them with the log of the valve first; if both agree, the counter is fine and only the schedule has to be mended."
)
SUMMARY = "Open:\n- Kothar owes Ada a plan\nSo far:\n" + "They went through the figures of the pumps. " * 12


async def thinks(prompt: Prompt) -> Reply:
    """Proper answers of the usual length; now and then the mood moves."""
    match prompt.step:
        case "respond":
            thought = "They want the plain cause before anything else, and the valve's log is the quickest way."
            return tagged(REPLY, monologue=thought, moved="number 7" in prompt.messages[-1].text)
        case "feel":
            return '{"emotional_state": "focused", "topic": "the second pump", "task": "", "question": ""}'
        case "summarize":
            return SUMMARY
    return '{"holds": false}'


@pytest.mark.slow
async def test_four_fifths_of_what_is_sent_were_sent_before(house: House) -> None:
    house.model.default = thinks
    for number in range(TURNS):
        await house.answered("Ada", "dm", SAID.format(number))
        await house.idle()
    prompts = [one for one in house.prompts if one.step == "respond"]
    assert len(prompts) == TURNS
    sizes = [tokens(one) for one in prompts]
    shares = [common_share(before, after) for before, after in pairwise(prompts)]
    marked = [marked_share(prompts[max(0, place - 5) : place], prompts[place]) for place in range(1, TURNS)]
    sent = sum(sizes[1:])
    moves = sum(1 for one in shares if one < 0.6)
    mean = sum(share * size for share, size in zip(shares, sizes[1:], strict=True)) / sent
    by_marks = sum(share * size for share, size in zip(marked, sizes[1:], strict=True)) / sent
    assert moves, "the window moved meanwhile"
    assert mean >= 0.8
    assert by_marks >= 0.75
    assert sizes[0] <= 2_500
    assert sizes[-1] <= 4_000
    assert sum(sizes[-20:]) / 20 <= 4_400, "little longer wherever the window stands"
