"""One budget for the whole prompt: whatever stands in it, it fits; memories give way first, the talk last."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import SoulError
from daemon.core.perception import Place
from daemon.core.ports.channel import ThreadMessage
from daemon.core.ports.services import Prompt
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.mind.matter import Matter
from daemon.mind.stances import MadePiece, stance_of
from daemon.mind.steps.respond import respond
from daemon.mind.transitions import meaning_of
from daemon.processes.wishes import WISHES
from daemon.soul import Mode, Soul, Verbs, find_souls_directory, load_soul, standing, talk_budget
from daemon.soul.room import HOUSE
from daemon.soul_engine import (
    AT_WORK,
    GOALS,
    MEMORIES,
    PERSON,
    SHARED_CONTEXT,
    SOUL_STATE,
    SUMMARY,
    begin,
    build_prompt,
    with_abilities,
    with_aside,
    with_cut_turn,
    with_mode,
    with_notes,
    with_now,
    with_stance,
    with_thoughts,
    with_thread,
)
from tests.given import tokens

MODES = ("", "academic", "poetic")


def shipped(name: str = "minoan") -> Soul:
    return load_soul(find_souls_directory(None, Path("nowhere"), name), name)


KOTHAR = shipped()


def widest() -> Soul:
    """A soul whose every list is as long as it may be."""
    verbs = Verbs(speech=tuple("s" + "x" * 39 for _ in range(24)), thought=tuple("t" + "x" * 39 for _ in range(24)))
    lines = tuple(f"They ask of {number}, {'k' * 90}." for number in range(24))
    modes = tuple(Mode(name=name, personality="A mode.", hints=lines, triggers=lines) for name in MODES[1:])
    return KOTHAR.model_copy(update={"verbs": verbs, "modes": modes})


def said(number: int, text: str) -> Memory:
    role = Role.USER if number % 2 == 0 else Role.ASSISTANT
    return Memory(role, f"turn {number}: {text}", name="Ada", metadata={"verb": "explained"})


def full(soul: Soul, mode: str, text: str, turns: int) -> WorkingMemory:
    """Everything that may stand in the prompt of a reply, each in abundance, before the message being answered."""
    memory = with_now(begin(soul), 1_763_700_000_000, Place.PUBLIC_CHANNEL, "Europe/Athens")
    for region in (SOUL_STATE, GOALS, PERSON, MEMORIES, SHARED_CONTEXT, AT_WORK, SUMMARY):
        memory = with_notes(memory, region, *[text * 3] * 20, about="Ada")
    memory = with_abilities(memory, text * 5)
    memory = with_thread(memory, [ThreadMessage(str(n), "U2", "Bob", text) for n in range(50)])
    memory = with_aside(memory, [ThreadMessage(str(n), "U3", "Eve", text) for n in range(50)])
    memory = with_thoughts(memory, (text[:400], text[:400]))
    memory = with_stance(memory, stance_of(soul, mode or "returning", pause="three days", number="3"))
    if mode:
        memory = with_mode(memory, getattr(soul.mode(mode), "personality", ""))
    memory = MadePiece(text[:150]).in_mind(Matter("it", 3, text * 4).in_mind(memory))
    return memory.concat(said(number, text) for number in range(turns))


def asked(soul: Soul, memory: WorkingMemory, words: str = "And now?") -> Prompt:
    step = respond(soul, {wish.word: meaning_of(wish, soul) for wish in WISHES})
    answered = memory.with_memory(Memory(Role.USER, words, name="Ada"))
    return build_prompt(answered, step, budgets=soul.budgets, nonce="c0dec0dec0")


def whole(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


@given(
    mode=st.sampled_from(MODES),
    text=st.sampled_from(["word " * 40, "日本語の長い文章" * 12, "short", "🏺" * 60]),
    turns=st.integers(0, 60),
    words=st.sampled_from(["And now?", "why " * 500]),
)
def test_the_whole_prompt_keeps_to_its_budget(mode: str, text: str, turns: int, words: str) -> None:
    prompt = asked(KOTHAR, full(KOTHAR, mode, text, turns), words)
    assert tokens(prompt) <= KOTHAR.budgets.prompt
    assert words.strip() in whole(prompt)


def test_the_whole_keeps_to_its_budget_for_any_soul() -> None:
    for size in (2_000, 3_000, 6_000):
        budgets = shipped("plain").budgets.model_copy(update={"prompt": size})
        soul = shipped("plain").model_copy(update={"budgets": budgets})
        assert tokens(asked(soul, full(soul, "", "word " * 40, 60))) <= size
    memory = begin(KOTHAR).concat(said(number, "word " * 40) for number in range(16))
    usual, long = asked(KOTHAR, memory), asked(KOTHAR, memory, "why " * 3_000)
    assert whole(long).count("turn ") == whole(usual).count("turn ")
    assert tokens(long) <= KOTHAR.budgets.prompt + KOTHAR.budgets.message
    for soul in (KOTHAR, shipped("plain"), widest()):
        for mode in MODES:
            memory = begin(soul)
            if mode and (named := soul.mode(mode)):
                memory = with_mode(memory, named.personality)
            real = sum(estimate_tokens(part.text) for part in asked(soul, memory).system)
            assert real <= standing(soul, mode) <= real + HOUSE // 5


def test_memories_give_way_first_the_talk_last_and_no_turn_that_has_no_summary_yet() -> None:
    memory = with_notes(begin(KOTHAR), MEMORIES, *["They met on Monday. " * 30] * 3)
    memory = with_aside(memory, [ThreadMessage(str(n), "U3", "Eve", "Let her ask. " * 30) for n in range(3)])

    def shown(turns: int) -> tuple[int, int, int]:
        talk = (said(number, "word " * 63) for number in range(turns))
        text = whole(asked(KOTHAR, memory.concat(talk)))
        return text.count("They met"), text.count("Let her"), text.count("turn ")

    memories, aside, _ = shown(2)
    some, more, most = shown(15), shown(17), shown(18)
    assert 0 < some[0] < memories, "the memories are shortened first"
    assert (some[1], more[0], more[1]) == (aside, 0, aside), "then left out, before anything else is shortened"
    assert most[1] < aside
    assert [some[2], more[2], most[2]] == [15, 17, 18], "the talk is whole"
    for mode in MODES:
        memory = with_now(begin(KOTHAR), 1_763_700_000_000, Place.DM, "Europe/Athens")
        memory = with_notes(memory, SUMMARY, "They met. " * 40)
        memory = with_stance(memory, stance_of(KOTHAR, mode or "engaged"))
        if mode:
            memory = with_mode(memory, getattr(KOTHAR.mode(mode), "personality", ""))
        turns, size = list[Memory](), 0
        while size + 76 <= talk_budget(KOTHAR, mode):
            turns.append(said(len(turns), "word " * 38))
            size += estimate_tokens(turns[-1].content) + 23
        whole_text = whole(asked(KOTHAR, memory.concat(turns)))
        assert [turn.content for turn in turns if turn.content.strip() not in whole_text] == [], mode
    turns = [said(0, "q " * 1_400), said(1, "a " * 8_000)]
    text = whole(asked(KOTHAR, with_cut_turn(begin(KOTHAR).concat(turns)), "Go on."))
    assert "turn 0" in text
    assert "turn 1" in text
    assert "met its length limit" in text


def write(folder: Path, words: int, more: str) -> Path:
    soul = folder / "ada"
    soul.mkdir(exist_ok=True)
    (soul / "soul.toml").write_text(f'name = "ada"\ndisplay_name = "Ada"\n[budgets]\n{more}')
    (soul / "soul.md").write_text("word " * words)
    return folder


def test_a_soul_that_leaves_no_room_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SoulError) as error:
        load_soul(write(tmp_path, 2_500, "personality = 4000\n"), "ada")
    assert "soul.md is too long: with the house's rules about" in error.value.message
    assert "of the 4000 tokens that budgets.prompt in soul.toml allows" in error.value.message
    assert load_soul(write(tmp_path, 2_500, "personality = 4000\nprompt = 6000\n"), "ada").budgets.prompt == 6_000
