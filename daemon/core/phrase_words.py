"""Words of phrases: times and rules of reminders, short answers, stop words, suggested prompts."""

import datetime as dt
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.phrases import phrase_in
from daemon.core.sentences import Words
from daemon.core.text import one_line
from daemon.core.timetable import Every, Recurrence, recurrence_of, zone_of

_TIME: Final = re.compile(r"(\d{1,2})(?:[:.h]([0-5]\d))?\s*(am|pm|uhr|h)?", re.ASCII)
_NOON: Final = 12
_LAST_HOUR: Final = 23
_LATEST_MS: Final = 253_402_200_000_000  # the last day but one of the calendar, in any zone


def time_in(ms: int, zone: str) -> str:
    """Return a time as `2026-03-01 09:00 (Europe/Berlin)` in a zone, else in UTC."""
    known = zone_of(zone)
    ms = min(max(0, ms), _LATEST_MS)  # a row that holds any other number stops nothing
    return f"{dt.datetime.fromtimestamp(ms / 1000, known or dt.UTC):%Y-%m-%d %H:%M} ({known.key if known else 'UTC'})"


def rule_in_words(every: str, words: Words) -> str:
    """Return the rule of a repeated reminder in words. An admin's crontab stays as it is (UTC)."""
    rule = recurrence_of(every)
    if rule is None:
        return f"{every} (UTC)" if every else ""
    return _said(rule, words)


def repeats_in_words(when: str, every: str, words: Words, *, until: str = "", times: int = 0) -> str:
    """Return a line with the next time, the rule, and the end of the repetition, if there is one."""
    line = words.say("reminders_repeats", when=when, rule=rule_in_words(every, words))
    line = words.say("reminders_until", line=line, until=until) if until else line
    return words.say("reminders_times", line=line, count=times) if times else line


def time_of_day(text: str) -> tuple[int, int] | None:
    """Read a time of day as people write it: `9:30`, `9.30 Uhr`, `9 am`. None for anything else."""
    found = _TIME.fullmatch(text.strip().lower().removeprefix("at ").removeprefix("um ").strip())
    if found is None or not (found[2] or found[3]):
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half in {"am", "pm"}:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if half == "pm" else 0)
    return (hour, minute) if hour <= _LAST_HOUR else None


def _said(rule: Recurrence, words: Words) -> str:
    time = f"{rule.hour:02d}:{rule.minute:02d}"
    match rule.every:
        case Every.HOURS:
            return words.say("rule_hours", hours=rule.hours)
        case Every.DAY:
            return words.say("rule_daily", time=time)
        case Every.WEEK:
            names = words.say("weekday_names").split()
            return words.say("rule_weekly", days=", ".join(names[one] for one in sorted(rule.weekdays)), time=time)
        case Every.MONTH:
            return words.say("rule_monthly", day=rule.day, time=time)
        case Every.YEAR:
            return words.say("rule_yearly", day=f"{rule.month:02d}-{rule.day:02d}", time=time)


FEWEST: Final = 2
MOST: Final = 5
LONGEST: Final = 60
"""Characters of one answer. Slack's buttons take 75."""

_READ: Final = 1_000  # characters; a longer list gives no answers
_MARKUP: Final = re.compile(r"[<>@`*~\[\]\\#]|://|^[!/_-]|\b_|_\b")


def short_answers_in(listed: str) -> tuple[str, ...]:
    """Return the distinct answers of a list separated by `|`. None of them if they are too few, too many or not plain.

    An answer is treated as the user's own words: it holds no markup, mention or address, and is no command.
    """
    if len(listed) > _READ:
        return ()
    found: dict[str, str] = {}
    for part in listed.split("|"):
        answer = one_line(unicodedata.normalize("NFC", part))
        if answer:
            found.setdefault(unicodedata.normalize("NFKC", answer).casefold(), answer)
    answers = tuple(found.values())
    fits = FEWEST <= len(answers) <= MOST and all(map(_is_plain, answers))
    return answers if fits else ()


def _is_plain(answer: str) -> bool:
    readable = answer.isprintable() and any(one.isalnum() for one in answer)
    return readable and len(answer) <= LONGEST and not _MARKUP.search(answer) and phrase_in(answer, alone=True) is None


# English; German; French; Spanish, Portuguese, Italian; Dutch; Russian; Turkish, Polish; Chinese and Japanese, of which
# pairs of characters are compared.
_LISTS: Final = """
a about after again all also am an and any are as at be been before being but by can cannot could did do does doing
don down each few for from further get give go had has have having he hello help her here hers hey hi him his how i
if in into is isn it its just know let like many may me might mine more most much must my need no nor not now of off
ok okay on once one only or other our ours out over own please put say she should so some still such tell than thank
thanks that the their them then there these they this those through to too under until up us very want was we well
were what when where which while who whom whose why will with without would yes yet you your yours ll ve re does
somebody anybody everybody something anything

aber alle als also am an auch auf aus bei beim bin bis bist bitte da damit dann danke das dass dem den denn der des
die dies diese dieser dieses doch du durch ein eine einem einen einer eines er es etwas euch fur ganz gibt habe
haben hallo hast hat hatte hier ich ihm ihn ihr ihre im in ist ja jetzt kann kannst konnen man mal mein meine mich
mir mit muss nach nein nicht noch nun nur ob oder ohne schon sehr sein sich sie sind so soll uber um und uns unser
unsere unter viel vom von vor wann war waren warum was weil welche welchem welcher welches wenn wer werden wie
wieder will wir wird wo wurde zu zum zur

ai as au aux avec avez avons ce cela ces cet cette ceux comme comment dans de des du elle elles en encore est et
etait ete etre eu il ils je la le les leur leurs lui ma mais me mes mon ne nos notre nous on ont ou par pas plus
pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sur ta te tes toi ton tu un
une vos votre vous bonjour merci

al algo como con cual cuales cuando cuanto de del desde donde el ella ellos en era es esa ese eso esta este esto
estos fue hay hola la las le les lo los mas me mi mis muy nos o para pero por porque puede que quien se ser si sin
sobre son su sus te tiene tu un una uno unos y ya yo ao aos da das dos e ela ele em essa isso nao na nas no os ou
pela pelo qual quais sao seu sua tem uma voce alla che chi ci come cosa dei della delle di dove gli ha ho il io mio
nel nella non per piu quale quando quanto questo sei si sono sul sulla tra va vi

aan bij deze die dit een er geen haar heb hebben heeft het hij hoe ik is je kan maar mijn naar niet nog of ook om
onze op te tot uit van voor waar wat we wel wie wij worden ze zich zij zijn

а без был была были было быть в вам вас весь во вот все вы где да для до его ее если есть еще же за и из или им их к
как какой когда кто ли мне мы на над не нет но о об он она они от очень по под при с сам со так там те то того тоже
только ты у уже чем что чтобы это этот я

bir bu da de icin ile mi mu ne nasil ve var ale co czy do gdzie i jak jest kiedy kto ma na nie o od po sie sa to w z
za ze

什么 怎么 么时 时候 哪里 那里 这里 谁那 我们 你们 他们 可以 是什 多少 请问 一下 还是 没有
为什
吗 呢 的 了 是 在 です ます した する ある いる どこ いつ なに どう 何時 何曜 です か
"""  # noqa: RUF001 - the letters of other alphabets are meant

STOP_WORDS: Final = frozenset(_LISTS.split())
"""The stop words in the form of `words_of`: without case and accents."""


SUGGESTIONS_MOST: Final = 4
"""Suggestions shown at once, at most (Slack: suggested prompts)."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested prompt: pressing `title` sends `message`."""

    title: str
    message: str


def house_suggestions(words: Words) -> tuple[Suggestion, ...]:
    """Return the suggestions of a soul whose file names none."""
    names = ("prompt_hello", "prompt_problem", "prompt_memory")
    return tuple(Suggestion(words.say(f"{name}_title"), words.say(name)) for name in names)


def with_reminder(suggestions: Sequence[Suggestion], words: Words, when: str) -> tuple[Suggestion, ...]:
    """Return the suggestions, preceded by one for the user's next reminder, if there is one."""
    if not when:
        return tuple(suggestions[:SUGGESTIONS_MOST])
    own = Suggestion(words.say("prompt_reminder_title", when=when), words.say("prompt_reminder"))
    return (own, *suggestions[: SUGGESTIONS_MOST - 1])
