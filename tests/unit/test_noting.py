"""What a model proposes to note is taken with a proof alone, and a change that loses too much is refused whole."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, AudienceKind
from daemon.memory.knowledge.learning import Learned
from daemon.memory.knowledge.records.kinds import Fact, Topic, Trust
from daemon.mind.quotation import SaidAs
from daemon.mind.steps.visitor_notes import LINE_CAP, MOST_LINES, NewLine, NotesChange, note_line
from daemon.mind.taking_effect import Said, TooMuchLost, judged

NOTES = ("Works on billing.", "Likes tea.", "Lives in Ugarit.", "Uses Python.", "Prefers short answers.")
GO = "I use Go now"
ALL = "I no longer work on billing, like tea, live in Ugarit or use Python"

words = st.text(st.sampled_from("abc é日\n\u202e\x00-•<>&{}\"'"), max_size=12)
lines = st.builds(NewLine, text=words.map(note_line), quote=words)
numbers = st.integers(-3, 60)
changes = st.builds(
    NotesChange,
    add=st.lists(lines, max_size=8).map(tuple),
    correct=st.lists(st.tuples(numbers, lines), max_size=12).map(tuple),
    retire=st.dictionaries(numbers, words, max_size=12),
)


def facts(texts: Sequence[str]) -> list[Fact]:
    return [
        Fact(
            id=f"sem_{number:08}",
            soul="ada",
            workspace="T1",
            audience=Audience(AudienceKind.DM, "D1"),
            channel="D1",
            text=text,
            at_ms=1,
            trust=Trust.OWN,
            subject="U1",
            predicate="",
            object="",
            valid_from_ms=1,
        )
        for number, text in enumerate(texts, 1)
    ]


def learned(change: NotesChange, *said: str, notes: Sequence[str] = NOTES, most_lost: float = 0.34) -> Learned:
    spoken = [Said(number, words) for number, words in enumerate(said or (GO,), 10)]
    return judged(change, facts(notes), spoken, ("Ada",), most_lost=most_lost)


def line(text: str, quote: str = GO, **more: object) -> NewLine:
    return NewLine(text, quote, **more)  # type: ignore[arg-type]  # fields by name


def test_a_line_is_taken_with_its_quotation_a_correction_with_its_fact_and_words_about_others_as_a_claim() -> None:
    [taken] = learned(NotesChange(add=(line("Uses Go.", group="work"),)), "hello", GO).added
    assert (taken.text, taken.turn, taken.quote, taken.topic, taken.claim) == ("Uses Go.", 11, GO, Topic.WORK, False)
    [(older, taken)] = learned(NotesChange(correct=((4, line("Uses Go now.")),))).corrected
    assert (older, taken.text) == ("sem_00000004", "Uses Go now.")
    said = "<@U7> owns the Kiln project"
    claim = line("Owns the Kiln project", said, subject="Ben", said_as=SaidAs.CLAIM)
    [taken] = learned(NotesChange(add=(claim,)), said).added
    assert (taken.claim, taken.about, taken.subject) == (True, "U7", "Ben")
    assert learned(NotesChange(correct=((1, claim),)), said).corrected == (), "no claim corrects what they said"


def test_a_refusal_has_a_reason() -> None:
    nowhere, no_line = "the quotation is nowhere in their words", "no line has this number"
    table = [
        (NotesChange(add=(line(""),)), "it says nothing"),
        (NotesChange(add=(line("Token xoxb-123456-abcdef"),)), "it looks like a key"),
        (NotesChange(add=(line("Uses Go.", said_as=None),)), "its kind is unknown"),
        (NotesChange(add=(line("Uses Go.", "I love Go"),)), nowhere),
        (NotesChange(correct=((9, line("Uses Go.")),)), no_line),
        (NotesChange(correct=((0, line("Uses Go.")),)), no_line),
        (NotesChange(retire={10**30: GO}), no_line),
        (NotesChange(retire={1: "I never said it"}), nowhere),
    ]
    for change, why in table:
        assert learned(change) == Learned(refused=(why,)), change


def test_what_is_proposed_twice_is_taken_once_and_at_the_cap_nothing_unless_a_line_is_retired() -> None:
    found = learned(NotesChange(add=(line("Uses Go."), line("uses go."))))
    assert (len(found.added), found.refused) == (1, ("it was proposed twice",))
    full = [f"Fact {number}." for number in range(MOST_LINES)]
    one = (line("Uses Go."),)
    assert learned(NotesChange(add=one), notes=full).refused == ("there is no room for more",)
    assert len(learned(NotesChange(add=one, retire={1: GO}), notes=full).added) == 1
    assert len(note_line("x" * 9999)) == LINE_CAP


def test_a_change_may_lose_a_share_of_the_lines_that_can_be_set_and_always_one() -> None:
    said = "I no longer work on billing, like tea, live in Ugarit or use Python, a, b, c"
    corrected = tuple((number, line(f"no longer {word}", ALL)) for number, word in enumerate("abc", 2))
    all_retired = NotesChange(retire=dict.fromkeys(range(1, 6), ALL))
    for change in (NotesChange(retire={1: ALL, 2: ALL}), all_retired, NotesChange(correct=corrected)):
        with pytest.raises(TooMuchLost) as caught:
            learned(change, said)
        assert isinstance(caught.value, DaemonError)
        assert caught.value.hint
        assert "of 5 lines" in caught.value.message
    two = NotesChange(retire={1: ALL, 2: ALL})
    assert learned(two, ALL, most_lost=0.4).retired == ("sem_00000001", "sem_00000002")
    assert learned(NotesChange(retire={1: ALL}), ALL, most_lost=0).retired == ("sem_00000001",)


@settings(deadline=None)
@given(
    notes=st.lists(words.filter(bool), max_size=10),
    change=changes,
    said=st.lists(words, min_size=1, max_size=4),
    most_lost=st.floats(0, 1),
)
def test_no_hostile_change_loses_more_than_its_share_or_takes_what_was_not_said(
    notes: list[str], change: NotesChange, said: list[str], most_lost: float
) -> None:
    try:
        found = learned(change, *said, notes=notes, most_lost=most_lost)
    except TooMuchLost:
        return
    assert len(found.retired) <= max(1, most_lost * len(notes))
    assert set(found.retired).isdisjoint(older for older, _ in found.corrected)
    taken = (*found.added, *(one for _, one in found.corrected))
    for one in taken:
        assert one.text == " ".join(one.text.split())
        assert 0 < len(one.text) <= LINE_CAP
        assert letters(one.quote) in letters(said[one.turn - 10])
    assert len({one.text.casefold() for one in taken}) == len(taken)


def letters(text: str) -> str:
    return "".join(one for one in text.casefold() if one.isascii() and one.isalpha())
