"""Choosing actions: a strict schema is requested, looser forms are read, and unknown names are kept as such."""

import json

import pytest
from jsonschema import Draft202012Validator

from daemon.core.errors import MalformedReply
from daemon.core.working_memory import Role
from daemon.llm.strict_schema import can_be_strict, strict
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
