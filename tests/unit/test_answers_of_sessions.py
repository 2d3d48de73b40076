"""What is kept of a session's answer: no more than is shown, and no half of a key."""

from daemon.core.questions import LONGEST_ANSWER, clean_answer


def test_of_a_long_answer_no_more_is_looked_at_than_may_be_shown() -> None:
    assert len(clean_answer("eyJ-" * 1_000_000)) <= LONGEST_ANSWER
    assert len(clean_answer("word " * 1_000_000)) > LONGEST_ANSWER - 100


def test_no_half_of_a_key_is_left_where_a_long_answer_is_cut() -> None:
    key = "sk-" + "k" * 60
    for before in range(LONGEST_ANSWER - 80, LONGEST_ANSWER + 4_100, 7):
        assert "sk-k" not in clean_answer("w" * 9 + " " * (before - 9) + key + " and more" * 900)
