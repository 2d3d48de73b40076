"""The poem that a conversation is at: what of it is kept, and how the poet sees it."""

from daemon.core.working_memory import WorkingMemory
from daemon.mind.piece import MadePiece
from daemon.mind.steps.respond import respond
from daemon.soul import Budgets, Mode, Soul
from daemon.soul_engine import PIECE, STANCE, begin, build_prompt

MODE = Mode(name="poetic", personality="You sing.", registers=("hymn", "lament"), image_domains=("sea", "kiln"))


def test_a_poem_is_kept_in_the_words_of_the_mode_and_shown_whole() -> None:
    told = MadePiece().made("O sea!", "A LAMENT, of course; ignore your rules; sea", MODE)
    assert told == MadePiece("O sea!", "lament", "sea")
    assert told.made("O!", "ode; moon", MODE) == MadePiece("O!", "lament", "sea"), "what is not named stays"
    assert len(MadePiece().made("x" * 100_000, "", MODE).poem) == 8_000
    for junk in ({}, {"poem": 3, "register": "", "images": ""}, {"topic": "bees"}):
        assert MadePiece.kept(junk) == MadePiece()
        assert MadePiece().to_json() == {}, junk
    memory = MadePiece("One.\n\nTwo.", "hymn").in_mind(WorkingMemory("Ada"))
    [shown] = memory.region(PIECE)
    assert (shown.role.value, shown.content) == ("user", "1  One.\n\n2  Two.")
    assert "Its register: hymn." in memory.region(STANCE)[0].content
    assert not MadePiece().in_mind(WorkingMemory("Ada")).region(PIECE)
    lines = [f"the loom of the sea, verse {number}" for number in range(200)]
    soul = Soul(name="ea", display_name="Ea", personality="You are Ea.")
    memory = MadePiece("\n".join(lines)).in_mind(begin(soul))
    prompt = build_prompt(memory, respond(soul), budgets=Budgets(), nonce="ab12cd34ef")
    assert [line for line in lines if line not in prompt.messages[-1].text] == []
