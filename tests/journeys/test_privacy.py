"""A private thought never leaves the daemon, whatever the model writes: a whole daemon reads hostile answers."""

import random
from collections.abc import AsyncGenerator

import pytest

from daemon.core.ports.services import Clock, Completion, ModelRole, Prompt
from tests import chance
from tests.given import shown
from tests.journeys.house import House
from tests.models import FakeModel
from tests.unit.hostile_answers import CANARY, Author

ANSWERS = 60
_AT_ONCE = 20  # as many drafts as Slack lets us begin in a minute
_PAUSE = 0.2  # seconds in which the beginning of a draft is sent
_WORDS = "These are words that all may see. " * 3
_SHOWN = f'<external_dialogue verb="said">{_WORDS}</external_dialogue>'


class LeakyModel(FakeModel):
    """Answers by the grammar, in small pieces; a reply has pauses, so that its draft shows before its end is known."""

    def __init__(self, dice: random.Random, clock: Clock) -> None:
        super().__init__()
        self._dice, self._clock = dice, clock
        self._in_elements, self._plainly = Author(dice), Author(dice, plain=True)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`."""
        self.prompts.append(prompt)
        answer = (self._in_elements if prompt.step == "respond" else self._plainly).answer()
        if self._dice.random() < 0.5:
            yield _SHOWN if prompt.step == "respond" else _WORDS
            await self._clock.sleep(_PAUSE if prompt.role is ModelRole.PERSONA else 0)
        size = self._dice.randint(3, 40)
        for start in range(0, len(answer), size):
            await self._clock.sleep(0)
            yield answer[start : start + size]
        yield Completion(self.model_for(ModelRole.PERSONA), 1, 0, 1)


@pytest.mark.slow
async def test_hostile_answers_put_no_private_word_into_any_call_to_slack(empty_house: House) -> None:
    model = LeakyModel(chance.dice("privacy"), empty_house.clock)
    await empty_house.start(model, max_cycles=64)
    for begun in range(0, ANSWERS, _AT_ONCE):
        for number in range(begun, begun + _AT_ONCE):
            await empty_house.say("Ada", "general", f"@soul question {number}")
        await empty_house.acknowledged()
        await empty_house.idle()
        empty_house.clock.turn(61)
    calls = await empty_house.people.calls()
    leaks = [call for call in calls if CANARY in str(call["args"])]
    assert leaks == []
    assert len(model.prompts) >= ANSWERS
    begun_streams = [call for call in calls if call["method"] == "chat.startStream"]
    replies = await empty_house.replies("general")
    assert len(replies) == ANSWERS, "everybody got a word"
    assert begun_streams
    assert any("I'm sorry" not in reply for reply in replies)


async def test_a_private_thought_is_kept_with_the_turn_and_nowhere_else(house: House) -> None:
    house.model.replies.append(
        '<internal_monologue verb="mused">a canary thought</internal_monologue>'
        '<external_dialogue verb="said">Aloud.</external_dialogue>'
    )
    await house.answered("Ada", "dm", "hello")
    turn = await house.one("SELECT body, thought FROM turns WHERE speaker = 'soul'")
    assert turn["body"] == "Aloud."
    assert "a canary thought" in turn["thought"]
    await house.answered("Ada", "dm", "again")
    assert "canary" in house.last_prompt(), "the soul itself remembers it here"
    await house.answered("Ada", "general", "@soul again")
    await house.answered("Ben", "dm", "hello")
    assert not any("canary" in shown(prompt) for prompt in house.prompts[2:]), "and nowhere else"
    assert "canary" not in str(await house.people.calls())
    for table in ("inbox", "outbox", "llm_calls", "working_memory", "presence", "audit"):
        assert not any("canary" in str(tuple(row)) for row in await house.rows(f"SELECT * FROM {table}"))
