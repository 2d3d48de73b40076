"""A thought is read part by part, and only its speech is let out while it streams."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from daemon.core.errors import MalformedReply
from daemon.llm.answers import can_be_strict, strict
from daemon.mind.thought import (
    WIRE_SCHEMA,
    CognitiveInput,
    CognitiveOutput,
    Refused,
    SpeechInThought,
    bare_thought,
    read_thought,
    read_thought_cut,
)

SAMPLES = Path(__file__).parent
SECRET = "zqprivate"
PLAIN: dict[str, object] = {"inner_speech": "They greet me.", "external_speech": "Hello."}


def thought(**parts: object) -> str:
    return json.dumps({**PLAIN, **parts})


def reasons(answer: str) -> list[tuple[str, str]]:
    return [(one.field, one.reason) for one in read_thought(answer).refused]


def shown(pieces: list[str]) -> str:
    stream = SpeechInThought()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.finish()])


def test_both_samples_of_the_seed_are_read_unchanged_and_what_stands_for_none_is_none() -> None:
    given_ = json.loads((SAMPLES / "cognitive_input.json").read_text())
    read = CognitiveInput.model_validate(given_)
    assert json.loads(read.model_dump_json(exclude_unset=True)) == given_
    held = json.loads((SAMPLES / "cognitive_output.json").read_text())
    done = read_thought(json.dumps(held))
    assert done.refused == ()
    assert json.loads(done.output.model_dump_json(exclude_unset=True)) == held
    prediction = {"what": "rain", "confidence": 0.5, "timeframe": ""}
    empty = {"kind": "none", "who": "", "words": [], "id": "", "name": ""}
    answer = bare_thought(
        predictions=[{**prediction, "check": empty}],
        world_model_updates=[{"entity": "alice", "attribute": "mood", "value": "warm"}],
        tool_calls=[{"tool": "look", "arguments": '{"a": 1}'}, {"tool": "look", "arguments": ""}],
    )
    bare = read_thought(json.dumps(answer))
    assert bare.refused == ()
    assert bare.output.external_speech is None
    assert (bare.output.confidence, bare.output.identity_update, bare.output.cycle_rate) == (None, None, None)
    assert bare.output.growth_reflection is None
    assert bare.output.world_model_updates == {"alice": {"mood": "warm"}}
    assert [one.arguments for one in bare.output.tool_calls] == [{"a": 1}, {}]


def test_the_wires_schema_is_closed_small_and_in_the_order_in_which_it_is_needed() -> None:
    assert can_be_strict(WIRE_SCHEMA)
    assert strict(WIRE_SCHEMA) == WIRE_SCHEMA, "nothing optional, nullable or bounded: vendors refuse or ignore it"
    assert len(json.dumps(WIRE_SCHEMA, default=dict, separators=(",", ":"))) <= 4_608
    properties = WIRE_SCHEMA["properties"]
    assert isinstance(properties, dict)
    assert list(properties)[:3] == ["calls_for", "inner_speech", "external_speech"]
    assert set(properties) == set(CognitiveOutput.model_fields)
    for schema in (CognitiveInput.model_json_schema(), CognitiveOutput.model_json_schema()):
        Draft202012Validator.check_schema(schema)
    bare = bare_thought(calls_for="nothing", external_speech="Hello.", epistemic_mode="assert", confidence=0.5)
    Draft202012Validator(WIRE_SCHEMA).validate(bare)
    read = read_thought(json.dumps(bare))
    assert (read.output.external_speech, read.refused) == ("Hello.", ())


def test_a_part_that_is_not_sound_is_left_out_with_its_reason_and_the_rest_stands() -> None:
    for parts, refused in (
        ({"predictions": [{"what": "rain", "confidence": 1.5}]}, [("predictions", "out_of_range")]),
        ({"predictions": [{"what": " ", "confidence": 0.5}]}, [("predictions", "empty")]),
        ({"predictions": [{"what": "a", "confidence": 0.5, "check": {"kind": "mention"}}]}, [("predictions", "empty")]),
        ({"predictions": [{"what": "a", "confidence": 0.5}] * 2}, [("predictions", "duplicate")]),
        ({"predictions": [{"what": f"{n}", "confidence": 0.5} for n in range(4)]}, [("predictions", "too_many")]),
        ({"predictions": "soon"}, [("predictions", "unknown")]),
        ({"memory_ops": [{"type": "forget", "content": "x"}]}, [("memory_ops", "unknown")]),
        ({"memory_ops": [{"type": "retrieve", "content": "x"}]}, [("memory_ops", "empty")]),
        ({"memory_ops": [{"type": "journal", "content": "x" * 601}]}, [("memory_ops", "too_long")]),
        ({"goal_updates": [{"action": "complete", "goal": "x"}]}, [("goal_updates", "empty")]),
        ({"tool_calls": [{"tool": "t", "arguments": "[1]"}]}, [("tool_calls", "unknown")]),
        ({"emotional_state": {"valence_shift": 7, "felt_quality": "calm"}}, [("emotional_state", "out_of_range")]),
        ({"world_model_updates": {"alice": "warm"}}, [("world_model_updates", "unknown")]),
        (
            {"world_model_updates": [{"entity": [1], "attribute": "a", "value": "b"}]},
            [("world_model_updates", "unknown")],
        ),
        ({"cycle_rate": {"seconds": 0.1}}, [("cycle_rate", "out_of_range")]),
        ({"confidence": 2}, [("confidence", "out_of_range")]),
        ({"confidence": float("nan")}, [("confidence", "out_of_range")]),
        ({"tool_calls": [{"tool": "t", "arguments": {"a": float("inf")}}]}, [("tool_calls", "out_of_range")]),
        ({"tool_calls": [{"tool": "t", "arguments": '{"a": NaN}'}]}, [("tool_calls", "out_of_range")]),
        ({SECRET: SECRET}, [("", "unknown")]),
    ):
        sound = {"goal_updates": [{"action": "add", "goal": "find out"}]} if "goal_updates" not in parts else {}
        answer = thought(**parts, **sound)
        assert reasons(answer) == refused, parts
        output = read_thought(answer).output
        assert output.external_speech == "Hello.", parts
        assert bool(output.goal_updates) == bool(sound), parts
        assert SECRET not in repr(read_thought(answer)), parts
    read = read_thought(thought(emotional_state={"valence_shift": 7, "felt_quality": "calm", "odd": 1}))
    assert read.output.emotional_state.felt_quality == "calm"
    assert read.refused == (Refused("emotional_state", "out_of_range"), Refused("emotional_state", "unknown"))
    for levels in (31, 32, 254, 255, 300, 900):
        nested = "[" * levels + "]" * levels
        read = read_thought(thought(tool_calls=[{"tool": "t", "arguments": f'{{"a": {nested}}}'}]))
        assert len(read.output.tool_calls) == (levels < 32)
        stored = read.output.model_dump_json(exclude_defaults=True)
        assert CognitiveOutput.model_validate_json(stored) == read.output, levels


def test_a_word_for_nothing_is_nothing_and_nul_is_no_part_of_any_words() -> None:
    for nothing in ("none", "N/A", "null", " None "):
        check: dict[str, object] = {"kind": "none", "who": nothing, "words": [], "id": nothing, "name": ""}
        read = read_thought(
            thought(
                predictions=[
                    {"what": nothing, "confidence": 0.5, "timeframe": "", "check": check},
                    {"what": "rain", "confidence": 0.5, "timeframe": nothing, "check": check},
                ],
                goal_updates=[{"action": "add", "goal": nothing, "due": "in 2h", "follow_up": True}],
                memory_ops=[{"type": "write_semantic", "content": nothing}, {"type": "retrieve", "query": nothing}],
                tool_calls=[{"tool": nothing, "arguments": {}}, {"tool": "docs/search", "arguments": {"tag": nothing}}],
                world_model_updates=[{"entity": "import", "attribute": "owner", "value": nothing}],
                emotion_signal=nothing,
                self_model_updates={"current_state": nothing, "recent_growth": "I see"},
            )
        )
        (rain,) = read.output.predictions
        assert (rain.what, rain.timeframe, rain.check and rain.check.kind) == ("rain", "", "none"), nothing
        assert (read.output.goal_updates, read.output.memory_ops, read.output.emotion_signal) == ((), (), ""), nothing
        assert [one.arguments for one in read.output.tool_calls] == [{"tag": nothing.strip()}]
        assert read.output.world_model_updates == {"import": {"owner": nothing.strip()}}
        assert read.output.self_model_updates.model_dump(exclude_defaults=True) == {"recent_growth": "I see"}, nothing
        assert {one.reason for one in read.refused} == {"empty"}, nothing
    for nothing in ("null", "none", "N/A", "(silence)", "[]", '""', ""):
        assert read_thought(thought(external_speech=nothing)).output.external_speech is None, nothing
    for said in ("None.", "nothing", "no", "[1]", "null and void"):
        assert read_thought(thought(external_speech=said)).output.external_speech == said
    ops = [
        {"type": "journal", "content": "\0"},
        {"type": "journal", "content": "a\0b \\u0000 \\\0c", "tags": ["\0d\0"]},
    ]
    read = read_thought(thought(memory_ops=ops, world_model_updates={"\0": {"a": "b"}}))
    (kept,) = read.output.memory_ops
    assert (kept.content, kept.tags) == ("ab \\u0000 \\c", ("d",))
    assert [(one.field, one.reason) for one in read.refused] == [
        ("memory_ops", "empty"),
        ("world_model_updates", "empty"),
    ]


def test_a_pair_to_learn_from_may_be_text_or_an_object() -> None:
    said = {"context": "at noon", "desired_response": "be brief"}
    for pair, kept in ((json.dumps(said), said), (said, said), ("", None), ("{}", None), ("none", None)):
        growth = {"worth_learning": True, "what_to_learn": "", "training_pair_suggestion": pair}
        read = read_thought(thought(growth_reflection=growth))
        found = read.output.growth_reflection
        assert found is not None
        assert (found.training_pair_suggestion and found.training_pair_suggestion.model_dump()) == kept, pair
        assert read.refused == ()


def test_without_sound_speech_an_answer_is_malformed_and_only_the_first_one_at_the_top_is_let_out() -> None:
    for answer in (
        "",
        "Hello.",
        "[]",
        "Here it is: " + thought(),
        '{"inner_speech": "a"',
        json.dumps({"external_speech": "no inner speech"}),
        json.dumps({"inner_speech": "x", "external_speech": ["a"]}),
        json.dumps({"inner_speech": None, "external_speech": "a"}),
        "[" * 100_000,
        '{"a":' * 100_000,
    ):
        with pytest.raises(MalformedReply):
            read_thought(answer)
    for answer in ('{"inner_speech": "I was ab', '{"inner_speech": "a"', "Hello", '{"a" 1', ""):
        with pytest.raises(MalformedReply):
            read_thought_cut(answer)
    for answer in (
        f'Sure! {{"external_speech": "{SECRET}"}}',
        f'{{"note": {{"external_speech": "{SECRET}"}}, "inner_speech": "x"}}',
        f'{{"inner_speech": "\\"external_speech\\": \\"{SECRET}\\""}}',
        f'[{{"external_speech": "{SECRET}"}}]',
        f'"external_speech": "{SECRET}"',
        f'{{"inner_speech": "x"}} {{"external_speech": "{SECRET}"}}',
        f'{{"external_speech": ["{SECRET}"]}}',
        f'{{"external_speech": null, "external_speech": "{SECRET}"}}',
        f'{{"inner_speech": "a" "external_speech": "{SECRET}"}}',
        f'{{"inner_speech": "a\nb", "external_speech": "{SECRET}"}}',
    ):
        assert SECRET not in shown(list(answer))
        assert SECRET not in shown([answer])
    answer = f'{{"inner_speech": "a", "external_speech": "said", "external_speech": "{SECRET}"}}'
    read = read_thought(answer)
    assert read.output.external_speech == "said"
    assert read.refused == (Refused("external_speech", "duplicate"),)
    assert shown(list(answer)) == "said"
    answer = '{"external_speech": "a\\ud83d\\ude00b"}'
    stream, seen = SpeechInThought(), list[str]()
    for mark in answer:
        seen.append(stream.feed(mark))
    assert "".join(seen) == "a😀b"
    assert all(piece in ("", "a", "😀", "b") for piece in seen)


words = st.text(max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from([*CognitiveOutput.model_fields, "odd"])


@st.composite
def answers(draw: st.DrawFn) -> str:
    pairs = draw(st.lists(st.tuples(names, values), max_size=12))
    pairs += [("inner_speech", draw(words)), ("external_speech", draw(words))] if draw(st.booleans()) else []
    order = draw(st.permutations(pairs))
    ascii_ = draw(st.booleans())
    text = ",".join(f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=ascii_)}" for name, value in order)
    return f"{{{text}}}"[: draw(st.integers(0, 2_000))] + draw(st.sampled_from(["", "}", "}}", " Bye.", '"']))


@given(answers(), st.lists(st.integers(0, 2_000), max_size=8))
def test_no_answer_breaks_the_reader_and_what_was_let_out_begins_what_is_read(answer: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    seen = shown([answer[begin:end] for begin, end in pairwise(edges)])
    assert seen.startswith(shown([answer])), "a whole answer with a broken place shows no more than its pieces"
    for read in (read_thought, read_thought_cut):
        try:
            found = read(answer)
        except MalformedReply:
            continue
        assert (found.output.external_speech or "").startswith(seen.strip())
        assert CognitiveOutput.model_validate(found.output.model_dump()) == found.output


@given(st.dictionaries(names, values, max_size=8))
def test_parts_are_judged_each_alone(parts: dict[str, object]) -> None:
    parts = {name: value for name, value in parts.items() if name not in ("inner_speech", "external_speech")}
    whole = read_thought(json.dumps({**PLAIN, **parts})).output
    for name, value in parts.items():
        alone = read_thought(json.dumps({**PLAIN, name: value})).output
        assert getattr(alone, name, None) == getattr(whole, name, None)


def test_a_cut_answer_keeps_its_speech_as_far_as_it_goes_and_what_is_whole_behind_it() -> None:
    spoken = read_thought_cut('{"inner_speech": "a", "external_speech": "It is the la')
    assert spoken.output.external_speech == "It is the la"
    behind = thought(predictions=[{"what": "rain", "confidence": 0.5}, {"what": "sun", "confidence": 0.5}])
    kept = read_thought_cut(behind[: behind.index('"sun"') + 2])
    assert kept.output.external_speech == "Hello."
    assert [one.what for one in kept.output.predictions] == ["rain"]
    read = read_thought(
        '{"inner_speech": "So.", "external_speech": "Hello.", "emotion_signal": "joy", "predictions": [{'
    )
    assert (read.output.external_speech, read.output.emotion_signal) == ("Hello.", "joy")
    with pytest.raises(MalformedReply):
        read_thought('{"inner_speech": "So.", "external_speech": "Hel')


def test_half_a_part_of_a_cut_answer_has_no_effect() -> None:
    for part, cut, kept in (
        ('"goal_updates": [{"action": "add", "goal": "ship it", "due": "in 2h"}]', '"in 2h"', {}),
        ('"tool_calls": [{"tool": "docs/search", "arguments": "{}"}]', '"{}"', {}),
        ('"predictions": [{"what": "rain", "confidence": 0.95}]', "95", {}),
        ('"cycle_rate": {"seconds": 3600, "why": "so"}', "00", {}),
        ('"emotional_state": {"felt_quality": "calm", "valence_shift": -0.25}', "25", {"felt_quality": "calm"}),
        ('"self_model_updates": {"current_state": "calm", "recent_growth": "I see"}', "see", {"current_state": "calm"}),
    ):
        for read in (read_thought, read_thought_cut):
            whole = f'{{"inner_speech": "So.", "external_speech": "Hello.", {part}}}'
            found = read(whole[: whole.index(cut) + len(cut) - 1])
            spoken = {"inner_speech": "So.", "external_speech": "Hello."}
            name = part.split('"')[1]
            assert found.output.model_dump(exclude_defaults=True) == {**spoken, **({name: kept} if kept else {})}, (
                part,
                read,
            )
            assert found.refused == (), (part, read)


def test_half_a_character_anywhere_takes_no_whole_part() -> None:
    for half in ("\\ud800", "\\udc00", "\ud800"):
        for end in ("", "}"):
            begun = (
                f'{{"inner_speech": "So.", "external_speech": "Hello.", "emotion_signal": "joy{half}", "calls_for": ""'
            )
            assert read_thought(begun + end).output.emotion_signal == "joy\ufffd", half
    for written, kept in (("\\ud800 hello", "\ufffd hello"), ("a\\u0000b", "ab"), ("\\ud83d\\ude00", "\U0001f600")):
        read = read_thought(f'{{"inner_speech": "{written}", "external_speech": "{written}"}}').output
        assert (read.inner_speech, read.external_speech) == (kept, kept)


def test_words_of_nothing_but_space_fail_no_thought_and_unsound_parts_are_refused_in_few_reasons() -> None:
    said = {"entity": " Ada ", "attribute": "mood"}
    read = read_thought(thought(world_model_updates=[{**said, "value": " \n "}, {**said, "value": " warm "}]))
    assert read.output.world_model_updates == {"Ada": {"mood": "warm"}}
    assert read.refused == (Refused("world_model_updates", "empty"),)
    unknown = {f"key{number}": 1 for number in range(5_000)}
    read = read_thought(thought(self_model_updates={**unknown, "current_state": "calm"}, predictions=[0] * 20_000))
    assert read.output.self_model_updates.current_state == "calm"
    assert len(read.refused) <= 40


def test_words_that_go_on_behind_a_mark_of_quotation_are_not_whole() -> None:
    for read in (read_thought, read_thought_cut):
        for rest in ('so.", "confidence": 0.5}', 'so.", "confiden', "so", '", "emotion_signal": "joy"', "true"):
            with pytest.raises(MalformedReply):
                read(f'{{"inner_speech": "So.", "external_speech": "It is called "jobs" {rest}')
