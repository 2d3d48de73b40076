"""The phrases that are obeyed without a model, in English and German: one table for messages and the slash command."""

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from daemon.core.packaged import packaged_table
from daemon.core.pairing import LETTERS
from daemon.core.perception import Perception, Place
from daemon.core.text import one_line
from daemon.core.value import Value


class Command(StrEnum):
    """The commands that phrases ask for."""

    HELP = "help"
    STATUS = "status"
    REMINDERS = "reminders"
    HOME = "home"
    INTRODUCE = "introduce"
    CHANNEL = "channel"
    CHANNEL_SET = "channel set"
    KNOWN = "known"
    WHY = "why"
    WHY_SAID = "why said"
    WRONG = "wrong"
    FORGET = "forget"
    FORGET_THAT = "forget that"
    FORGET_LAST = "forget my last message"
    FORGET_ME = "forget me"
    FORGET_ME_SURELY = "yes, forget me"
    PAUSE = "pause"
    RESUME = "resume"
    EXPORT = "export"
    REMEMBER = "remember"
    SESSIONS = "sessions"
    WORKS_ON = "works on"
    HAND_OVER = "hand over"
    ASK = "ask"
    HAND = "hand"
    BIND = "bind"
    BIND_FOR_ALL = "bind for everybody"
    UNBIND = "unbind"
    PAIR = "pair"
    MY_KEYS = "my keys"
    END_KEY = "end key"
    END_KEYS = "end my keys"
    STOP = "stop"
    CANCEL_REMINDER = "cancel reminder"
    MOVE_REMINDER = "move reminder"
    RESUME_REMINDER = "resume reminder"
    SHOW_THERE = "show there"
    NOT_NOW = "not now"
    FOLLOW_UP_ON = "follow up on"
    FOLLOW_UP_OFF = "follow up off"
    FOLLOW_UP_STATUS = "follow up status"


_TABLE: Final = packaged_table("core/phrases.toml")

PHRASES: Final[Mapping[Command, tuple[str, ...]]] = MappingProxyType(
    dict.fromkeys(Command, ()) | {Command(name): tuple(phrases) for name, phrases in _TABLE["phrases"].items()}
)
"""The phrases of each command. A command without any is a pattern below, or a press of a button."""

WORDS: Final[Mapping[str, Command]] = MappingProxyType(
    {word: Command(name) for name, words in _TABLE["alone"].items() for word in words}
)
"""The single words that count where only the soul is meant: in its slash command, in a DM, and after a `!`."""

USAGE: Final = " | ".join(words[0] for words in _TABLE["alone"].values())
"""The usage hint of the slash command, as Slack shows it."""


def command_of(soul: str) -> str:
    """Return the slash command of a soul, such as `/minoan`."""
    return f"/{_NOT_IN_COMMANDS.sub('-', soul.casefold())[:_LONGEST_COMMAND]}"


AS_MESSAGE: Final = frozenset(
    {
        *(Command.WRONG, Command.REMEMBER, Command.FORGET_THAT, Command.FORGET_LAST, Command.HAND_OVER),
        *(Command.ASK, Command.HAND),
        *(Command.BIND, Command.BIND_FOR_ALL, Command.UNBIND, Command.PAIR, Command.FORGET_ME_SURELY),
        *(Command.SHOW_THERE, Command.NOT_NOW),
    }
)
"""The commands that need a message or a thread of their own: in a slash command they change nothing."""

READS: Final = frozenset(
    {
        *(Command.HELP, Command.STATUS, Command.REMINDERS, Command.CHANNEL, Command.KNOWN, Command.WHY),
        *(Command.WHY_SAID, Command.SESSIONS, Command.WORKS_ON, Command.MY_KEYS),
    }
)
"""The read-only commands: without a message to answer, they wait for no reply in progress."""

ASK_SHORTCUT: Final = "soul_ask"
"""The id of the platform's message shortcut that asks about a message."""

WHY_SHORTCUT: Final = "soul_why"
"""The id of the platform's message shortcut for *why*."""

_LONGEST_COMMAND: Final = 31  # characters behind the slash (Slack: slash commands)
_NOT_IN_COMMANDS: Final = re.compile(r"[^a-z0-9_-]+")
_MARK: Final = "!"
_ALONE: Final = (Place.DM, Place.TERMINAL)
_ONE_WORD: Final = ("why", "warum", "wieso", "weshalb")  # with a question mark they are a question to the soul
_SEVERAL: Final = (Command.FORGET, Command.CANCEL_REMINDER)  # a phrase of these may hold several numbers
_MOST_AT_ONCE: Final = 4  # words of a message that begins with *stop* and means only that
_ENDS: Final = re.compile(r"[.!…;]+")
_LONGEST: Final = 80  # characters of a phrase before its colon
_AT_THE_END: Final = " .!?…"
_COURTESY: Final = frozenset({"please", "bitte", "ok", "okay", "thanks", "danke"})
_CODES: Final = re.compile(r":[a-z0-9_+'-]{1,60}:(?::skin-tone-[2-6]:)?")
_JOINING: Final = "\u200d\ufe0f"  # within emoji
_QUOTES: Final = re.compile("[\"'`*_\u201c\u201d\u201e\u2018\u2019«»]")
_REMEMBER: Final = re.compile(
    r"(?P<mark>[*_`]*)(?:ok(?:ay)?,? )?(?P<please>(?:(?:can|could|will|would) you )?(?:please|bitte),? )?"
    r"(?:remember(?: that(?! (?:time|day|night|one)\b)|:)|merke? dir"
    r"(?:,? dass(?=[*_`])|,?(?= dass )|:))(?P<closed>[*_`]*)"  # a German clause keeps its *dass*
    r"(?:\s+|(?<=[:*_`]))(?P<words>\S.*?[^?\s*_`][*_`]*+)"
    r"(?:,\s*(?:please|bitte|thanks|danke)\b[.!?\s]*|,\s*(?:ok(?:ay)?|(?:can|could|will|would) you|ja|gut)\s*\?+)?"
    r"(?(please)\s*\?*)[*_`]*",  # with no word of courtesy, what ends in a question mark is a question
    re.IGNORECASE | re.DOTALL,
)
_NO_NAME: Final = (
    "you|we|i|he|she|it|they|this|that|the|a|an|my|your|our|his|her|"
    "du|wir|ich|er|sie|es|ihr|man|das|die|der|den|ein|eine|mein|dein"
)
_NAME: Final = rf"(?!(?:{_NO_NAME})\b)[^\s,;()]+(?: [^\s,;()]+){{0,2}}?"
_WORKING_ON: Final = re.compile(
    rf"(?:what is|whats) (?P<name>{_NAME}) working on(?: now| right now| at the moment)?"
    rf"|(?:woran|an was) arbeitet (?P<wer>{_NAME})(?: gerade| jetzt| im moment)?",
    re.IGNORECASE,
)
_HANDING_OVER: Final = re.compile(
    rf"(?:please )?hand (?:this|the) (?:thread|conversation) (?:over |back )?to (?P<name>{_NAME})(?: please)?"
    rf"|(?:bitte )?(?:übergib|gib) (?:diesen|den) thread (?:zurück |weiter )?an (?P<wer>{_NAME})(?: ab| weiter)?"
    rf"|(?:bitte )?übergib (?:dieses|das) gespräch an (?P<wem>{_NAME})",
    re.IGNORECASE,
)
_SIGN: Final = (  # a letter or digit, or a sign of letters that is no \w, such as Hindi's vowel signs
    # without regard to case, compiling it takes as long as a hundred other patterns
    r"(?-i:[^\W_]|(?![\w\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20])[\u0300-\U0010ffff])"
)
_SESSION: Final = rf"(?P<name>{_SIGN}+(?:-{_SIGN}+)+)"
_BINDING: Final = re.compile(
    rf"(?:please )?bind {_SESSION} here(?P<all> for (?:everybody|everyone|all))?(?: please)?"
    rf"|(?:bitte )?(?:binde|verbinde) {_SESSION.replace('name', 'wen')} hier(?P<alle> für alle)?(?: an)?(?: bitte)?",
    re.IGNORECASE,
)
_TO_SESSION: Final = re.compile(  # a session's name has a hyphen: *ask yourself: why?* is a question to the soul
    r"(?:please |bitte )?(?:(?P<ask>ask|frage?)|hand|gib|übergib)\s+[`*_\"]?"
    rf"{_SESSION}[`*_\"]?\s*:"
    r"\s*(?P<words>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CODE: Final = re.compile(  # other letters must look like a code: *pair programs* is talk
    rf"(?:please |bitte )?(?:pair|kopple)(?: code)? (?:(?P<code>[{LETTERS}]{{4}}[- ]?[{LETTERS}]{{4}})"
    r"|(?-i:(?P<odd>[A-Z0-9]{4}-[A-Z0-9]{4})))",
    re.IGNORECASE,
)
_MOVING: Final = re.compile(
    r"(?:please |bitte )?(?:move|change) reminder #?(?P<one>[0-9]{1,4}) to (?P<to>\S.{0,40})"
    r"|(?:bitte )?(?:verschiebe|verlege) erinnerung #?(?P<eine>[0-9]{1,4}) auf (?P<auf>\S.{0,40})",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<!\S)[#]?([0-9]{1,4})(?!\S)")
_NUMBERS: Final = re.compile(rf"{_NUMBER.pattern}(?:(?: and| und| &)? {_NUMBER.pattern})*")
_NAMING: Final = {Command.WORKS_ON: _WORKING_ON, Command.HAND_OVER: _HANDING_OVER}


class Phrase(Value):
    """The phrase of a message. Unused fields are 0 or empty; `more` are the numbers after the first.

    `words` are the user's own words, a time, or for PAIR the code as machines show it. For HELP they are the text that
    is no phrase. `name` is a person, a soul or a session. `marked`: a `!` or a slash command addressed the daemon
    itself.
    """

    command: Command
    number: int = 0
    words: str = ""
    name: str = ""
    marked: bool = False
    more: tuple[int, ...] = ()


def phrase_said(perception: Perception) -> Phrase | None:
    """Return the phrase of a message, if nothing else is in it. In a DM one of the WORDS is enough."""
    return phrase_in(perception.content, alone=perception.place in _ALONE)


def typed(words: str) -> Phrase:
    """Return the phrase typed after a slash command. HELP for an empty text or no phrase."""
    if not words.strip():
        return Phrase(Command.HELP, marked=True)
    return _marked(words) or Phrase(Command.HELP, words=words.strip(), marked=True)


def phrase_in(text: str, *, alone: bool = False) -> Phrase | None:
    """Return the phrase of a text, if nothing else is in it. `alone`: it was said to the soul alone."""
    if text.lstrip().startswith(_MARK):
        return _marked(text.strip().removeprefix(_MARK))
    if alone and not _asks(text) and (command := WORDS.get(strictly_levelled(text[:_LONGEST]))) is not None:
        return Phrase(command)
    return _unmarked(text)


def _marked(text: str) -> Phrase | None:
    command = WORDS.get(levelled(text[:_LONGEST]))
    phrase = Phrase(command) if command is not None else _unmarked(text)
    return replace(phrase, marked=True) if phrase is not None else None


def _unmarked(text: str) -> Phrase | None:
    if (phrase := _with_words(text.strip())) is not None:
        return phrase
    bare = without_codes(text) if len(text) <= _LONGEST else text
    head, colon, words = (text if ":" in bare else bare).strip().partition(":")
    if len(head) > _LONGEST:
        return None
    said = levelled(head)
    if not colon and said not in _BY_PHRASE and (naming := _naming(plain_words(head))) is not None:
        return naming
    numbers = tuple(dict.fromkeys(map(int, _NUMBER.findall(said))))
    command = _BY_PHRASE.get(_NUMBERS.sub("#", said))
    if command is None or (colon and command is not Command.WRONG) or (said in _ONE_WORD and _asks(head)):
        return None
    if len(numbers) > 1 and command not in _SEVERAL:
        return None
    return Phrase(command, numbers[0] if numbers else 0, words.strip(), more=numbers[1:])


def means_stop(text: str) -> bool:
    """Return true if a message asks to stop: the phrase, or a few words that begin with it, as *stop, that is enough*.

    The caller must check that work is in progress; otherwise such words are a normal message.
    """
    if (phrase := phrase_in(text)) is not None:
        return phrase.command is Command.STOP
    if len(text) > _LONGEST or _asks(text):
        return False
    words = levelled(_ENDS.sub(" ", without_codes(text))).split()
    if len(words) > _MOST_AT_ONCE:
        return False
    begun = (" ".join(words[:count]) for count in range(1, len(words) + 1))
    return any(_BY_PHRASE.get(one) is Command.STOP for one in begun)


def _with_words(text: str) -> Phrase | None:
    """Return the phrase that holds the user's own words."""
    if len(text) <= _LONGEST and (asked := _MOVING.fullmatch(plain_words(text))) is not None:
        return Phrase(Command.MOVE_REMINDER, int(asked["one"] or asked["eine"]), (asked["to"] or asked["auf"]).strip())
    if (asked := _REMEMBER.fullmatch(text)) is not None:
        around = "" if asked["closed"] else asked["mark"]  # the whole message is bold
        return Phrase(Command.REMEMBER, words=asked["words"].removesuffix(around))
    if (asked := _TO_SESSION.fullmatch(unicodedata.normalize("NFC", text))) is not None:
        return Phrase(Command.ASK if asked["ask"] else Command.HAND, words=asked["words"], name=asked["name"])
    if len(text) <= _LONGEST and (asked := _CODE.fullmatch(plain_words(text))) is not None:
        return Phrase(Command.PAIR, words=_as_shown(asked["code"] or asked["odd"]))
    return None


def _naming(text: str) -> Phrase | None:
    if (asked := _BINDING.fullmatch(text)) is not None:
        command = Command.BIND_FOR_ALL if asked["all"] or asked["alle"] else Command.BIND
        return Phrase(command, name=asked["name"] or asked["wen"])
    for command, pattern in _NAMING.items():
        if (asked := pattern.fullmatch(text)) is not None:
            return Phrase(command, words=next(filter(None, asked.groups())))
    return None


def _as_shown(code: str) -> str:
    letters = code.upper().replace("-", "").replace(" ", "")
    return f"{letters[:4]}-{letters[4:]}"


def _asks(text: str) -> bool:
    return "?" in unicodedata.normalize("NFKC", text)


def levelled(text: str) -> str:
    """Return a text as phrases are compared: no case, quote marks, commas, emoji or words of courtesy."""
    words = strictly_levelled(text).replace(",", " ").split()
    while len(words) > 1 and words[0] in _COURTESY:
        del words[0]
    while len(words) > 1 and words[-1] in _COURTESY:
        del words[-1]
    return " ".join(words).strip(_AT_THE_END)


def strictly_levelled(text: str) -> str:
    """Return a text as single words are compared: with courtesy and commas. Single words are ambiguous."""
    shown = "".join(" " if one in _JOINING or unicodedata.category(one) == "So" else one for one in text)
    return plain_words(shown).casefold()


def plain_words(text: str) -> str:
    """Return a text on one line, without quote marks and final punctuation."""
    return " ".join(_QUOTES.sub("", unicodedata.normalize("NFKC", text)).split()).strip(_AT_THE_END)


def without_codes(text: str) -> str:
    """Return a text without emoji codes as Slack writes them, such as `:pray:`."""
    return _CODES.sub(" ", text)


_BY_PHRASE: Final = {levelled(one): command for command, phrases in PHRASES.items() for one in phrases}


FEWEST_ANSWERS: Final = 2
MOST_ANSWERS: Final = 5
LONGEST_ANSWER: Final = 60
"""Characters of a short answer. Slack's buttons take 75."""

_LONGEST_LIST: Final = 1_000  # characters; a longer list gives no answers
_MARKUP: Final = re.compile(r"[<>@`*~\[\]\\#]|://|^[!/_-]|\b_|_\b")


def short_answers_in(listed: str) -> tuple[str, ...]:
    """Return the distinct answers of a list separated by `|`. None of them if they are too few, too many or not plain.

    An answer is treated as the user's own words: it holds no markup, mention or address, and is no command.
    """
    if len(listed) > _LONGEST_LIST:
        return ()
    found: dict[str, str] = {}
    for part in listed.split("|"):
        answer = one_line(unicodedata.normalize("NFC", part))
        if answer:
            found.setdefault(unicodedata.normalize("NFKC", answer).casefold(), answer)
    answers = tuple(found.values())
    fits = FEWEST_ANSWERS <= len(answers) <= MOST_ANSWERS and all(map(_is_plain, answers))
    return answers if fits else ()


def _is_plain(answer: str) -> bool:
    readable = answer.isprintable() and any(one.isalnum() for one in answer)
    return (
        readable
        and len(answer) <= LONGEST_ANSWER
        and not _MARKUP.search(answer)
        and phrase_in(answer, alone=True) is None
    )
