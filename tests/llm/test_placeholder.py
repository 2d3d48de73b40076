"""The models that need no key: the placeholder, what it makes up for schemas, and the scripted one."""

import json
from typing import Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.ports import Completion, ModelRole, Prompt, SystemPart
from daemon.llm.placeholder import answer_to, heard_in
from daemon.llm.placeholder_values import instance_of
from daemon.llm.scripted import ScriptedLLM
from daemon.llm.strict_schema import can_be_strict, strict
from daemon.mind.steps.choose_actions import Choice, ChosenAction, choose_actions
from daemon.mind.steps.feel import Feeling
from daemon.mind.steps.intend import ReminderRequest
from daemon.mind.steps.respond import Response
from daemon.mind.steps.visitor_notes import NotesChange
from daemon.mind.tagged_output import TaggedOutput
from tests.llm.prompts import answer, prompt
from tests.unit.every_step import every_step

TAGGED = (
    SystemPart("You are Ada.", stable=True),
    SystemPart(
        "<stimulus_verb>…</stimulus_verb><internal_monologue verb=…><external_dialogue verb=…>"
        "<user_model_check>…<soul_state_check>…"
    ),
)


def taken_apart(text: str) -> TaggedOutput:
    output = TaggedOutput()
    output.feed(text)
    output.finish()
    return output


def test_it_says_courteously_what_it_is_and_what_it_heard() -> None:
    text = answer_to(prompt("are you there?"))
    assert "placeholder" in text
    assert "“are you there?”" in text


def test_it_hears_every_block_of_a_burst() -> None:
    burst = '<said-9f by="Ada">\none\n</said-9f>\n<said-9f by="Bo">\ntwo </said-00> b\n</said-9f>'
    assert heard_in(prompt("earlier", "hm", burst)) == ["one", "two </said-00> b"]


def test_a_closing_cue_after_the_blocks_is_not_what_was_heard() -> None:
    assert heard_in(prompt("<said-a>\nhello\n</said-a>\n\n(Answer with the five elements.)")) == ["hello"]


def test_a_cue_in_a_message_of_its_own_does_not_hide_what_was_said() -> None:
    assert heard_in(prompt("<said-a>hello</said-a>", "hm", "(Answer now.)")) == ["hello"]


def test_without_blocks_it_hears_the_last_message_without_tags() -> None:
    assert heard_in(prompt("<b>hello</b> there")) == ["hello there"]


@pytest.mark.parametrize("said", ["", "<only-a-tag>"])
def test_with_nothing_to_hear_it_only_says_what_it_is(said: str) -> None:
    assert "What I heard" not in answer_to(prompt(said))


def test_with_no_messages_at_all_it_still_answers() -> None:
    empty = prompt()
    assert answer_to(Prompt(empty.role, "s", (), ())).startswith("I'm only a placeholder")


def test_a_long_message_is_repeated_in_part() -> None:
    text = answer_to(prompt("x" * 5000))
    assert "x" * 500 + " …" in text
    assert "x" * 501 not in text


def test_the_fixed_pipelines_form_is_filled_in() -> None:
    output = taken_apart(answer_to(prompt("hello", system=TAGGED)))
    assert output.reply is not None
    assert "“hello”" in output.reply
    assert output.elements["stimulus_verb"].content
    assert output.elements["internal_monologue"].attributes == {"verb": "noticed"}
    assert output.elements["user_model_check"].content == "false"
    assert output.elements["soul_state_check"].content == "false"


def test_only_the_elements_asked_for_are_written() -> None:
    text = answer_to(prompt("hello", system=(SystemPart("write <external_dialogue verb=…>"),)))
    assert "monologue" not in text
    assert taken_apart(text).reply is not None


@pytest.mark.parametrize("name", sorted(every_step()))
def test_every_step_can_read_its_answer(name: str) -> None:
    made = every_step()[name]
    text = answer_to(made.prompt())
    assert not made.refuses(text)
    assert made.seen([text]) == made.seen(list(text))


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
    assert made.outcome(answer_to(made.prompt()))[0] == value


@pytest.mark.parametrize(
    ("names", "uses"), [(["Think", "Respond"], (ChosenAction("Respond"),)), (["Think", "Ask"], ())]
)
def test_of_actions_it_chooses_to_answer_and_else_to_end(names: list[str], uses: tuple[ChosenAction, ...]) -> None:
    step = choose_actions(names)
    asked = prompt("Think!", schema=step.json_schema)
    choice = step.read(answer_to(Prompt(asked.role, step.name, (), asked.messages, asked.json_schema)))
    assert isinstance(choice, Choice)
    assert (choice.actions, choice.done) == (uses, not uses)


@pytest.mark.parametrize("name", ["respond", "external_dialog", "poetic_composition"])
def test_whatever_it_says_aloud_says_that_it_is_a_placeholder(name: str) -> None:
    value, _ = every_step()[name].outcome(answer_to(every_step()[name].prompt()))
    said = value.reply if isinstance(value, Response) else value
    assert isinstance(said, str)
    assert "placeholder" in said


def test_in_silence_it_repeats_nothing_that_it_heard() -> None:
    assert "secret" not in answer_to(prompt("a secret", role=ModelRole.THINKING))


TRAPS = (
    "</external_dialogue>",
    "&lt;/external_dialogue&gt;",
    "\uff1c/external_dialogue>",
    "&#60;think>",
    "<!--",
    "```",
)


@given(st.text() | st.lists(st.sampled_from(TRAPS) | st.text(max_size=3)).map("".join))
def test_whatever_is_said_the_tagged_answer_stays_well_formed(said: str) -> None:
    text = answer_to(prompt(f"<said-k>{said}</external_dialogue><internal_monologue>x</said-k>", system=TAGGED))
    output = taken_apart(text)
    assert output.reply is not None
    assert output.reply.startswith("I'm only a placeholder")
    text.encode()


class Leaf(BaseModel):
    kind: Literal["leaf"]
    weight: float = Field(gt=0, le=1)
    tags: list[str] = Field(min_length=2)


class Node(BaseModel):
    name: str = Field(min_length=20, max_length=30)
    child: "Node | None"
    children: list["Node"]
    leaf: Leaf
    choice: Literal["a", "b"] | int
    pair: tuple[int, str]
    notes: dict[str, int]
    odd: int = Field(ge=-9, le=-3, multiple_of=2)
    code: str = Field(pattern=r"^[A-Z]\d$")
    born: str = Field(json_schema_extra={"format": "date"})


def test_a_nested_recursive_schema_gets_a_complete_instance() -> None:
    text = answer_to(prompt(schema=Node.model_json_schema()))
    made = json.loads(text)
    Node.model_validate(made)
    assert made.keys() == Node.model_fields.keys()
    assert answer_to(prompt(schema=Node.model_json_schema())) == text


_SMALL = st.integers(0, 9)
_SCALARS: st.SearchStrategy[dict[str, object]] = st.one_of(
    st.builds(lambda low, room: {"type": "string", "minLength": low, "maxLength": low + room}, _SMALL, _SMALL),
    st.builds(lambda low, room: {"type": "integer", "minimum": low - 9, "maximum": low - 9 + room}, _SMALL, _SMALL),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.integers(-9, 9)),
    st.builds(lambda high: {"type": "integer", "exclusiveMaximum": high}, st.integers(-9, 9)),
    st.sampled_from(
        [
            {"type": "boolean"},
            {"type": "null"},
            {"enum": ["x", 2, None]},
            {"const": {"a": 1}},
            {"type": ["string", "null"]},
            {"type": "string", "format": "uuid"},
            {},
        ]
    ),
)


def _closed_object(named: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": named, "required": list(named), "additionalProperties": False}


def _nested(inner: st.SearchStrategy[dict[str, object]]) -> st.SearchStrategy[dict[str, object]]:
    names = st.sampled_from(["a", "b", "c", "d"])
    pairs = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.builds(_closed_object, st.dictionaries(names, inner, max_size=4)),
        st.builds(lambda item, fewest: {"type": "array", "items": item, "minItems": fewest}, inner, st.integers(0, 3)),
        st.builds(lambda items: {"type": "array", "prefixItems": items, "minItems": 2}, pairs),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda one: {"allOf": [one]}, inner),
        st.builds(lambda one: {"$defs": {"One/x": one}, "type": "array", "items": one, "minItems": 1}, inner),
        st.builds(lambda value: {"type": "object", "additionalProperties": value, "minProperties": 2}, inner),
    )


SCHEMAS = st.recursive(_SCALARS, _nested, max_leaves=12)


@given(SCHEMAS)
def test_what_is_made_up_fits_its_schema(schema: dict[str, object]) -> None:
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(instance_of(schema))))


@given(SCHEMAS)
def test_what_fits_the_strict_schema_fits_the_types_of_the_given_one(schema: dict[str, object]) -> None:
    if can_be_strict(schema):
        stricter = strict(schema)
        jsonschema.Draft202012Validator.check_schema(stricter)
        jsonschema.Draft202012Validator(stricter).validate(instance_of(schema))


def test_references_are_followed_and_overlaid() -> None:
    schema = {
        "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        "allOf": [{"$ref": "#/$defs/A", "properties": {"y": {"type": "null"}}, "required": ["y"]}, {"required": ["z"]}],
    }
    assert instance_of(schema) == {"y": None, "x": 0, "z": "placeholder"}


def test_an_optional_endless_property_is_left_out() -> None:
    assert instance_of({"type": "object", "properties": {"again": {"$ref": "#"}, "x": {"type": "null"}}}) is not None


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object", "properties": {"again": {"$ref": "#"}}, "required": ["again"]}, "endless"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "endless"),
        ({"anyOf": [{"$ref": "#"}]}, "endless"),
        ({"$ref": "#/$defs/Gone"}, "where nothing is"),
        ({"type": "string", "pattern": "^q{7}z$"}, "no word like"),
    ],
)
def test_what_can_not_be_made_up_is_refused(schema: dict[str, object], why: str) -> None:
    with pytest.raises(ModelRefused, match=why):
        instance_of(schema)


async def test_a_script_is_followed_in_order_and_remembers_its_prompts() -> None:
    async def turned(asked: Prompt) -> str:
        return asked.messages[-1].text[::-1]

    usage = Completion("scripted/other", 5, 4, 3, "length")
    llm = ScriptedLLM("one", ["t", "wo", usage, "never"], turned)
    assert (await answer(llm, prompt("a")))[0] == "one"
    assert await answer(llm, prompt("b")) == ("two", usage)
    assert (await answer(llm, prompt("abc")))[0] == "cba"
    assert [each.messages[-1].text for each in llm.prompts] == ["a", "b", "abc"]


async def test_a_script_can_fail_at_once_or_in_the_middle() -> None:
    llm = ScriptedLLM(ModelUnavailable("down"), ["half", ModelUnavailable("cut")])
    with pytest.raises(ModelUnavailable, match="down"):
        await answer(llm, prompt())
    pieces = llm.stream(prompt())
    assert await anext(pieces) == "half"
    with pytest.raises(ModelUnavailable, match="cut"):
        await anext(pieces)
    assert llm.cut == 0


async def test_a_script_at_its_end_says_so_or_falls_back() -> None:
    llm = ScriptedLLM(model="scripted/x")
    with pytest.raises(ModelRefused, match="no reply left"):
        await answer(llm, prompt())
    llm.default = "again"
    assert await answer(llm, prompt()) == ("again", Completion("scripted/x", 1, 0, 1))
