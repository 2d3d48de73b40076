"""Words and vectors in one ranking: neighbours help, a paraphrase stands out, and chance hits surface nothing."""

from daemon.core.words import Term
from daemon.memory.knowledge.ranking import Candidate, Nearness, TurnPlace, rank, rank_words, worth_showing
from daemon.memory.knowledge.word_index import Postings

KILN, BLUE = Term("kiln", "kiln"), Term("blue", "blue")


def found(**rows: dict[int, float]) -> Postings:
    held = {KILN: rows.get("kiln", {}), BLUE: rows.get("blue", {})}
    return Postings(held, {term: float(len(of)) for term, of in held.items()}, 1_000)


def test_words_and_vectors_find_what_is_rare_and_nothing_by_chance() -> None:
    places = {1: TurnPlace(after=2, second=3, visit=1)}
    words = rank_words(found(kiln={1: 1.0}), places)
    assert words.scores[1] > words.scores[2] > words.scores[3] > 0
    assert words.visits == {1: words.visits[1]}
    words = rank_words(found(kiln={1: 1.0}, blue={2: 1.0}), {}, without={"blue"})
    assert set(words.scores) == {1}
    assert words.terms == 1
    words = rank_words(found(kiln={1: 1.0}, blue={1: 1.0, **dict.fromkeys(range(2, 300), 0.5)}), {})
    candidates = [Candidate(number) for number in range(1, 300)]
    assert worth_showing(candidates, rank(candidates, words, Nearness()), words, Nearness()) == {1}
    words = rank_words(found(kiln=dict.fromkeys(range(1, 900), 1.0)), {})
    candidates = [Candidate(number) for number in range(1, 200)]
    assert worth_showing(candidates, rank(candidates, words, Nearness()), words, Nearness()) == set()
    words = rank_words(found(kiln=dict.fromkeys(range(2, 90), 1.0)), {})
    candidates = [Candidate(number) for number in range(1, 90)]
    scores = rank(candidates, words, Nearness({1: 5.5, 2: 1.0}))
    assert max(scores, key=lambda row: scores[row]) == 1
    words = rank_words(found(kiln={1: 1.0, 2: 1.0}), {})
    scores = rank([Candidate(1, share=1.1), Candidate(2, share=0.9)], words, Nearness())
    assert scores[1] > scores[2] > 0.8 * scores[1]
