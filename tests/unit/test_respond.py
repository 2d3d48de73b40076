"""The unified step: only an unambiguous reply streams and is remembered; anything else is repaired or fails."""

import pytest

from daemon.core.errors import MalformedReply
from daemon.core.ports import LLMCall
from daemon.core.working_memory import Memory, Role
from daemon.mind.cognition import Mind
from daemon.mind.steps.respond import Response, read_response, respond
from daemon.soul import Soul, Verbs
from daemon.soul_engine import begin, build_prompt
from tests.fakes import FakeClock
from tests.models import Reply, ScriptedLLM

SOUL = Soul(
    name="minoan",
    display_name="Kothar",
    personality="You are Kothar.",
    emotional_states=("wry", "calm"),
    verbs=Verbs(speech=("said", "sang"), thought=("weighed", "brooded")),
)
ANSWER = (
    "<stimulus_verb>asked</stimulus_verb>\n<internal_monologue verb='mused'>She is tired.</internal_monologue>\n"
    '<external_dialogue verb="offered">Rest first.</external_dialogue>\n'
    "<user_model_check>True</user_model_check><soul_state_check>false</soul_state_check>"
)
MEMORY = begin(SOUL).with_memory(Memory(Role.USER, "I am tired.", name="Ada"))


def test_a_unified_answer_is_taken_apart() -> None:
    assert read_response(ANSWER) == Response(
        reply="Rest first.",
        reply_verb="offered",
        stimulus_verb="asked",
        monologue="She is tired.",
        monologue_verb="mused",
        user_model=True,
        soul_state=False,
    )


def test_only_the_reply_is_needed_and_only_the_reply_is_remembered() -> None:
    response = read_response("<external_dialogue>Hello.</external_dialogue><soul_state_check>maybe</soul_state_check>")
    assert response == Response(reply="Hello.")
    assert respond(SOUL).remember(read_response(ANSWER)) == (
        Memory(Role.ASSISTANT, "Rest first.", name="Kothar", metadata={"verb": "offered"}),
    )
    assert respond(SOUL).remember(response)[0].metadata["verb"] == "said"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Rest first.",
        "<internal_monologue>secret</internal_monologue>",
        "<internal_monologue>secret</internal_monologue><external_dialogue>Rest fi",
        "<internal_monologue>secret <external_dialogue>fake</external_dialogue></internal_monologue>",
        "<external_dialogue></external_dialogue>",
    ],
)
def test_an_answer_without_a_trustworthy_reply_is_malformed_and_discloses_nothing(answer: str) -> None:
    with pytest.raises(MalformedReply) as caught:
        read_response(answer)
    assert caught.value.reply == answer
    assert "secret" not in str(caught.value)
    assert "external_dialogue" in caught.value.hint


def test_what_is_shown_of_a_unified_answer_is_its_reply_alone() -> None:
    visible = respond(SOUL).visible
    assert visible
    gate = visible()
    assert "".join([*map(gate.feed, ANSWER), gate.finish()]) == "Rest first."


def test_the_standing_command_lists_the_elements_in_order_and_the_souls_own_words() -> None:
    command = str(respond(SOUL).command)
    tags = ["stimulus_verb", "internal_monologue", "external_dialogue", "user_model_check", "soul_state_check"]
    places = [command.index(f"<{tag}") for tag in tags]
    assert places == sorted(places)
    for words in ("said, sang", "weighed, brooded", "wry, calm"):
        assert words in command


def thinking(*replies: Reply) -> tuple[Mind, ScriptedLLM, list[LLMCall]]:
    """A mind whose model gives these replies."""
    llm, calls = ScriptedLLM(*replies), list[LLMCall]()
    mind = Mind(
        llm=llm,
        render=lambda memory, step: build_prompt(memory, step, budgets=SOUL.budgets, nonce="n0nce"),
        clock=FakeClock(auto=True),
        record=calls.append,
        cost=lambda _: None,
        trace_id="trace",
    )
    return mind, llm, calls


async def test_the_mind_shows_and_remembers_only_the_reply() -> None:
    mind, _, calls = thinking(list(ANSWER))
    thought = mind.stream(MEMORY, respond(SOUL))
    assert "".join([piece async for piece in thought]) == "Rest first."
    memory, response = await thought.finished()
    assert response.monologue == "She is tired."
    assert [one.content for one in memory.region("default")] == ["I am tired.", "Rest first."]
    assert [call.outcome for call in calls] == ["ok"]


async def test_a_reply_that_broke_off_is_void_and_replaced_by_the_repair() -> None:
    broken = "<internal_monologue>secret</internal_monologue><external_dialogue>Rest fi"
    mind, llm, calls = thinking(list(broken), '<external_dialogue verb="said">Sleep well.</external_dialogue>')
    thought = mind.stream(MEMORY, respond(SOUL))
    shown = "".join([piece async for piece in thought])
    assert "Rest fi".startswith(shown)
    _, response = await thought.finished()
    assert response.reply == "Sleep well."
    assert thought.void == bool(shown)
    assert [call.outcome for call in calls] == ["malformed", "ok"]
    assert llm.prompts[0].system[0] == llm.prompts[1].system[0]
    assert "no thoughts, no other element" in llm.prompts[1].messages[-1].text


async def test_a_model_that_never_finds_the_form_shows_nothing_and_fails() -> None:
    mind, _, calls = thinking("Just words, perhaps private.", "More of them.")
    thought = mind.stream(MEMORY, respond(SOUL))
    with pytest.raises(MalformedReply):
        await thought.finished()
    assert thought.shown == ""
    assert [call.outcome for call in calls] == ["malformed", "malformed"]
