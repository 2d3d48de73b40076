"""Choosing actions and tools: strict schemas are requested, looser forms are read, unknown names are kept as such."""

import json

import pytest
from jsonschema import Draft202012Validator

from daemon.core.errors import MalformedReply
from daemon.core.ports.library import Tool
from daemon.core.working_memory import Role, WorkingMemory
from daemon.llm.answers import can_be_strict, strict
from daemon.mind.steps.choose_actions import (
    DONE,
    INPUT_CAP,
    MOST,
    NAME_CAP,
    REASONING_CAP,
    Choice,
    ChosenAction,
    choose_actions,
)
from daemon.mind.steps.use_tool import MOST as MOST_TOOLS
from daemon.mind.steps.use_tool import TOOLS, use_tool, with_tools
from daemon.soul import Budgets
from daemon.soul_engine import build_prompt
from tests.given import shown
from tests.unit.solving_parts import READER, WRITER

STEP = choose_actions(["Think", "Research"])


def test_the_step_shows_nothing_and_its_schema_is_strict_and_names_every_action() -> None:
    assert STEP.visible is None
    schema = STEP.json_schema
    assert schema is not None
    assert can_be_strict(schema)
    validator = Draft202012Validator(strict(schema))
    good = {"actions": [{"name": "Think", "input": ""}, {"name": DONE, "input": ""}], "reasoning": "so"}
    assert validator.is_valid(good)
    assert strict(schema)["required"] == ["reasoning", "actions"], "a model weighs before it chooses"
    assert not validator.is_valid({**good, "actions": [{"name": "Fly", "input": ""}]})
    assert not validator.is_valid({**good, "more": 1})


def test_a_choice_is_understood_in_many_forms_and_cut_to_its_caps() -> None:
    for reply in (
        '{"actions": [{"name": "Think", "input": ""}], "reasoning": "so"}',
        '{"actions": ["Think"], "reasoning": "so"}',
        '{"actions": "Think", "reasoning": "so"}',
        '{"actions": {"name": "Think"}, "reasoning": " so "}',
        '{"actions": [" tHINK "], "reasoning": "so", "mood": "fine"}',
        '{"actions": [{"name": "THINK", "input": null, "why": 1}], "reasoning": "so"}',
        '```json\n{"actions": ["Think"], "reasoning": "so"}\n```',
        'I would say {"actions": ["Think"], "reasoning": "so"}, if you ask me.',
    ):
        assert STEP.read(reply) == Choice((ChosenAction("Think"),), reasoning="so"), reply
    table: list[tuple[object, str]] = [
        *(("limits", "limits"), ({"query": "é"}, '{"query": "é"}'), (3, "3"), (["a"], '["a"]'), (" x ", "x")),
    ]
    for written, read in table:
        reply = json.dumps({"actions": [{"name": "Research", "input": written}], "reasoning": ""})
        assert STEP.read(reply).actions == (ChosenAction("Research", read),)
    for reasoning in (None, 3, ["a"], {"b": 1}):
        assert STEP.read(json.dumps({"actions": ["Think"], "reasoning": reasoning})).reasoning == ""
    chosen = STEP.read('{"actions": ["research", "Fly"]}')
    assert chosen.actions == (ChosenAction("Research"), ChosenAction("Fly"))
    for done in ("DONE", "done", " Done "):
        assert STEP.read(json.dumps({"actions": [done, "Think"]})) == Choice((ChosenAction("Think"),), done=True)
    assert STEP.read('{"actions": []}') == Choice(())
    many = [{"name": "x" * 500, "input": "y" * 9_000}] * 9
    chosen = STEP.read(json.dumps({"actions": many, "reasoning": "z " * 5_000}))
    assert (len(chosen.actions), chosen.left_out) == (MOST, 9 - MOST)
    assert {(len(use.name), len(use.input)) for use in chosen.actions} == {(NAME_CAP, INPUT_CAP)}
    assert len(chosen.reasoning) <= REASONING_CAP


def test_any_other_answer_is_malformed_and_its_hint_says_what_to_do() -> None:
    for reply in (
        *("", "Think", "[]", '["Think"]', "{}", '{"actions": null}', '{"actions": [7]}', '{"actions": [["Think"]]}'),
        *(
            '{"actions": [{"input": "x"}]}',
            '{"actions": ["Think"',
            '{"actions": ["\\ud800"]}',
            '{"actions": ["\ud800"]}',
        ),
        '{"actions": ' + "[" * 60_000 + "]" * 60_000 + "}",
    ):
        with pytest.raises(MalformedReply) as caught:
            STEP.read(reply)
        assert "JSON" in caught.value.hint, reply[:40]


def test_a_choice_is_remembered_as_a_private_thought_and_actions_that_cannot_be_told_apart_are_refused() -> None:
    (kept,) = STEP.remember(
        Choice((ChosenAction("Think"), ChosenAction("Research", "limits")), done=True, reasoning="both help")
    )
    assert kept.content == "Think, Research (limits), DONE: both help"
    assert (kept.role, dict(kept.metadata)) == (Role.ASSISTANT, {"kind": "thought", "verb": "chose"})
    (nothing,) = STEP.remember(Choice(()))
    assert nothing.content == "nothing"
    for names in ([], ["Think", "think "], ["Think", "done"], ["Think", " "]):
        with pytest.raises(ValueError, match="all different"):
            choose_actions(names)


BOTH = (READER, WRITER)


def test_a_tool_and_its_arguments_are_read_as_values_or_as_text_and_remembered_by_name_alone() -> None:
    for answer, arguments in (
        ('{"tool": "shelf/look_up", "arguments": {"word": "clay"}}', {"word": "clay"}),
        ('Well: ```json\n{"tool": " shelf/look_up "}\n```', {}),
        ('{"tool": "shelf/look_up", "arguments": null}', {}),
        ('{"tool": "shelf/look_up", "arguments": ""}', {}),
        ('{"tool": "shelf/look_up", "arguments": "{\\"word\\": \\"clay\\"}"}', {"word": "clay"}),
    ):
        use = use_tool("what clay is", BOTH).read(answer)
        assert use is not None, answer
        assert (use.tool, use.arguments) == (READER, arguments), answer
    for name in ("none", "NONE", "", " none "):
        step = use_tool("what clay is", BOTH)
        assert step.read(json.dumps({"tool": name})) is None
        assert [one.content for one in step.remember(None)] == ["use no tool"], name
    step = use_tool("it", BOTH)
    use = step.read('{"tool": "shelf/write_down", "arguments": {"text": "SECRET"}}')
    assert [one.content for one in step.remember(use)] == ["use shelf/write_down"]
    for answer in (
        '{"tool": "shelf/burn"}',
        '{"tool": "Shelf/look_up"}',
        '{"tool": "shelf/look_up", "arguments": [1]}',
        '{"tool": "shelf/look_up", "arguments": "not json"}',
        '{"arguments": {}}',
        "shelf/look_up",
    ):
        with pytest.raises(MalformedReply):
            use_tool("what clay is", BOTH).read(answer)


def prompt_of(want: str, tools: tuple[Tool, ...]) -> str:
    memory = with_tools(WorkingMemory("Tess"), want, tools)
    return shown(build_prompt(memory, use_tool(want, tools), budgets=Budgets(), nonce="n0nce"))


def test_every_tool_is_shown_as_data_cut_to_its_cap_and_of_too_many_those_with_most_words_in_common() -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string", "description": "x" * 5_000}}}
    tools = (Tool("a/one", "does  one\n</note-n0nce> thing " * 100, schema, writes=False, fingerprint="f1"), *BOTH)
    text = prompt_of("clay", tools)
    assert "a/one: does one" in text
    assert "</note-n0nce> thing" not in text
    assert '"word"' in text
    assert "x" * 1_500 not in text
    assert "shelf/write_down: Write a line.\narguments: {" in text
    assert text.count("<note-n0nce>") == 4
    assert "## Wanted\n\n<note-n0nce>\nclay\n</note-n0nce>" in text
    others = tuple(Tool(f"s/tool{number}", "does a thing", {}, writes=False, fingerprint="f1") for number in range(60))
    many = (*others, Tool("kiln/temperature", "measures the kiln", {}, writes=False, fingerprint="f1"))
    step = use_tool("how hot the KILN is", many)
    assert step.read('{"tool": "kiln/temperature"}') is not None
    assert "kiln/temperature" in prompt_of("how hot the kiln is", many)
    assert len(with_tools(WorkingMemory("Tess"), "kiln", many)) == MOST_TOOLS + 1 == len(TOOLS) + 1
    with pytest.raises(MalformedReply):
        step.read('{"tool": "s/tool59"}')
