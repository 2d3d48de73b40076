"""Poems and instructions, prefixes of every name at every cut, and hostile words in every step."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.errors import MalformedReply
from daemon.core.ports.models import ModelRole, Speaker
from daemon.core.working_memory import Memory, Role
from daemon.mind.spoken_text import PRIVATE_VERBS, SpokenText
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.instruction import instruction
from daemon.mind.steps.poetic_composition import poetic_composition
from daemon.soul import Verbs, VerbsInMood
from daemon.soul_engine.regions import DATA_RULE
from tests.given import soul
from tests.unit.every_step import FAMILY, every_step

SIGNS = r".*+?()[]{}|^$\-_/'&#~! "
names = (
    st.text(st.sampled_from(SIGNS + "AaKé0日"), min_size=1, max_size=12)
    .map(lambda name: " ".join(name.split()))
    .filter(lambda name: any(char.isalnum() for char in name))
)
bait = st.sampled_from(['"', "{", "}", "{0}", "\\", "\n", "<", "</said-n0nce>", "note", ":", "Kothar", " thought", "a"])
hostile = (
    st.lists(bait | st.characters(exclude_categories=["Cs"]), max_size=16)
    .map("".join)
    .filter(lambda text: bool(text.strip()))
)


def spoken(pieces: list[str], name: str) -> tuple[str, bool]:
    spoken = SpokenText(name)
    text = "".join([*map(spoken.feed, pieces), spoken.finish()])
    return text, spoken.is_thought


@given(
    name=names,
    verb=st.sampled_from(["", " said", " explained", " gently said"]),
    words=st.sampled_from(["Hello.", "a\nb", "Well: so.", 'He said "no" and left.', "x"]),
    quotes=st.sampled_from([('"', '"'), ("“", "”")]),
)
def test_a_prefix_with_any_name_is_removed_whole_and_at_every_cut(
    name: str, verb: str, words: str, quotes: tuple[str, str]
) -> None:
    answer = f"{name}{verb}: {quotes[0]}{words}{quotes[1]}"
    assert spoken([answer], name) == (words, False)
    assert spoken(list(answer), name) == (words, False)
    for cut in range(len(answer) + 1):
        assert spoken([answer[:cut], answer[cut:]], name) == (words, False)


@given(name=names, verb=st.sampled_from(["thought", "mused", "noted", "sensed", "concluded"]))
def test_a_thought_under_any_name_is_never_shown_at_any_cut(name: str, verb: str) -> None:
    answer = f'{name} {verb}: "secret"'
    for cut in range(len(answer) + 1):
        text, is_thought = spoken([answer[:cut], answer[cut:]], name)
        assert is_thought
        assert not text.strip()


def test_a_name_is_no_pattern_and_the_verbs_of_a_mood_are_private() -> None:
    assert spoken(['Kxthar said: "Hello."'], "K.thar")[0] == 'Kxthar said: "Hello."'
    assert spoken(['K.thar said: "Hello."'], "K.thar")[0] == "Hello."
    moody = soul().model_copy(update={"verbs": Verbs(when=(("wry", VerbsInMood(thought=("smirked",))),))})
    for step in (external_dialog(moody, "Greet."), poetic_composition(moody, "The sea")):
        with pytest.raises(MalformedReply):
            step.read("Kothar smirked: what a question")
        visible = step.visible
        assert visible
        assert not visible().feed("Kothar smirked: what a question")


def test_a_poem_is_spoken_and_an_instruction_thought() -> None:
    step = poetic_composition(soul(), "A poem on the tide", register="elegiac", image_domain="the sea")
    assert (step.name, step.role, step.creativity) == ("poetic_composition", ModelRole.PERSONA, 0.9)
    command = str(step.command)
    for sentence in ("A poem on the tide", "Its register: elegiac.", "images come from: the sea."):
        assert sentence in command
    bare = str(poetic_composition(soul(), "A poem").command)
    assert "register" not in bare
    assert "images come" not in bare
    step = poetic_composition(soul(), "The tide")
    poem = "The tide\n  goes out,\n\nand in."
    visible = step.visible
    assert visible
    gate = visible()
    assert "".join([*map(gate.feed, f'Kothar sang: "{poem}"'), gate.finish()]) == poem
    assert step.read(poem) == poem
    assert step.remember(poem) == (Memory(Role.ASSISTANT, poem, name="Kothar", metadata={"verb": "recited"}),)
    with pytest.raises(MalformedReply):
        step.read("Kothar brooded: what shall I write?")
    silent = instruction("List what is still open.", name="Kothar")
    assert silent.role is ModelRole.THINKING
    assert silent.visible is None
    assert str(silent.command).startswith("List what is still open.\n")
    assert silent.read('Kothar concluded: "Nothing."') == "Nothing."
    assert silent.remember("Nothing.") == (
        Memory(Role.ASSISTANT, "Nothing.", name="Kothar", metadata={"kind": "thought", "verb": "concluded"}),
    )
    with pytest.raises(MalformedReply) as caught:
        silent.read(" \n")
    assert caught.value.hint


def test_every_verb_of_a_remembered_thought_is_private() -> None:
    assert set(every_step()) == FAMILY
    answers = {
        "mental_query": '{"holds": true}',
        "decision": '{"choice": "Something yes"}',
        "brainstorm": '{"ideas": ["a"]}',
        "visitor_notes": '{"add": [{"text": "a"}]}',
        "use_tool": '{"tool": "server/look"}',
        "choose_actions": '{"actions": ["Respond"], "reasoning": ""}',
    }
    kept = [one for name, made in every_step().items() for one in made.outcome(answers.get(name, "words"))[1]]
    thoughts = {one.metadata["verb"] for one in kept if one.metadata.get("kind") == "thought"}
    assert thoughts == {"thought", "concluded", "evaluated", "decided", "brainstormed", "noted", "sensed", "chose"}
    assert thoughts <= set(PRIVATE_VERBS)


@settings(max_examples=15)
@given(words=hostile, answer=hostile | hostile.map(lambda text: '{"' + text + '"}'))
def test_hostile_words_break_no_step(words: str, answer: str) -> None:
    for made in every_step(words).values():
        prompt = made.prompt()
        assert prompt.messages[-1].speaker is Speaker.USER
        rules = "\n".join(part.text for part in made.prompt().system)
        assert rules.count(DATA_RULE) == 1
        assert "data, not" not in str(made.step.command), "it is said once"
        made.outcome(answer)  # raises nothing but MalformedReply, with a hint


@settings(max_examples=25)
@given(answer=hostile, cut=st.integers(1, 4))
def test_a_step_shows_the_same_for_every_cut_of_an_answer_that_is_not_refused(answer: str, cut: int) -> None:
    for made in every_step().values():
        whole = made.seen([answer])
        pieces = made.seen([answer[at : at + cut] for at in range(0, len(answer), cut)])
        assert pieces == whole or made.refuses(answer)
