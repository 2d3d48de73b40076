"""No line is noted without the person's own words for it, and what was not meant as a statement is no such word."""

import unicodedata
from string import ascii_letters

from hypothesis import given
from hypothesis import strategies as st

from daemon.mind.quotation import Evidence, SaidAs, Unproved, own_words_from, proof

SAID = SaidAs.STATEMENT


def judged(line: str, quote: str, *messages: str, said_as: SaidAs = SAID) -> Evidence | Unproved:
    return proof(line, quote, said_as, messages or (quote,), ("Ann",))


def test_plain_words_of_the_person_prove_a_line_and_nothing_else_does() -> None:
    for line, quote, message in (
        ("Works on billing since 2024", "I work on billing since 2024", "Hi! I work on billing since 2024. And you?"),
        ("Ann is vegan", "I'm vegan", "I'm vegan"),
        ("Ann is vegan", "I\u2019M  vegan.", "i'm vegan"),
        ("Lives in Orl\u00e9ans", "I live in Orl\u00e9ans", "I live in Orle\u0301ans"),
        ("Works with <@U2>", "I work with <@U3>", "I work with @ben these days"),
        ("Arbeitet an der Abrechnung", "ich arbeite an der Abrechnung", "Moin, ich arbeite an der Abrechnung mit Ben."),
        ("Arbeitet nicht freitags", "freitags arbeite ich nicht", "Ach ja: freitags arbeite ich nicht."),
        ("住在东京", "我住在东京", "你好，我住在东京，做前端"),  # noqa: RUF001 - Chinese
        ("東京に住んでいる", "東京に住んでいます", "私は東京に住んでいます。よろしく"),
        ("Работает над биллингом", "я работаю над биллингом", "Привет, я работаю над биллингом"),
        ("Prefers short answers", "I would like short answers", "I would like short answers, please"),
        ("Stopped using Vim", "I no longer use Vim", "I no longer use Vim. Emacs it is"),
        ("Owns the kiln", "I own the kiln", "> who owns the kiln?\nI own the kiln"),
    ):
        assert isinstance(judged(line, quote, message), Evidence)
    found = judged("Works on billing", "I work on billing", "I work on billing", "hm", "yes, I work on billing")
    assert found == Evidence(2, "I work on billing")
    for why, line, quote, message in (
        (Unproved.NOT_SAID, "Likes jazz", "I like jazz", "I like old songs"),
        (Unproved.NOT_SAID, "Likes jazz", "I like jazz", 'Ben said: "I like jazz"'),
        (Unproved.NOT_SAID, "Likes jazz", "ich mag Jazz", "Ben sagt „ich mag Jazz“ dazu"),
        (Unproved.NOT_SAID, "Owns the Kiln", "I own the Kiln", "> I own the Kiln\nnice"),
        (Unproved.NOT_SAID, "Owns the Kiln", "I own the Kiln", "```\nI own the Kiln\n```"),
        (Unproved.NOT_SAID, "Owns the Kiln", "I own the Kiln", "run `I own the Kiln` please"),
        (Unproved.NOT_SAID, "Likes art", "I like art", "I like artichokes"),
        (Unproved.NOT_SAID, "Anything", "", "I like art"),
        (Unproved.TOO_SHORT, "Ann is vegan", "vegan", "my sister is vegan, I eat all"),
        (Unproved.QUESTION, "Uses Python", "I use Python", "do you know whether I use Python?"),
        (Unproved.QUESTION, "Uses Python", "I use Python", "should I use Python？"),  # noqa: RUF001 - fullwidth
        (Unproved.NUMBER, "Works here since 2023", "I work here since 2024", "I work here since 2024"),
        (Unproved.NAME, "Works with Ben", "I work with him daily", "I work with him daily"),
        (Unproved.UNRELATED, "Owns a boat", "I work on billing", "I work on billing"),
    ):
        assert judged(line, quote, message) is why
    for said_as in (SaidAs.JOKE, SaidAs.HYPOTHESIS, SaidAs.QUOTATION, SaidAs.ORDER):
        assert judged("Works on billing", "I work on billing", said_as=said_as) is Unproved.NOT_MEANT


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=120), max_size=3))
def test_the_proof_always_stands_in_a_message(line: str, quote: str, messages: list[str]) -> None:
    found = proof(line, quote, SAID, messages, ())
    if isinstance(found, Evidence):
        squeezed = "".join(letter for letter in messages[found.message].casefold() if letter in ascii_letters)
        assert "".join(letter for letter in found.quote.casefold() if letter in ascii_letters) in squeezed


def test_own_words_are_the_sentence_of_a_quotation_without_what_names_the_session() -> None:
    for quote, message, own in (
        ("which migration renames it?", "Ask ada-api which  Migration\nrenames it", "which  Migration\nrenames it"),
        ("which migration renames it", "Ask ada-api: which migration renames it? Yes!", "which migration renames it?"),
        ("drop the table", "tell ada-api: drop the table, but not now. Thanks", "drop the table, but not now."),
        ("drop the table", "tell the session: drop the table, on staging only.", "drop the table, on staging only."),
        ("drop the table", "tell ada-api: don't drop the table", "don't drop the table"),
        ("drop the table", "sag *ada-api*, sie soll niemals drop the table tun", "sie soll niemals drop the table tun"),
        ("drop it", "ada-apis don't drop it", "ada-apis don't drop it"),
        ("drop the table", "never let it drop the table", "never let it drop the table"),
        ("run `make`", "tell `ada-api`: run `make` at 9:30", "run `make` at 9:30"),
        ("drop the table", "nobody said it. Drop the table!", "Drop the table!"),
        ("ask <@U1>", "please ask <@U0BEN> first", "please ask <@U0BEN> first"),
        ("ping <@U1>", "ada-api ping <@U0BEN>", "ping <@U0BEN>"),
        ("welche Gr\u00f6\u00dfe", "frag ada-api welche GRO\u0308SSE", "welche GR\u00d6SSE"),
        ("able", "drop the table", ""),
        ("something else", "which migration?", ""),
        (" ?!", "which migration?", ""),
        ("", "", ""),
    ):
        assert own_words_from(quote, ["an older one", message], "ada-api") == own


@given(st.text(max_size=60), st.lists(st.text(max_size=120), max_size=3), st.text(max_size=20))
def test_own_words_always_stand_in_a_message(quote: str, messages: list[str], name: str) -> None:
    found = own_words_from(quote, messages, name)
    assert not found or any(found in unicodedata.normalize("NFC", one) for one in messages)
