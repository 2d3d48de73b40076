"""Patterns of phrases that hold a name, a number, a time, a code or a user's own words."""

import re
from typing import Final

from daemon.core.pairing import LETTERS

REMEMBER: Final = re.compile(
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
WORKING_ON: Final = re.compile(
    rf"(?:what is|whats) (?P<name>{_NAME}) working on(?: now| right now| at the moment)?"
    rf"|(?:woran|an was) arbeitet (?P<wer>{_NAME})(?: gerade| jetzt| im moment)?",
    re.IGNORECASE,
)
HANDING_OVER: Final = re.compile(
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
BINDING: Final = re.compile(
    rf"(?:please )?bind {_SESSION} here(?P<all> for (?:everybody|everyone|all))?(?: please)?"
    rf"|(?:bitte )?(?:binde|verbinde) {_SESSION.replace('name', 'wen')} hier(?P<alle> für alle)?(?: an)?(?: bitte)?",
    re.IGNORECASE,
)
TO_SESSION: Final = re.compile(  # a session's name has a hyphen: *ask yourself: why?* is a question to the soul
    r"(?:please |bitte )?(?:(?P<ask>ask|frage?)|hand|gib|übergib)\s+[`*_\"]?"
    rf"{_SESSION}[`*_\"]?\s*:"
    r"\s*(?P<words>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
CODE: Final = re.compile(  # other letters must look like a code: *pair programs* is talk
    rf"(?:please |bitte )?(?:pair|kopple)(?: code)? (?:(?P<code>[{LETTERS}]{{4}}[- ]?[{LETTERS}]{{4}})"
    r"|(?-i:(?P<odd>[A-Z0-9]{4}-[A-Z0-9]{4})))",
    re.IGNORECASE,
)
MOVING: Final = re.compile(
    r"(?:please |bitte )?(?:move|change) reminder #?(?P<one>[0-9]{1,4}) to (?P<to>\S.{0,40})"
    r"|(?:bitte )?(?:verschiebe|verlege) erinnerung #?(?P<eine>[0-9]{1,4}) auf (?P<auf>\S.{0,40})",
    re.IGNORECASE,
)
NUMBER: Final = re.compile(r"(?<!\S)[#]?([0-9]{1,4})(?!\S)")
NUMBERS: Final = re.compile(rf"{NUMBER.pattern}(?:(?: and| und| &)? {NUMBER.pattern})*")
