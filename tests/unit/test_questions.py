"""What a text asks of memory: small talk asks for nothing, a date is read in several languages."""

from daemon.core.windows import NamedDate, dates_in
from daemon.memory.retrieval.lanes import question

DAY_MS = 86_400_000
MAY_8 = 1_683_504_000_000  # 2023-05-08, UTC


def test_small_talk_in_any_language_asks_for_nothing_and_a_question_is_no_small_talk() -> None:
    for text in (
        *("thanks!", "Vielen Dank!", "Danke dir", "merci beaucoup", "OK, great!"),
        *("ありがとうございます", "谢谢", "спасибо", "감사합니다", "Děkuji moc!", "ευχαριστώ πολύ"),
        "Guten Abend zusammen",
        *("How are you doing today?", "how's it going?", "what's up?", "How are you?", "Wie geht es dir heute?"),
        *("Alles klar bei dir?", "Ça va ?", "¿Cómo estás hoy?", "Come va?", "Tudo bem?", "Hoe gaat het?", "Как дела?"),
        *("お元気ですか？", "你今天怎么样？", "잘 지내요?", "आप कैसे हैं?", "كيف حالك؟", "מה שלומך?", "Apa kabar?"),  # noqa: RUF001
    ):
        assert question(text).small_talk
    for text in (
        *("great job on the kiln", "and who has it?", "am 3. Mai", "was hast du mir geraten?", "what day?", "how far?"),
        *("How is the release going?", "who is going today?", "Geht das heute?", "how did it go on 8 May?", "how?"),
        *("Wie heißt du?", "How old is everything?", "comment tu t'appelles ?", "wie lange?", "你怎么知道？"),  # noqa: RUF001
    ):
        assert not question(text).small_talk
    for text in (
        *("What did you advise me?", "Was hast du mir geraten?", "tu m'as conseillé quoi ?", "¿qué me recomendaste?"),
        *("wat heb je mij aangeraden?", "что ты мне советовал?", "你建议我做什么?"),
    ):
        assert question(text).own_words
        assert not question("What did Ben advise her?").own_words, text


def test_dates_are_read_in_several_languages_and_a_day_fits_best() -> None:
    for text, named in (
        ("what happened on 8 May 2023?", NamedDate(2023, 5, 8)),
        ("was war am 8. Mai 2023?", NamedDate(2023, 5, 8)),
        ("le 8 mai 2023", NamedDate(2023, 5, 8)),
        ("2023年5月8日に", NamedDate(2023, 5, 8)),
        ("2023-05-08", NamedDate(2023, 5, 8)),
        ("in May", NamedDate(None, 5, None)),
        ("im März 2024", NamedDate(2024, 3, None)),
        ("back in 2022", NamedDate(2022)),
    ):
        assert dates_in(text) == (named,)
    assert dates_in("you may come, and march on") == ()
    day = NamedDate(2023, 5, 8)
    assert day.fits(MAY_8) == 1.0
    assert 0 < day.fits(MAY_8 + 5 * DAY_MS) < 1
    assert day.fits(MAY_8 + 30 * DAY_MS) == 0
    assert NamedDate(None, 5).fits(MAY_8) == 1.0
    assert NamedDate(2022).fits(MAY_8) == 0
    assert NamedDate(2023, 2, 30).fits(MAY_8) == 0, "no such day"
