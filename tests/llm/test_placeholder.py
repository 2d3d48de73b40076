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


def test_it_says_what_it_is_and_quotes_the_newest_message() -> None:
    text = placeholder_answer(prompt("are you there?"))
    assert "placeholder" in text
    assert "“are you there?”" in text
    text = placeholder_answer(prompt("x" * 5000))
    assert "x" * 500 + " …" in text
    assert "x" * 501 not in text
    for said in ("", "<only-a-tag>"):
        assert "You wrote" not in placeholder_answer(prompt(said)), said
    empty = Prompt(prompt().role, "s", (), ())
    assert placeholder_answer(empty).startswith("I'm only a placeholder")
    silent = prompt("a secret", role=ModelRole.THINKING)
    assert "secret" not in placeholder_answer(silent), "a step that nobody hears quotes nothing"
    burst = '<said-9f by="Ada">\none\n</said-9f>\n<said-9f by="Bo">\ntwo </said-00> b\n</said-9f>'
    found = {
        ("earlier", "hm", burst): ["one", "two </said-00> b"],
        ("<said-a>\nhello\n</said-a>\n\n(Answer with the six elements.)",): ["hello"],
        ("<said-a>hello</said-a>", "hm", "(Answer now.)"): ["hello"],
        ("<b>hello</b> there",): ["hello there"],
    }
    assert {said: newest_messages(prompt(*said)) for said in found} == found


def test_the_elements_asked_for_are_filled_in_and_no_others() -> None:
    output = taken_apart(placeholder_answer(prompt("hello", system=TAGGED)))
    assert output.reply is not None
    assert "“hello”" in output.reply
    assert output.elements["calls_for"].content == "nothing"
    assert output.elements["stimulus_verb"].content
    assert output.elements["internal_monologue"].attributes == {"verb": "noticed"}
    assert output.elements["user_model_check"].content == "false"
    assert output.elements["soul_state_check"].content == "false"
    text = placeholder_answer(prompt("hello", system=(SystemPart("write <external_dialogue verb=…>"),)))
    assert "monologue" not in text
    assert taken_apart(text).reply is not None


def test_every_step_can_read_its_answer_which_claims_nothing_and_says_what_it_is() -> None:
    for name, made in every_step().items():
        text = placeholder_answer(made.prompt())
        assert not made.refuses(text), name
        assert made.seen([text]) == made.seen(list(text)), name
        if made.step.json_schema:
            jsonschema.Draft202012Validator(made.step.json_schema).validate(json.loads(made.step.placeholder))
    nothing = {
        "mental_query": False,
        "intend": ReminderRequest(),
        "visitor_notes": NotesChange(),
        "use_tool": None,
        "feel": Feeling("wry", "", ""),
    }
    steps = every_step()
    assert {name: steps[name].outcome(placeholder_answer(steps[name].prompt()))[0] for name in nothing} == nothing
    for other, uses in (("Respond", (ChosenAction("Respond"),)), ("Ask", ())):
        step = choose_actions(["Think", other])
        choice = step.read(step.placeholder)
        assert isinstance(choice, Choice)
        assert (choice.actions, choice.done) == (uses, not uses)
    for name in ("respond", "external_dialog", "poetic_composition"):
        made = every_step()[name]
        value, _ = made.outcome(placeholder_answer(made.prompt()))
        said = value.reply if isinstance(value, Response) else value
        assert "placeholder" in str(said), name


def test_json_is_the_placeholder_of_its_step_or_refused_with_the_cure() -> None:
    assert placeholder_answer(replace(prompt(schema=SCHEMA), placeholder="{}")) == "{}"
    with pytest.raises(ModelRefused, match="`placeholder`"):
        placeholder_answer(prompt(schema=SCHEMA))


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
