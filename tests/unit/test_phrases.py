"""Phrases that are obeyed without a model: whole messages only, in any spelling that means the same."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.phrases import PHRASES, Command, Phrase, means_stop, phrase_in


def test_each_phrase_of_the_table_is_found_in_any_case_with_any_last_mark() -> None:
    for command in Command:
        for phrase in PHRASES[command]:
            said = phrase.replace("#", "12")
            number = 12 if "#" in phrase else 0
            for form in (said, said.upper(), f"  *{said}*. ", f"“{said}”!", said.replace(" ", "  ")):
                assert phrase_in(form) == Phrase(command, number), form


def test_a_phrase_gives_the_names_numbers_and_own_words_in_it() -> None:
    for said in ("why", "Why!", "*why*", "Warum.", "why did you say that?", "Woher weißt du das?"):
        assert phrase_in(said) == Phrase(Command.WHY_SAID)
    assert phrase_in("Wrong 3: I live in *Berlin*: now") == Phrase(Command.WRONG, 3, "I live in *Berlin*: now")
    assert phrase_in("falsch #3: ja") == Phrase(Command.WRONG, 3, "ja")
    assert phrase_in("wrong 3") == Phrase(Command.WRONG, 3)
    for form in ("remember that {}", "Please remember: {}", "Merk dir: {}", "REMEMBER THAT {}"):
        assert phrase_in(form.format("I like *tea*")) == Phrase(Command.REMEMBER, words="I like *tea*")
    for said, phrase in (
        ("ask ada-api: which one: a or b?", Phrase(Command.ASK, words="which one: a or b?", name="ada-api")),
        ("Please ask `ada-api-2` :\nwhy?\n\nOr not?", Phrase(Command.ASK, words="why?\n\nOr not?", name="ada-api-2")),
        ("Frag Zoë-müll: was?", Phrase(Command.ASK, words="was?", name="Zoë-müll")),
        ("ask ада-интерфейс: что?", Phrase(Command.ASK, words="что?", name="ада-интерфейс")),
        ("ask प्रिया-api: क्यों?", Phrase(Command.ASK, words="क्यों?", name="प्रिया-api")),
        ("ask 山田-プロジェクト: 何?", Phrase(Command.ASK, words="何?", name="山田-プロジェクト")),
        ("bind प्रिया-api here", Phrase(Command.BIND, name="प्रिया-api")),
        ("HAND *ada-api*: tidy up", Phrase(Command.HAND, words="tidy up", name="ada-api")),
        ("Bitte übergib ada-api: räum auf", Phrase(Command.HAND, words="räum auf", name="ada-api")),
        ("gib ada-api: räum auf", Phrase(Command.HAND, words="räum auf", name="ada-api")),
    ):
        assert phrase_in(said) == phrase
    for said, name in (
        ("what is Ada working on?", "Ada"),
        ("What's  Ada Lovelace working on right now", "Ada Lovelace"),
        ("what’s ada-api working on", "ada-api"),  # noqa: RUF001
        ("*what is <@U0ADA> working on*", "<@U0ADA>"),
        ("Woran arbeitet Dora gerade?", "Dora"),
        ("an was arbeitet Dora Maar", "Dora Maar"),
    ):
        assert phrase_in(said) == Phrase(Command.WORKS_ON, words=name)
    for said, name in (
        ("hand this thread to rolf", "rolf"),
        ("Please hand the thread over to *Rolf*.", "Rolf"),
        ("hand this conversation back to tess please", "tess"),
        ("Gib diesen Thread an Rolf weiter!", "Rolf"),
        ("bitte übergib den Thread an rolf", "rolf"),
        ("Übergib dieses Gespräch an Rolf", "Rolf"),
    ):
        assert phrase_in(said) == Phrase(Command.HAND_OVER, words=name)


def test_courtesy_makes_no_other_phrase_and_a_stop_is_meant_by_a_few_words() -> None:
    for said, phrase in (
        ("Please, forget that.", Phrase(Command.FORGET_THAT)),
        ("ok, forget that :pray:", Phrase(Command.FORGET_THAT)),
        ("forget 3, please 🙏", Phrase(Command.FORGET, 3)),
        ("my reminders, thanks!", Phrase(Command.REMINDERS)),
        ("Vergiss mich, bitte", Phrase(Command.FORGET_ME)),
        ("wrong 3, please: I like :tea:", Phrase(Command.WRONG, 3, "I like :tea:")),
        ("forget 1 and 3", Phrase(Command.FORGET, 1, more=(3,))),
        ("vergiss 1, 2 und #4 bitte", Phrase(Command.FORGET, 1, more=(2, 4))),
        ("cancel reminders 2, 3, and 2", Phrase(Command.CANCEL_REMINDER, 2, more=(3,))),
        ("streiche Erinnerungen 1 & 12", Phrase(Command.CANCEL_REMINDER, 1, more=(12,))),
    ):
        assert phrase_in(said) == phrase, said
    for said in ("me, please", "please", "ok", "thanks 🙏", ":tada:"):
        assert phrase_in(said, alone=True) is None, said
    for said in (
        *("stop, please", "Please, stop.", "ok stop", "stop now", "STOP STOP", "stop 🛑", "stop :octagonal_sign:"),
        *("Stopp, bitte", "hör auf damit", "Stop! That is enough", "please stop writing", "HALT!!!", "stop❗️"),
    ):
        assert means_stop(said), said
    for said in (
        *("stop?", "stop remembering", "stop reminder 2", "don't stop", "stop-loss orders", "the stop", "", "please"),
        *("stop the build on the red server", "stop the deploy, or not?", "stopping", "ok"),
    ):
        assert means_stop(said) == (said == "stop?"), said


def test_what_is_to_be_remembered_is_any_text_but_a_question_and_anything_else_an_ordinary_message() -> None:
    for said, words in (
        ("*remember that* I use tabs", "I use tabs"),
        ("**Remember that I use *tabs***", "I use *tabs*"),
        ("_merk dir:_ Tabs", "Tabs"),
        ("remember that\nI use tabs\nand no blanks", "I use tabs\nand no blanks"),
        ('remember that my page is called "What now?"', 'my page is called "What now?"'),
        (f"remember that {'I use tabs. ' * 80}and no blanks", f"{'I use tabs. ' * 80}and no blanks"),
        ("remember that I use tabs, ok?", "I use tabs"),
        ("remember that I use tabs, blanks and lines, will you?", "I use tabs, blanks and lines"),
        ("*Remember that I use tabs, please*", "I use tabs"),
        ("Ok, please remember that I use tabs?", "I use tabs"),
        ("Could you please remember that I use tabs?", "I use tabs"),
        ("bitte merk dir, dass ich Tabs nutze, ja?", "dass ich Tabs nutze"),
        ("remember that all is ok", "all is ok"),
    ):
        assert phrase_in(said) == Phrase(Command.REMEMBER, words=words), said
    for said in (
        "remember that I use tabs?",
        "*remember that* I use tabs, *right?*",
        "remember that bug that we had, or did we fix it?",
        "could you remember that bug?",
        "ok, remember that time in Rome",
        "remember thatch",
        "remember that",
    ):
        assert phrase_in(said) is None, said
    for said in (
        *("ask yourself: why?", "ask ada: why?", "ask ada-api", "ask ada-api:  ", "I ask ada-api: why?", "ask a-: b"),
        *("ask a\u2014b: c", "ask \u300ca-b\u300d: c", "ask 私: 何?", "ask a-\u200bb: c"),
    ):
        assert phrase_in(said) is None
    for said in (
        "hand this thread to a human",
        "hand this to rolf",
        "hand this thread to rolf: he knows kilns",
        "should I hand this thread to rolf",
        "gib den Faden an Rolf",
        "what are you working on",
        "what is she working on?",
        "what is the platform team working on?",
        "what is Ada working on: the api?",
        "what is Ada working on and why?",
        "what is one two three four working on",
        "woran arbeitet er?",
        "woran arbeitet die Mannschaft",
        "sessions of last week",
        "who is working on what today and tomorrow",
        "remember that time in Rome",
        "do you remember that I like tea",
        "remember that I like tea, right?",
        "",
        "why?",
        "Warum？",  # noqa: RUF001
        "why not",
        "why did you say that to Ben",
        "why 3 of them?",
        "forget me not",
        "don't forget me",
        "wrong 3 and 4",
        "why 3, 4",
        "forget 3 or 4",
        "please forget 3 and his brother",
        "forget 12345",
        "he said: forget me",
        "forget me: now",
        "yes",
        "forget me\nand then tell me of the sea",
    ):
        assert phrase_in(said) is None


@given(st.text(max_size=200))
def test_no_text_breaks_it(said: str) -> None:
    assert phrase_in(said) is None or len(said.partition(":")[0]) < 200
