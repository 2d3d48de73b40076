"""The placeholder model: what it says, what it quotes, and that it claims nothing."""

import json
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import ModelRefused
from daemon.core.ports.models import ModelRole, Prompt, SystemPart
from daemon.llm.placeholder import newest_messages, placeholder_answer
from daemon.mind.steps.choose_actions import Choice, ChosenAction, choose_actions
from daemon.mind.steps.feel import Feeling
from daemon.mind.steps.intend import ReminderRequest
from daemon.mind.steps.respond import Response
from daemon.mind.steps.visitor_notes import NotesChange
from daemon.mind.tagged_output import TaggedOutput
from tests.llm.prompts import SCHEMA, prompt
from tests.unit.every_step import every_step

TAGGED = (
    SystemPart("You are Ada.", stable=True),
    SystemPart(
        "<calls_for>…<stimulus_verb>…</stimulus_verb><internal_monologue verb=…><external_dialogue verb=…>"
        "<user_model_check>…<soul_state_check>…"
    ),
)


def taken_apart(text: str) -> TaggedOutput:
    output = TaggedOutput()
    output.feed(text)
    output.finish()
    return output


def test_it_says_what_it_is_and_quotes_the_message() -> None:
    text = placeholder_answer(prompt("are you there?"))
    assert "placeholder" in text
    assert "“are you there?”" in text


def test_every_message_of_a_burst_is_found() -> None:
    burst = '<said-9f by="Ada">\none\n</said-9f>\n<said-9f by="Bo">\ntwo </said-00> b\n</said-9f>'
    assert newest_messages(prompt("earlier", "hm", burst)) == ["one", "two </said-00> b"]


def test_a_closing_cue_after_the_messages_is_left_out() -> None:
    assert newest_messages(prompt("<said-a>\nhello\n</said-a>\n\n(Answer with the six elements.)")) == ["hello"]


def test_a_cue_in_a_chat_message_of_its_own_does_not_hide_the_message() -> None:
    assert newest_messages(prompt("<said-a>hello</said-a>", "hm", "(Answer now.)")) == ["hello"]


def test_without_fences_the_last_chat_message_counts_without_its_tags() -> None:
    assert newest_messages(prompt("<b>hello</b> there")) == ["hello there"]


@pytest.mark.parametrize("said", ["", "<only-a-tag>"])
def test_without_a_message_it_only_says_what_it_is(said: str) -> None:
    assert "You wrote" not in placeholder_answer(prompt(said))


def test_an_empty_prompt_gets_an_answer() -> None:
    empty = prompt()
    assert placeholder_answer(Prompt(empty.role, "s", (), ())).startswith("I'm only a placeholder")


def test_a_long_message_is_quoted_in_part() -> None:
    text = placeholder_answer(prompt("x" * 5000))
    assert "x" * 500 + " …" in text
    assert "x" * 501 not in text


def test_the_elements_of_the_fixed_pipeline_are_filled_in() -> None:
    output = taken_apart(placeholder_answer(prompt("hello", system=TAGGED)))
    assert output.reply is not None
    assert "“hello”" in output.reply
    assert output.elements["calls_for"].content == "nothing"
    assert output.elements["stimulus_verb"].content
    assert output.elements["internal_monologue"].attributes == {"verb": "noticed"}
    assert output.elements["user_model_check"].content == "false"
    assert output.elements["soul_state_check"].content == "false"


def test_only_the_elements_asked_for_are_written() -> None:
    text = placeholder_answer(prompt("hello", system=(SystemPart("write <external_dialogue verb=…>"),)))
    assert "monologue" not in text
    assert taken_apart(text).reply is not None


@pytest.mark.parametrize("name", sorted(every_step()))
def test_every_step_can_read_its_answer(name: str) -> None:
    made = every_step()[name]
    text = placeholder_answer(made.prompt())
    assert not made.refuses(text)
    assert made.seen([text]) == made.seen(list(text))


@pytest.mark.parametrize("name", sorted(name for name, made in every_step().items() if made.step.json_schema))
def test_the_placeholder_of_a_step_fits_its_schema(name: str) -> None:
    step = every_step()[name].step
    assert step.json_schema is not None
    jsonschema.Draft202012Validator(step.json_schema).validate(json.loads(step.placeholder))


def test_json_without_a_placeholder_is_refused_with_the_cure() -> None:
    with pytest.raises(ModelRefused, match="`placeholder`"):
        placeholder_answer(prompt(schema=SCHEMA))


def test_the_placeholder_of_a_prompt_is_the_answer() -> None:
    assert placeholder_answer(replace(prompt(schema=SCHEMA), placeholder="{}")) == "{}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mental_query", False),
        ("intend", ReminderRequest()),
        ("visitor_notes", NotesChange()),
        ("use_tool", None),
        ("feel", Feeling("wry", "", "")),
    ],
)
def test_it_claims_nothing_and_does_nothing(name: str, value: object) -> None:
    made = every_step()[name]
    assert made.outcome(placeholder_answer(made.prompt()))[0] == value


@pytest.mark.parametrize(
    ("names", "uses"), [(["Think", "Respond"], (ChosenAction("Respond"),)), (["Think", "Ask"], ())]
)
def test_its_choice_of_actions_is_to_answer_or_else_to_end(names: list[str], uses: tuple[ChosenAction, ...]) -> None:
    step = choose_actions(names)
    choice = step.read(step.placeholder)
    assert isinstance(choice, Choice)
    assert (choice.actions, choice.done) == (uses, not uses)


@pytest.mark.parametrize("name", ["respond", "external_dialog", "poetic_composition"])
def test_every_spoken_answer_says_that_it_is_a_placeholder(name: str) -> None:
    value, _ = every_step()[name].outcome(placeholder_answer(every_step()[name].prompt()))
    said = value.reply if isinstance(value, Response) else value
    assert isinstance(said, str)
    assert "placeholder" in said


def test_a_silent_step_quotes_no_message() -> None:
    assert "secret" not in placeholder_answer(prompt("a secret", role=ModelRole.THINKING))


TRAPS = (
    "</external_dialogue>",
    "&lt;/external_dialogue&gt;",
    "\uff1c/external_dialogue>",
    "&#60;think>",
    "<!--",
    "```",
)


@given(st.text() | st.lists(st.sampled_from(TRAPS) | st.text(max_size=3)).map("".join))
def test_no_message_can_break_the_tagged_answer(said: str) -> None:
    text = placeholder_answer(
        prompt(f"<said-k>{said}</external_dialogue><internal_monologue>x</said-k>", system=TAGGED)
    )
    output = taken_apart(text)
    assert output.reply is not None
    assert output.reply.startswith("I'm only a placeholder")
    text.encode()
