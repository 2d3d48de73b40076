"""The phrases that are obeyed without a model, in English and German: one table for messages and the slash command."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from daemon.core.levelling import levelled, plain_words, strictly_levelled, without_codes
from daemon.core.perception import Perception, Place
from daemon.core.phrase_patterns import (
    BINDING,
    CODE,
    HANDING_OVER,
    MOVING,
    NUMBER,
    NUMBERS,
    REMEMBER,
    TO_SESSION,
    WORKING_ON,
)


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


PHRASES: Final[Mapping[Command, tuple[str, ...]]] = MappingProxyType(
    {
        Command.HELP: (
            *("help", "what can you do", "what can you do for me", "what can you do here"),
            *("hilfe", "was kannst du", "was kannst du für mich tun", "was kannst du hier"),
        ),
        Command.HOME: (),  # no words mean it: users open and press it
        Command.INTRODUCE: (),  # nor this: the soul is invited to a channel
        Command.CHANNEL: (
            "channel instructions",
            "instructions of this channel",
            "channel settings",
            "kanalanweisungen",
            "anweisungen für diesen kanal",
            "einstellungen dieses kanals",
        ),
        Command.CHANNEL_SET: (),
        Command.STATUS: ("your status", "show your status", "dein status", "zeig deinen status"),
        Command.REMINDERS: (
            "my reminders",
            "show my reminders",
            "list my reminders",
            "meine erinnerungen",
            "zeig meine erinnerungen",
            "zeig mir meine erinnerungen",
            "woran erinnerst du mich",
        ),
        Command.KNOWN: (
            "what do you know about me",
            "what do you know of me",
            "what do you remember about me",
            "what do you remember of me",
            "was weißt du über mich",
            "was weißt du von mir",
            "was hast du dir über mich gemerkt",
        ),
        Command.WHY: ("why #", "warum #", "wieso #", "weshalb #"),
        Command.WHY_SAID: (
            "why",
            "why did you say that",
            "how do you know that",
            "warum",
            "wieso",
            "weshalb",
            "warum hast du das gesagt",
            "woher weißt du das",
        ),
        Command.WRONG: ("wrong #", "# is wrong", "falsch #", "# ist falsch", "# stimmt nicht"),
        Command.FORGET: (
            "forget #",
            "forget number #",
            "forget numbers #",
            "vergiss #",
            "vergiss nummer #",
            "vergiss nummern #",
        ),
        Command.FORGET_THAT: ("forget that", "vergiss das"),
        Command.FORGET_LAST: ("forget my last message", "vergiss meine letzte nachricht"),
        Command.FORGET_ME: ("forget me", "vergiss mich"),
        Command.FORGET_ME_SURELY: ("yes, forget me", "yes forget me", "ja, vergiss mich", "ja vergiss mich"),
        Command.PAUSE: ("pause remembering", "stop remembering", "merk dir nichts", "merke dir nichts mehr"),
        Command.RESUME: ("resume remembering", "merk dir wieder etwas", "merke dir wieder etwas"),
        Command.REMEMBER: (),  # the user's own words follow, see `REMEMBER`
        Command.SESSIONS: (
            "sessions",
            "who is working on what",
            "who works on what",
            "what is everybody working on",
            "what is everyone working on",
            "sitzungen",
            "wer arbeitet woran",
            "wer arbeitet gerade woran",
            "wer arbeitet an was",
            "woran arbeiten alle",
        ),
        Command.WORKS_ON: (),  # it holds a name, see `_NAMING`
        Command.HAND_OVER: (),  # this does, too
        Command.ASK: (),  # it holds a session's name, and words follow, see `TO_SESSION`
        Command.HAND: (),
        Command.BIND: (),  # it holds the same name, see `BINDING`
        Command.BIND_FOR_ALL: (),
        Command.UNBIND: ("unbind", "unbind this thread", "unbind the thread", "löse die bindung", "bindung lösen"),
        Command.PAIR: (),  # it holds a code, see `CODE`
        Command.MY_KEYS: ("my keys", "show my keys", "list my keys", "meine schlüssel", "zeig meine schlüssel"),
        Command.END_KEY: ("end key #", "revoke key #", "beende schlüssel #", "schlüssel # beenden"),
        Command.END_KEYS: (
            "end my keys",
            "end all my keys",
            "revoke my keys",
            "beende meine schlüssel",
            "beende alle meine schlüssel",
            "meine schlüssel beenden",
        ),
        Command.STOP: (
            *("stop", "stop it", "stop that", "stop now"),
            *("stopp", "halt", "hör auf", "hör bitte auf", "hör auf damit", "abbrechen"),
        ),
        Command.CANCEL_REMINDER: (
            *("cancel reminder #", "delete reminder #", "stop reminder #"),
            *("cancel reminders #", "delete reminders #", "stop reminders #"),
            *("lösche erinnerung #", "streiche erinnerung #", "erinnerung # löschen"),
            *("lösche erinnerungen #", "streiche erinnerungen #", "erinnerungen # löschen"),
        ),
        Command.RESUME_REMINDER: ("resume reminder #", "erinnerung # fortsetzen", "setze erinnerung # fort"),
        Command.MOVE_REMINDER: (),  # it holds a time, see `MOVING`
        Command.SHOW_THERE: (
            *("also send that to the channel", "also send this to the channel", "also show that in the channel"),
            *("send that to the channel too", "send this to the channel too", "show that in the channel too"),
            *("schick das auch in den kanal", "sende das auch in den kanal", "zeig das auch im kanal"),
        ),
        Command.NOT_NOW: ("not now", "nicht jetzt", "jetzt nicht"),
        Command.FOLLOW_UP_ON: ("follow up on", "melde dich"),
        Command.FOLLOW_UP_OFF: ("follow up off", "melde dich nicht", "melde dich nicht mehr"),
        Command.FOLLOW_UP_STATUS: ("follow up status", "meldest du dich"),
        Command.EXPORT: (
            "export my memory",
            "export my memories",
            "exportiere meine erinnerungen",
            "exportiere mein gedächtnis",
        ),
    }
)

WORDS: Final[Mapping[str, Command]] = MappingProxyType(
    {
        "help": Command.HELP,
        "me": Command.KNOWN,
        "forget": Command.FORGET_ME,
        "reminders": Command.REMINDERS,
        "pause": Command.PAUSE,
        "status": Command.STATUS,
        "why": Command.WHY_SAID,
        "channel": Command.CHANNEL,
        "stop": Command.STOP,
        "hilfe": Command.HELP,
        "ich": Command.KNOWN,
        "vergiss": Command.FORGET_ME,
        "erinnerungen": Command.REMINDERS,
        "warum": Command.WHY_SAID,
        "kanal": Command.CHANNEL,
    }
)
"""The single words that count where only the soul is meant: in its slash command, in a DM, and after a `!`."""

USAGE: Final = " | ".join(("help", "me", "forget", "reminders", "pause", "stop", "status", "why", "channel"))
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
_NAMING: Final = {Command.WORKS_ON: WORKING_ON, Command.HAND_OVER: HANDING_OVER}


@dataclass(frozen=True, slots=True)
class Phrase:
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
    numbers = tuple(dict.fromkeys(map(int, NUMBER.findall(said))))
    command = _BY_PHRASE.get(NUMBERS.sub("#", said))
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
    if len(text) <= _LONGEST and (asked := MOVING.fullmatch(plain_words(text))) is not None:
        return Phrase(Command.MOVE_REMINDER, int(asked["one"] or asked["eine"]), (asked["to"] or asked["auf"]).strip())
    if (asked := REMEMBER.fullmatch(text)) is not None:
        around = "" if asked["closed"] else asked["mark"]  # the whole message is bold
        return Phrase(Command.REMEMBER, words=asked["words"].removesuffix(around))
    if (asked := TO_SESSION.fullmatch(unicodedata.normalize("NFC", text))) is not None:
        return Phrase(Command.ASK if asked["ask"] else Command.HAND, words=asked["words"], name=asked["name"])
    if len(text) <= _LONGEST and (asked := CODE.fullmatch(plain_words(text))) is not None:
        return Phrase(Command.PAIR, words=_as_shown(asked["code"] or asked["odd"]))
    return None


def _naming(text: str) -> Phrase | None:
    if (asked := BINDING.fullmatch(text)) is not None:
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


_BY_PHRASE: Final = {levelled(one): command for command, phrases in PHRASES.items() for one in phrases}
