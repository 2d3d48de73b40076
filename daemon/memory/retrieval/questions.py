"""What a text asks of memory: its words, the dates that it names, whether it asks for the soul's own words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.dates import NamedDate, dates_in
from daemon.core.words import Term, folded, terms_of, words_of

# Words that only keep a talk going, in the form of `words_of`: a text of nothing else asks for no memory.
_COURTESIES: Final = frozenset(
    words_of(
        """
        thanks thank thx ty cheers great cool nice perfect awesome good fine sure right alright agreed lol haha wow yep
        nope yeah bye goodbye morning evening night afternoon sorry welcome done noted brilliant lovely wonderful much
        danke dank vielen vielmals super prima toll klar gut gerne genau stimmt tschuss servus moin morgen abend nacht
        alles bestens perfekt lieb dir euch ihnen merci beaucoup parfait bien bon bonne journee soiree salut accord
        entendu gracias muchas muchisimas vale bueno buenos dias noches adios perfecto claro
        obrigado obrigada muito valeu otimo bom dia
        grazie mille ciao perfetto ottimo bene buongiorno bedankt dank hartelijk goed prima oke спасибо большое хорошо
        привет отлично понятно пока teşekkürler teşekkür ederim sağol tamam dziękuję dzięki bardzo cześć dobrze tack
        tak takk kiitos שלום תודה شكرا جزيلا धन्यवाद धन्यवाद शुक्रिया ขอบคุณ cảm ơn terima kasih
        ありがとう ありがとうございます ありがとうございました どうも おはよう こんにちは こんばんは はい うん そう
        了解 承知 感謝 お疲れ様
        谢谢 謝謝 多谢 感谢 好的 好 谢 您好 你好 再见 不客气 辛苦了
        감사합니다 고마워요 고마워 네 좋아요 안녕하세요 알겠습니다
        guten gute zusammen everybody everyone folks děkuji díky moc mulțumesc mult frumos köszönöm szépen ευχαριστώ
        πολύ дякую дуже щиро hvala puno asante sana ধন্যবাদ நன்றி salamat dankie baie aitäh ačiū paldies
        """
    )
)
# Words by which people ask each other how they are, and by one of which such a question is known.
_WELL_BEING: Final = frozenset(
    words_of(
        """
        doing today going everything things life day week weekend lately feel feeling heute geht gehts dir ihnen euch
        läuft tag bei fühlst ça va vas allez aujourd hui toi estás está estáis tal hoy van cosas stai sta oggi vai hoje
        tudo bem você gaat vandaag je masz dziś słychać dzisiaj дела сегодня hur mår du idag hvordan går det har står
        til mitä kuuluu tänään nasılsın bugün iyi misin お元気ですか 元気 最近 今日はどうですか 調子 你好吗
        你今天怎么样 最近怎么样 过得好吗 잘 지내요 지내세요 오늘 어때요 आप कैसे हैं आज كيف حالك اليوم מה שלומך היום
        נשמע สบายดีไหม วันนี้ bạn khỏe không hôm nay apa kabar hari ini jste máte dnes τι κάνεις σήμερα справи сьогодні
        """  # noqa: RUF001 - letters of several alphabets are meant
    )
)
_HOW: Final = frozenset(
    words_of(
        """
        how wie alles comment ça cómo tal come tudo hoe jak słychać как дела hur hvordan kuuluu nasılsın nasıl iyi
        元気 調子 どう 怎么样 好吗 지내 지내요 어때 कैसे كيف حالك שלומך נשמע สบายดี khỏe kabar κάνεις справи
        """  # noqa: RUF001 - letters of several alphabets are meant
    )
)
_GREETINGS: Final = frozenset(tuple(words_of(one)) for one in ("what's up", "whats up", "sup", "come va", "τι κάνεις"))
_OWN_WORDS: Final = re.compile(
    r"""
    \b(?:did|do|have|had|would|what|which|as|when)\s+you\s+(?:\w+\s+){0,2}?
       (?:say|said|tell|told|advise|advised|suggest|suggested|recommend|recommended|promise|promised|mention|mentioned
         |answer|answered|write|wrote|explain|explained|propose|proposed)\b
    |\byour\s+(?:advice|suggestions?|recommendations?|answers?|reply|opinion|proposals?|words)\b
    |\b(?:hast|hattest|hatten|haben)\s+(?:du|sie)\b.*\b(?:gesagt|geraten|empfohlen|vorgeschlagen|versprochen|geantwortet
         |gemeint|erwahnt|erklart|geschrieben)\b
    |\b(?:sagtest|rietest|meintest)\s+du\b|\b(?:dein|deine|deinen|deinem)\s+(?:rat|tipp|vorschlag|empfehlung|antwort)\b
    |\b(?:as|avez|avais|aviez)[\s-](?:tu|vous)\s+(?:dit|conseille|recommande|propose|promis|suggere|repondu)
    |\b(?:tu|vous)\s+(?:m|nous|me)?['\u2019\s]*\s*(?:as|avez|avais)\s+(?:dit|conseille|recommande|propose|promis|repondu)
    |\b(?:ton|tes|votre|vos)\s+(?:conseils?|avis|reponses?|suggestions?)\b
    |\b(?:dijiste|aconsejaste|recomendaste|sugeriste|prometiste|respondiste)\b|\btus?\s+(?:consejo|respuesta|sugerencia)
    |\b(?:hai|avevi)\s+(?:detto|consigliato|suggerito|promesso|proposto|risposto)\b|\btuo\s+consiglio\b
    |\b(?:disseste|aconselhaste|recomendaste|voce\s+(?:disse|aconselhou|recomendou|sugeriu|prometeu))\b|\bteu\s+conselho\b
    |\b(?:heb|had)\s+(?:je|jij|u)\b.*\b(?:gezegd|aangeraden|geadviseerd|voorgesteld|beloofd)\b|\bjouw\s+(?:advies|antwoord)
    |\bты\s+(?:мне\s+)?(?:говорил|говорила|сказал|сказала|советовал|посоветовал|посоветовала|обещал|обещала)
    |\bтвой\s+(?:совет|ответ)
    |(?:あなた|君|きみ).*(?:言|勧|薦|答え)|言ってた|言っていた|言いました|勧めてくれ|アドバイス
    |你.{0,4}(?:说过|建议|推荐|答应|告诉|回答)
    """,  # noqa: RUF001 - letters of several alphabets are meant
    re.VERBOSE,
)


_ASKS: Final = re.compile("[?？؟]\\s*$")  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Sought:
    """One text that memory is searched by; `words` are all its words in the form of comparison.

    `small_talk`: it says nothing to look for, such as thanks, in any language.
    """

    text: str
    terms: tuple[Term, ...]
    words: frozenset[str]
    dates: tuple[NamedDate, ...]
    own_words: bool
    small_talk: bool


def question(text: str) -> Sought:
    """A text as a question to memory."""
    terms, dates, words = terms_of(text), dates_in(text), words_of(text)
    own_words = bool(_OWN_WORDS.search(folded(text)))
    small_talk = not dates and not own_words and (_is_courtesy(text, terms) or _asks_how_one_is(terms, words))
    return Sought(text, terms, frozenset(words), dates, own_words, small_talk)


def _is_courtesy(text: str, terms: Sequence[Term]) -> bool:
    return all(term.word in _COURTESIES for term in terms) and not _ASKS.search(text)


def _asks_how_one_is(terms: Sequence[Term], words: Sequence[str]) -> bool:
    """Whether a text only asks somebody how they are: no memory answers that, though the same was asked before."""
    if tuple(words) in _GREETINGS or (not terms and words[:1] == ["how"] and "you" in words):
        return True
    return bool(terms) and not _HOW.isdisjoint(words) and all(one.word in _WELL_BEING | _COURTESIES for one in terms)
