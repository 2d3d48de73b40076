"""Words of any language in one form, the terms of a query, and the part of a text that holds them."""
# ruff: noqa: RUF001 - letters of many alphabets are meant

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.windows import window, window_of_tokens
from daemon.core.words import MOST_TERMS, Term, holds_more, likeness, spans_of, terms_of, words_of
from daemon.core.working_memory import estimate_tokens


def finds(query: str, text: str) -> bool:
    return any(likeness(term, word) > 0 for term in terms_of(query) for word in words_of(text))


def test_a_word_is_found_in_its_other_forms_in_any_language_and_the_nearer_form_counts_more() -> None:
    for query, text in (
        ("INVOICES", "the invoice of May"),
        ("planning", "our plan"),
        ("policies", "a policy"),
        ("keys?", "the key"),
        ("Verträge", "der Vertrag"),
        ("Häuser", "ein Haus"),
        ("Strasse", "Straße"),
        ("équipe", "l’équipe"),
        ("reuniones", "la reunión"),
        ("книгу", "книга"),
        ("встречу", "встреча"),
        ("会议", "明天的会议在三点"),
        ("猫", "我的猫"),
        ("会議は？", "次の会議"),
        ("ｔｅｒｍｉｎ", "Termin"),
        ("회의", "회의는 내일"),
        ("การประชุม", "พรุ่งนี้มีการประชุม"),
        ("बैठक", "कल की बैठक"),
        ("اجتماع", "الاجتماع غدا"),
        ("İstanbul", "istanbul"),
        ("naïve", "nai\u0308ve"),
        ("the kiln", "\U0001d40a\U0001d422\U0001d425\U0001d427"),  # letters of mathematics
        ("Python 3", "python 3.12"),
    ):
        assert finds(query, text)
    for query, text in (
        ("kiln", "milk"),
        ("what is it?", "it is what it is"),
        ("!?", "!?"),
        ("", "words"),
        ("会议", "会见 议论"),
        ("12", "123"),
    ):
        assert not finds(query, text)
    [term] = terms_of("invoices")
    assert likeness(term, "invoices") > likeness(term, "invoice") > likeness(term, "invoicing") > likeness(term, "kiln")
    words = [f"{'long' * 3}{number}x" for number in range(MOST_TERMS)]
    assert {term.word for term in terms_of(f"{' '.join(words)} ink owl cup")} == set(words)
    assert likeness(Term("42"), "42") == 1
    assert likeness(Term("42"), "421") == 0


@given(st.text(max_size=300))
def test_words_hold_no_sign_of_any_search_language_and_stand_in_the_text(text: str) -> None:
    for word in words_of(text):
        assert word
        assert not set(word) & set(" \"'*^():{}+-.,;\x00\x1f_")
    assert all(0 <= start < end <= len(text) + 1 for _, start, end in spans_of(text))


TEXT = "So it goes. " * 60 + "The kraken sleeps in the vault.\nIt wakes in May. " + "So it goes. " * 60


def test_a_window_lies_around_the_words_and_shows_what_is_left_out() -> None:
    shown = window(TEXT, terms_of("when does the kraken wake?"), 120)
    assert "The kraken sleeps in the vault.\nIt wakes in May." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) <= 120
    assert window(" a kraken ", terms_of("kraken"), 20) == "a kraken"
    assert window(TEXT, terms_of("griffin"), 40).startswith("So it goes.")


@given(st.text(max_size=400), st.text(max_size=20), st.integers(1, 60))
def test_a_window_keeps_its_size_whatever_the_text(text: str, query: str, most: int) -> None:
    assert len(window(text, terms_of(query), most)) <= max(most, 5)
    assert estimate_tokens(window_of_tokens(text, terms_of(query), most)) <= most


@given(st.text() | st.from_regex(r"([A-Za-z]{1,60}|l'été|\W){0,4}", fullmatch=True), st.text())
def test_a_text_holds_more_than_some_words_where_any_of_its_words_is_another(text: str, asked: str) -> None:
    for words in (frozenset(words_of(asked)), frozenset(words_of(text)), frozenset(words_of(text)[1:])):
        assert holds_more(text, words) == any(word not in words for word in words_of(text))
