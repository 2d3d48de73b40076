"""The models without a provider: the placeholder claims nothing, and the rehearsal does what each line says."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.config import load_settings
from daemon.core.errors import ConfigError, ModelRefused
from daemon.core.ports.services import JUST_THOUGHT, THOUGHT_ALONE, ModelRole, Prompt, SystemPart
from daemon.llm.answers import ECHO, REHEARSAL, parse_model_id
from daemon.llm.endpoint import endpoint_for
from daemon.llm.placeholder import LINES, newest_messages, placeholder_answer, rehearsal_answer
from daemon.llm.router import Router
from daemon.mind.steps.choose_actions import Choice, ChosenAction, choose_actions
from daemon.mind.steps.feel import Feeling
from daemon.mind.steps.intend import ReminderRequest
from daemon.mind.steps.respond import Response
from daemon.mind.steps.visitor_notes import NotesChange
from daemon.mind.tagged_output import TaggedOutput
from daemon.mind.thought import WIRE_SCHEMA, CognitiveOutput, bare_thought, read_thought
from tests.fakes import FakeClock
from tests.llm.prompts import SCHEMA, answer, prompt
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


ROOT = Path(__file__).parents[2]
BARE = json.dumps(bare_thought(calls_for="nothing", external_speech="{reply}", epistemic_mode="assert", confidence=0.9))


def asks(*said: str) -> Prompt:
    """A prompt for one whole thought about these messages."""
    fenced = [f"<said-a1>\n{text}\n</said-a1>" for text in said]
    return replace(prompt(*fenced, schema=WIRE_SCHEMA), placeholder=BARE)


def thinks(*said: str) -> CognitiveOutput:
    """The thought about these messages; each line of it took effect, and it is of the form of the wire."""
    text = rehearsal_answer(asks(*said))
    jsonschema.Draft202012Validator(WIRE_SCHEMA).validate(json.loads(text))
    read = read_thought(text)
    assert not read.refused
    return read.output


def test_each_line_puts_its_part_into_the_thought() -> None:
    lines: tuple[tuple[str, str, object], ...] = (
        ("think: hm", "inner_speech", "hm"),
        ("say: Good morning.", "external_speech", "Good morning."),
        ("@soul say: Good morning.", "external_speech", "Good morning."),
        ("goal: read the log by 2h", "goal_updates", {"action": "add", "goal": "read the log", "due": "in 2h"}),
        ("goal: read the log by 5pm", "goal_updates", {"goal": "read the log", "due": "5pm"}),
        ("goal: read the log by 17:30", "goal_updates", {"goal": "read the log", "due": "17:30"}),
        ("intend: ask Ben by 3 days", "memory_ops", {"content": "ask Ben", "when": "in 3 days"}),
        ("Goal: read the log by Friday", "goal_updates", {"goal": "read the log", "due": "Friday"}),
        ("goal: read the log", "goal_updates", {"goal": "read the log", "due": "", "follow_up": False}),
        ("follow up: the import by 2h", "goal_updates", {"goal": "the import", "due": "in 2h", "follow_up": True}),
        ("done: G1", "goal_updates", {"action": "complete", "goal_id": "G1"}),
        ("abandon: G1", "goal_updates", {"action": "abandon", "goal_id": "G1"}),
        ("expect: done within 10m at 0.8", "predictions", {"what": "done", "confidence": 0.8, "timeframe": "in 10m"}),
        ("expect: done", "predictions", {"what": "done", "confidence": 0.7, "timeframe": ""}),
        ("expect reply within 1h at 0.6", "predictions", {"confidence": 0.6, "timeframe": "in 1h"}),
        ("expect reply", "predictions", {"confidence": 0.7, "timeframe": ""}),
        ("remember: it is red", "memory_ops", {"type": "write_episodic", "content": "it is red"}),
        ("recall: the import", "memory_ops", {"type": "retrieve", "query": "the import"}),
        ("journal: a long day", "memory_ops", {"type": "journal", "content": "a long day"}),
        ("intend: ask Ben by 2h", "memory_ops", {"type": "intend", "content": "ask Ben", "when": "in 2h"}),
        ("feel: +0.2 -0.1 calm", "emotional_state", {"valence_shift": 0.2, "arousal_shift": -0.1}),
        ("feel: +0.2 -0.1 calm", "emotional_state", {"felt_quality": "calm"}),
        ("self: awake", "self_model_updates", {"current_state": "awake"}),
        ("world: alice mood warm", "world_model_updates", {"alice": {"mood": "warm"}}),
        ("value: candour", "value_updates", {"action": "adopt", "value": "candour"}),
        ('use: search {"query": "a"}', "tool_calls", {"tool": "search", "arguments": {"query": "a"}}),
        ("use: search", "tool_calls", {"tool": "search", "arguments": {}}),
        ("rate: 30s", "cycle_rate", {"seconds": 30.0}),
        ("rate: 2m", "cycle_rate", {"seconds": 120.0}),
    )
    for line, field, held in lines:
        part = thinks(line).model_dump()[field]
        if isinstance(held, dict):
            (part,) = part if isinstance(part, (list, tuple)) else (part,)
            part = {name: part[name] for name in held}
        assert part == held, line


def test_lines_make_one_thought_which_speaks_looks_up_or_is_the_very_output() -> None:
    first, second = thinks("expect: done within 10m\nexpect reply").predictions
    assert first.check is not None
    assert second.check is not None
    assert (first.check.kind, first.check.words, second.check.kind) == ("mention", ("done",), "reply")
    thought = thinks("think: one\nthink: two\nsay: hello\nworld: alice mood warm")
    assert (thought.inner_speech, thought.external_speech) == ("one\ntwo", "hello")
    assert thought.world_model_updates == {"alice": {"mood": "warm"}}
    said = thinks("goal: read the log\nself: awake").external_speech
    assert said == "This is a rehearsal without a language model. Done as the lines say: goal, self."
    said = thinks("feel: quite well\nHello?").external_speech or ""
    assert said.startswith("This is a rehearsal without a language model, and no line says what to think.")
    assert "Hello?" in said
    assert thinks("silence\nthink: not now").external_speech is None
    looking = asks("recall: the import")
    assert read_thought(rehearsal_answer(looking)).output.external_speech is None
    then = replace(looking, messages=(replace(looking.messages[0], text=f'by="{JUST_THOUGHT}"'), looking.messages[0]))
    assert read_thought(rehearsal_answer(then)).output.external_speech
    assert rehearsal_answer(prompt("say: hello")) == placeholder_answer(prompt("say: hello"))
    for raw in ('raw: {"inner_speech": 3}', "@soul raw: not JSON at all", 'raw:\n{"a": "raw: b"}'):
        assert rehearsal_answer(asks(raw)) == raw.partition("raw:")[2].strip()


@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(["goal: ", "expect: a at ", "rate: ", "feel: "]))))
def test_any_words_make_a_thought_that_can_be_read(pieces: list[str]) -> None:
    said = "".join(pieces).replace("raw", "")
    read_thought(rehearsal_answer(asks(said)))


def test_alone_it_obeys_the_newest_reading_and_the_page_of_the_mind_lists_each_line() -> None:
    about = f"\n\n{THOUGHT_ALONE}, about what is due."
    alone = replace(asks("say: again"), messages=(replace(asks("say: again").messages[0], text=f"say: again{about}"),))
    assert read_thought(rehearsal_answer(alone)).output.external_speech is None
    reading = '<note-a1 about="from ci at 2026-11-26 09:00 (UTC)">\nsay: it is red\n</note-a1>'
    sensed = replace(alone, messages=(replace(alone.messages[0], text=f"say: again\n\n{reading}{about}"),))
    assert read_thought(rehearsal_answer(sensed)).output.external_speech == "it is red"
    page = (ROOT / "docs" / "MIND.md").read_text(encoding="utf-8")
    section = page.partition("## Rehearsing")[2]
    listed = {line.split("`")[1].partition(":")[0] for line in section.splitlines() if line.startswith("| `")}
    assert listed == {*LINES, "silence", "expect reply within 1h at 0.6", "raw"}


async def test_its_name_chooses_it_and_a_placeholder_of_another_name_is_refused() -> None:
    for model, said in ((REHEARSAL, "hello"), (ECHO, "I'm only a placeholder")):
        router = Router(load_settings(persona_model=model), FakeClock())
        text, completion = await answer(router, replace(asks("say: hello"), model=""))
        assert (json.loads(text)["external_speech"]).startswith(said)
        assert completion.model == model
    with pytest.raises(ConfigError, match="there is no model placeholder/parrot") as refused:
        endpoint_for(load_settings(), parse_model_id("placeholder/parrot"))
    assert REHEARSAL in refused.value.hint
