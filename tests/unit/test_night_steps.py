"""What a model says by night: numbers of pairs, proposed words; anything else of its answer is left aside."""

import json

from hypothesis import given
from hypothesis import strategies as st

from daemon.memory.consolidation.merging import Line
from daemon.memory.knowledge.records.kinds import Trust
from daemon.mind.quotation import SaidAs, same_particulars, says_all_of, sentences
from daemon.mind.sameness import alike_pairs, same_pairs
from daemon.mind.steps.find_quotations import find_quotations
from daemon.mind.steps.same_lines import same_lines


def line(number: int, text: str, *, trust: Trust = Trust.OWN, new: bool = True) -> Line:
    return Line(f"sem_{number}", number, "U1", "", trust, "U1", "said", text, text, new)


def test_only_pairs_lines_and_kinds_that_were_shown_are_taken() -> None:
    assert same_lines(3).read('{"same": [3, 0, -1, 4, 1, 1]}') == {0, 2}
    found = [
        {"line": 2, "quote": "I keep bees", "kind": "wish"},
        {"line": 3, "quote": "I keep bees"},
        {"line": 1, "quote": "  "},
        {"line": 1, "quote": "I keep bees", "kind": "law"},
    ]
    assert find_quotations(2).read(json.dumps({"found": found})) == {1: ("I keep bees", SaidAs.WISH)}


def test_numbers_names_and_negation_have_to_agree_and_a_sentence_says_all_of_a_line_or_not() -> None:
    table = {
        ("Ann likes tea", "Tea is what Ann likes"): True,
        ("Ann has 2 dogs", "Ann has 3 dogs"): False,
        ("Ann likes tea", "Ann does not like tea"): False,
        ("Ann works with Ben", "Ann works with Carl"): False,
        ("Ann works with Ben", "Ann works with colleagues"): False,
    }
    assert {(one, other): same_particulars(one, other) for one, other in table} == table
    words = "Hello. I keep bees in my garden! And you?"
    assert sentences(words) == ["Hello.", "I keep bees in my garden!", "And you?"]
    assert says_all_of("Ann keeps bees", words, ("Ann",))
    assert not says_all_of("Ann keeps bees and goats", words, ("Ann",))
    assert not says_all_of("Ann", words, ("Ann",))


def test_a_line_goes_once_the_better_proved_stays_and_nothing_is_compared_again() -> None:
    lines = [line(1, "Ann likes tea", trust=Trust.NOTED), line(2, "ann likes tea."), line(3, "Ann likes  tea")]
    pairs = [(pair.stays.seq, pair.goes.seq) for pair in same_pairs(lines)]
    assert pairs == [(2, 1), (2, 3)]
    old = [line(1, "Ann likes tea", new=False), line(2, "Ann likes tea", new=False)]
    assert same_pairs(old) == []
    assert alike_pairs(old) == []


@given(st.lists(st.text(max_size=30), max_size=8))
def test_no_line_supersedes_one_that_went_before(texts: list[str]) -> None:
    lines = [line(number, text) for number, text in enumerate(texts)]
    gone: set[str] = set()
    for pair in same_pairs(lines):
        assert pair.stays.id not in gone
        assert pair.goes.id not in gone
        gone.add(pair.goes.id)
