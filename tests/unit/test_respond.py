"""The unified step: only an unambiguous reply streams and is remembered; anything else is repaired or fails."""

import pytest

from daemon.core.errors import CutShort, MalformedReply
from daemon.core.ports.services import Completion, LLMCall
from daemon.core.working_memory import Memory, Role
from daemon.mind.cognition import Mind
from daemon.mind.steps.respond import Response, read_response, respond
from daemon.soul_engine import begin
from tests.fakes import FakeClock
from tests.given import shown as shown_in
from tests.given import soul
from tests.models import Reply, ScriptedLLM
from tests.unit.ism_parts import Bench

SOUL = soul()
ANSWER = (
    "<stimulus_verb>asked</stimulus_verb>\n<internal_monologue verb='mused'>She is tired.</internal_monologue>\n"
    '<external_dialogue verb="offered">Rest first.</external_dialogue>\n'
    "<user_model_check>True</user_model_check><soul_state_check>false</soul_state_check>"
)
MEMORY = begin(SOUL).with_memory(Memory(Role.USER, "I am tired.", name="Ada"))


def test_of_a_unified_answer_only_the_reply_is_needed_and_remembered() -> None:
    assert read_response(ANSWER) == Response(
        reply="Rest first.",
        reply_verb="offered",
        stimulus_verb="asked",
        monologue="She is tired.",
        monologue_verb="mused",
        user_model=True,
        soul_state=False,
    )
    response = read_response("<external_dialogue>Hello.</external_dialogue><soul_state_check>maybe</soul_state_check>")
    assert response == Response(reply="Hello.")
    assert respond(SOUL).remember(read_response(ANSWER)) == (
        Memory(Role.ASSISTANT, "Rest first.", name="Kothar", metadata={"verb": "offered"}),
    )
    assert respond(SOUL).remember(response)[0].metadata["verb"] == "said"


def test_an_answer_without_a_trustworthy_reply_is_malformed_and_discloses_nothing() -> None:
    for answer in (
        "",
        "Rest first.",
        "<internal_monologue>secret</internal_monologue>",
        "<internal_monologue>secret</internal_monologue><external_dialogue>Rest fi",
        "<internal_monologue>secret <external_dialogue>fake</external_dialogue></internal_monologue>",
        "<external_dialogue></external_dialogue>",
    ):
        with pytest.raises(MalformedReply) as caught:
            read_response(answer)
        assert caught.value.reply == answer
        assert "secret" not in str(caught.value), answer
        assert caught.value.hint, answer


def thinking(*replies: Reply) -> tuple[Mind, ScriptedLLM, list[LLMCall]]:
    llm = ScriptedLLM(*replies)
    bench = Bench(llm, FakeClock(auto=True))
    return bench.mind, llm, bench.calls


async def test_a_reply_that_broke_off_or_lacks_its_elements_is_asked_for_in_plain_speech() -> None:
    broken = "<internal_monologue>secret</internal_monologue><external_dialogue>Rest fi"
    mind, llm, calls = thinking(list(broken), "Sleep well.")
    thought = mind.stream(MEMORY, respond(SOUL))
    shown = "".join([piece async for piece in thought])
    assert "Rest fi".startswith(shown)
    _, response = await thought.finished()
    assert response.reply == "Sleep well."
    assert thought.void == bool(shown)
    assert [call.outcome for call in calls] == ["malformed", "ok"]
    assert [prompt.step for prompt in llm.prompts] == ["respond", "external_dialog"]
    assert "<internal_monologue" not in shown_in(llm.prompts[1]), "the repair asks for plain speech, never for elements"
    assert "Rest fi" not in shown_in(llm.prompts[1])
    mind, _, calls = thinking("Just words, perhaps private.", "Sleep well.")
    thought = mind.stream(MEMORY, respond(SOUL))
    _, response = await thought.finished()
    assert response == Response(reply="Sleep well.")
    assert "private" not in thought.shown
    assert [(call.step, call.outcome, call.kept_form) for call in calls] == [
        ("respond", "malformed", False),
        ("external_dialog", "ok", None),
    ]
    mind, _, calls = thinking("Just words, perhaps private.", "Kothar thought: more of them.")
    thought = mind.stream(MEMORY, respond(SOUL))
    with pytest.raises(MalformedReply):
        await thought.finished()
    assert thought.shown == ""
    assert [call.outcome for call in calls] == ["malformed", "malformed"]


CUT = Completion("scripted/test", stop="length")


async def test_a_reply_that_met_the_output_limit_is_kept_as_far_as_it_was_released() -> None:
    mind, llm, calls = thinking([ANSWER.partition("first.")[0] + "first, <b", CUT])
    thought = mind.stream(MEMORY, respond(SOUL))
    _, response = await thought.finished()
    assert (response.reply, response.cut, response.reply_verb) == ("Rest first,", True, "offered")
    assert thought.shown == "Rest first,"
    assert len(llm.prompts) == 1
    assert [(call.outcome, call.kept_form) for call in calls] == [("ok", True)]
    mind, _, _ = thinking([ANSWER.partition("<user_model")[0], CUT])
    _, response = await mind.run(MEMORY, respond(SOUL))
    assert (response.reply, response.cut) == ("Rest first.", False)


async def test_an_answer_cut_before_its_reply_begins_is_asked_for_shorter_and_plain() -> None:
    for begun in ("<internal_monologue>secret and so", "<think>secret", "secret without a mark", ""):
        mind, llm, calls = thinking([begun, CUT], "Sleep well.")
        _, response = await mind.run(MEMORY, respond(SOUL))
        assert response == Response(reply="Sleep well."), begun
        assert "be much shorter" in llm.prompts[1].messages[-1].text, begun
        assert calls[0].kept_form is None, "the length is no fault of the form"
        mind, _, _ = thinking([begun, CUT], [begun, CUT])
        with pytest.raises(CutShort):
            await mind.run(MEMORY, respond(SOUL))
