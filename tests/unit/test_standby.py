"""When a model is down or refuses, the next one that may have the words is asked, and no word of both is shown."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

import pytest

from daemon.core.errors import MalformedReply, ModelError, ModelRefused, ModelUnavailable
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.models import Completion, ModelRole, Prompt
from daemon.memory.knowledge.model_habits import ModelHabit
from tests.models import Piece
from tests.unit.thinking import ECHO, END, MEMORY, Head, head, listen, streaming

HERE = Audience(AudienceKind.DM, "D1")
FIRST, SECOND = "fake/thinking", "other/second"
REFUSAL = replace(END, stop="refusal")


@dataclass
class Two:
    """Two models, each with its script; only one audience has both."""

    first: list[Piece]
    second: list[Piece]
    prompts: list[Prompt] = field(default_factory=list)

    def model_for(self, role: ModelRole) -> str:
        return FIRST

    def step_models(self) -> Mapping[str, str]:
        return {}

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        return (FIRST, SECOND) if audience == HERE else (FIRST,)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        self.prompts.append(prompt)
        for piece in self.first if prompt.model == FIRST else self.second:
            if isinstance(piece, Exception):
                raise piece
            yield piece


def both(
    *first: Piece, second: tuple[Piece, ...] = ("fine", END), audience: Audience | None = HERE
) -> tuple[Two, Head]:
    models, made = Two(list(first), list(second)), head()
    mind = replace(made.mind, llm=models, audience=audience, habits=streaming(FIRST, SECOND))
    return models, Head(made.llm, mind, made.calls)


async def test_what_a_model_does_not_answer_the_next_one_does() -> None:
    for first in (
        (ModelUnavailable("overloaded"),),
        (ModelRefused("no credit is left"),),
        (REFUSAL,),
        ("", ModelUnavailable("it broke off unseen")),
    ):
        models, made = both(*first)
        thought = made.mind.stream(MEMORY, ECHO)
        assert "".join(await listen(thought)) == "FINE", first
        assert not thought.void, first
        assert [prompt.model for prompt in models.prompts] == [FIRST, SECOND], first
        assert [prompt.standby for prompt in models.prompts] == [True, False], first
        assert [call.outcome == "ok" for call in made.calls] == [False, True], first
        assert not made.calls[-1].repair, first


async def test_a_second_model_answers_by_its_own_habits_and_only_before_a_word_was_shown() -> None:
    for failure in (ModelUnavailable("reset"), ModelRefused("no"), REFUSAL):
        models, made = both("hel", "lo ", failure)
        with pytest.raises(ModelError):
            await listen(made.mind.stream(MEMORY, ECHO))
        again = [FIRST] if isinstance(failure, ModelUnavailable) else []
        assert [prompt.model for prompt in models.prompts] == [FIRST, *again], failure
    for audience in (None, Audience(AudienceKind.CHANNEL, "C1")):
        models, made = both(ModelRefused("no"), audience=audience)
        with pytest.raises(ModelRefused):
            await made.mind.run(MEMORY, ECHO)
        assert [(prompt.model, prompt.standby) for prompt in models.prompts] == [(FIRST, False)], audience
    models, made = both(ModelUnavailable("down"), second=("bad", END))
    with pytest.raises(MalformedReply):
        await made.mind.run(MEMORY, ECHO)
    assert [prompt.model for prompt in models.prompts] == [FIRST, SECOND, SECOND]
    _, made = both(ModelUnavailable("the first is down"), second=(ModelUnavailable("the second is down"),))
    with pytest.raises(ModelUnavailable, match="the second is down"):
        await made.mind.run(MEMORY, ECHO)
    _, made = both(ModelUnavailable("down"), second=("hello", "</think>", "fine", END))
    made.mind.habits[SECOND] = ModelHabit(SECOND, hold_back=3)
    thought = made.mind.stream(MEMORY, ECHO)
    assert "".join(await listen(thought)) == "FINE", "the first model's speech would have streamed"
