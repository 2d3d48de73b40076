"""What becomes of an answer whose end its server does not tell, as a break of the connection does not either."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from daemon.core.errors import ModelUnavailable
from daemon.core.ports.services import LLMCall, ModelRole
from daemon.core.repetition import without_repeats
from daemon.llm.resilience import CallLimits, ResilientLLM
from daemon.llm.router import Router
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.cognition import Mind
from daemon.mind.motor import Motor
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.respond import respond
from tests.fakes import Events, FakeClock
from tests.given import soul, tagged
from tests.llm.conftest import settings_for
from tests.llm.providers import Answer, OpenAIServer
from tests.unit.thinking import MEMORY, head

WHOLE = tagged("The import runs at six.")


@pytest.fixture
async def router(openai_server: OpenAIServer, clock: FakeClock) -> AsyncIterator[Router]:
    async with aclosing(Router(settings_for(openai_server), clock)) as made:
        yield made


def mind_on(llm: Router, hold_back: int) -> Mind:
    model = llm.model_for(ModelRole.PERSONA)
    return replace(head().mind, llm=llm, habits={model: ModelHabit(model, hold_back=hold_back)})


def unended(text: str) -> Answer:
    """An answer without a reason to finish, as some servers send it."""
    frames = [{"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}]
    lines = [*(json.dumps(frame) for frame in frames), "[DONE]"]
    return Answer(raw="".join(f"data: {line}\n\n" for line in lines).encode())


async def test_an_answer_all_of_whose_elements_are_closed_is_whole(router: Router, openai_server: OpenAIServer) -> None:
    for said, hold_back in ((WHOLE, 1), (WHOLE, 0), (f"<think>Hm.</think>\n{WHOLE}\n", 1)):
        openai_server.script.append(unended(said))
        calls = list[LLMCall]()
        _, response = await replace(mind_on(router, hold_back), record=calls.append).run(MEMORY, respond(soul()))
        assert (response.reply, response.soul_state, response.cut) == ("The import runs at six.", False, False), said
        assert [call.outcome for call in calls] == ["ok"], "no admin is told of a failure"


async def test_any_other_answer_without_an_end_is_asked_for_again(router: Router, openai_server: OpenAIServer) -> None:
    within_a_tag = WHOLE[: WHOLE.index("user_model_check") + 9]
    cuts = [within_a_tag, *(WHOLE[: WHOLE.index(end)] for end in (" at six", "false", "<external"))]
    for said, hold_back in (*((cut, 1) for cut in cuts), (WHOLE, 5)):  # the last of a model that thinks aloud
        openai_server.script.extend([unended(said), Answer((tagged("Again, and whole."),))])
        _, response = await mind_on(router, hold_back).run(MEMORY, respond(soul()))
        assert response.reply == "Again, and whole.", said
        openai_server.script.extend([unended(said), unended(said)])
        with pytest.raises(ModelUnavailable, match="broke off"):
            await mind_on(router, hold_back).run(MEMORY, respond(soul()))


async def test_of_words_without_an_element_nobody_knows_whether_they_have_ended(
    router: Router, openai_server: OpenAIServer
) -> None:
    openai_server.usual = unended("The import runs at")
    with pytest.raises(ModelUnavailable, match="broke off"):
        await mind_on(router, 0).run(MEMORY, external_dialog(soul(), "Speak."))
    assert len(openai_server.asked) == 2


async def test_nine_hundred_times_the_same_sentence_is_said_once(
    router: Router, openai_server: OpenAIServer, clock: FakeClock
) -> None:
    guarded = ResilientLLM(router, clock, CallLimits(total=120, silence=45), Events())
    whole = tagged("The import is late. " * 900)
    pieces = tuple(whole[start : start + 11] for start in range(0, len(whole), 11))
    for sent, hold_back in ((pieces, 0), (pieces, 1), ((whole,), 1)):
        openai_server.script.append(Answer(sent))
        _, response = await replace(mind_on(router, hold_back), llm=guarded).run(MEMORY, respond(soul()))
        motor = Motor(None)
        motor.settle(response.reply, cut=response.cut)
        assert motor.reply == "The import is late.\n\n_(I began to repeat myself, so I stop here.)_"


def test_the_end_of_code_that_was_cut_off_is_no_repetition() -> None:
    for end in ("    </li>\n</ul>\n</div>\n</div>\n</div>", "0, 0, 0, 0, 0", "It is late. It is late.", "=" * 60):
        assert without_repeats(f"So it ends:\n{end}") == f"So it ends:\n{end}"
    assert without_repeats(f"So it ends:\n{'It is late. ' * 4}") == "So it ends:\nIt is late."
