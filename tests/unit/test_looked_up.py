"""What a search found becomes fenced snippets within a budget, and a reply's marks become sources that we write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.ports import Passage
from daemon.core.working_memory import Role, WorkingMemory, estimate_tokens
from daemon.mind.recall.looked_up import SNIPPETS, best_of, query_of, with_memories, with_sources
from daemon.soul_engine import MEMORIES

FOUND = (
    Passage("docs/kilns.md:3", "Kilns crack.", fit=5),
    Passage("conversation 2026-11-21, Ben", "So I heard.", fit=4),
)


def test_a_question_that_says_little_goes_on_with_the_words_before() -> None:
    assert query_of(["and who has it?"], ["Hello", "where is the signing key?"]).startswith("where is the signing key?")
    assert query_of(["where is the signing key of the shop?"], ["Hello"]) == "where is the signing key of the shop?"
    assert query_of([""], ["Hello"]) == ""


def test_only_what_fits_well_and_says_something_new_takes_a_place() -> None:
    weak, same = Passage("a", "kiln word", fit=1.9), Passage("b", "Kiln cracks?", fit=9)
    many = [Passage(f"c{number}", f"kiln {number}", fit=3 + number) for number in range(9)]
    assert best_of([weak, same], "the kiln cracks") == ()
    assert [one.source for one in best_of([weak, same, *many], "the kiln cracks")] == ["c8", "c7", "c6"]
    assert best_of([Passage("e", "the kiln is blue", fit=9)], "kiln?", ["Well, the kiln is blue, I think."]) == ()
    assert best_of([Passage("d", "good kiln", fit=20), Passage("e", "poor kiln", fit=4)], "kiln")[1:] == ()


def test_snippets_are_data_with_mark_and_source_within_the_budget() -> None:
    long = [
        Passage(f"docs/{'x' * 200}:{number}", "so it goes. " * 300 + "the kiln cracks", own=True) for number in range(3)
    ]
    memory = with_memories(WorkingMemory("Tess"), long, "kiln", 400)
    head, *notes = memory.region(MEMORIES)
    assert head.role is Role.SYSTEM
    assert [note.role for note in notes] == [Role.USER] * SNIPPETS
    assert all("the kiln cracks" in note.content for note in notes)
    assert all(note.name is not None and note.name.endswith(", said by yourself") for note in notes)
    assert sum(estimate_tokens(one.content) for one in (head, *notes)) <= 400


@pytest.mark.parametrize(("found", "budget"), [((), 400), (FOUND, 0)])
def test_without_finds_or_room_there_is_no_region(found: tuple[Passage, ...], budget: int) -> None:
    assert with_memories(WorkingMemory("Tess"), found, "kiln", budget).region(MEMORIES) == ()


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("They crack [m1].", "They crack [m1].\n\n[m1] `docs/kilns.md:3`"),
        (
            "They [m2, m1] crack [m1].",
            "They [m2, m1] crack [m1].\n\n[m1] `docs/kilns.md:3`\n[m2] `conversation 2026-11-21, Ben`",
        ),
        ("They crack [m3] [m1, m9].", "They crack [m1].\n\n[m1] `docs/kilns.md:3`"),
        ("They crack [1], x[m] and [m1](http://x.example).", "They crack [1], x[m] and [m1](http://x.example)."),
        ("`[m7]` stays.\n```\n[m8]\n```", "`[m7]` stays.\n```\n[m8]\n```"),
        ("", ""),
    ],
)
def test_marks_become_sources_and_unknown_ones_go(reply: str, expected: str) -> None:
    assert with_sources(reply, FOUND) == expected


@given(st.text(max_size=80), st.text(alphabet="[]m123, `()\n", max_size=60))
def test_no_source_breaks_out_of_its_line(source: str, reply: str) -> None:
    said = with_sources(f"Yes [m1]. {reply}", (Passage(source, "words"),))
    if "\n\n[m1] `" in said:
        line = said.rpartition("\n\n")[2]
        assert line.startswith("[m1] `")
        assert line.endswith("`")
        assert line.count("`") == 2
