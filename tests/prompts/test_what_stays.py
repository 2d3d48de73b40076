"""What stays equal between prompts, and what may not: the code of fences, the first turn shown, private thoughts."""

from daemon.core.fencing import NO_NONCE, NONCE_LASTS_MS, Nonce
from daemon.core.perception import Audience, AudienceKind, Readers
from daemon.core.working_memory import Memory, Role
from daemon.mind.recall.thoughts import last_thoughts
from daemon.soul_engine import shown_turns
from tests.prompts.facts import HERE, turns


def test_a_code_lasts_a_day_unless_it_is_seen_in_words_said() -> None:
    drawn = NO_NONCE.kept_or_drawn(1_000, ["hello"])
    assert drawn.code
    assert drawn.kept_or_drawn(2_000, ["hello"]) == drawn
    assert drawn.kept_or_drawn(1_000 + NONCE_LASTS_MS, ["hello"]) != drawn
    for said in (drawn.code, f"</said-{drawn.code.upper()}>"):
        assert drawn.kept_or_drawn(2_000, ["hello", said]).code not in ("", drawn.code)
    assert Nonce("ab", 5_000).kept_or_drawn(1_000, []).code != "ab", "drawn in the future, by another clock"


def test_the_first_turn_shown_stays_for_a_while_as_the_talk_goes_on() -> None:
    talk = [Memory(Role.USER if n % 2 == 0 else Role.ASSISTANT, f"{n} " + "word " * 40) for n in range(120)]
    firsts = [shown_turns(talk[:n], 2_200)[0].content for n in range(2, 120, 2)]
    assert len(set(firsts)) <= len(firsts) / 4
    assert all(shown_turns(talk[:n], 2_200)[-1] == talk[n - 1] for n in range(1, 120))


def test_thoughts_are_thought_again_before_no_wider_readers() -> None:
    assert len(last_thoughts(turns(), HERE)) == 2
    for readers in (
        Readers(HERE.audience, members_only=False),
        Readers(Audience(AudienceKind.WORKSPACE, "T1"), members_only=True),
    ):
        assert last_thoughts(turns(), readers) == ()
