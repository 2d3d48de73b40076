"""Recognises text that looks like one of our tag names, even when other characters spell it."""

import unicodedata
from collections.abc import Iterable

# Characters that look like `<`: fullwidth and small forms, angle brackets, arrows.
OPENERS = "<\uff1c\ufe64\u2039\u2329\u3008\u27e8\u276e\u276c\u02c2\u1438\u227a"
_SEPARATORS = frozenset("_-*`~\\.;:|\u00b7\u2010\u2011\u2012\u2013\u2014\u2212")  # markdown escapes, dashes
_BEFORE_NAME = frozenset("/!?\u2044\u2215")
_UNSEEN = _SEPARATORS | frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"
)  # and letters of Unicode that print as blanks
_CONFUSABLE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0501\u04bb"  # Cyrillic: aeopcyxisdh
    "\u04cf\u043a\u043c\u0442\u0432\u043d\u0433\u051b\u051d\u0458\u0454"  # Cyrillic: lkmtbhrqwje
    "\u03bf\u03b9\u03bd\u03c1\u03c4\u03c5\u03c7\u03ba\u03b1"  # Greek: oivptuxka
    "\u0251\u0261\u0131\u2113",  # others: agil
    "aeopcyxisdhlkmtbhrqwjeoivptuxkaagil",
)
NEAR = 2  # typing errors that leave a long name recognisable
_LONG = 8  # letters of a long name


def fold(character: str, *, leading: bool) -> str | None:
    """The Latin letters that a character looks like; "" if it is invisible or a separator, None for any other.

    `leading` says that no letter came before, where a slash belongs to the tag's syntax.
    """
    if "a" <= character <= "z":
        return character
    if character.isspace() or character in _SEPARATORS or (leading and character in _BEFORE_NAME):
        return ""
    letters = "".join(
        part
        for part in unicodedata.normalize("NFKD", character).casefold().translate(_CONFUSABLE)
        if unicodedata.category(part) not in {"Mn", "Me", "Cf", "Cc"}
        and part not in _SEPARATORS
        and part not in _UNSEEN
    )
    if leading:
        letters = letters.strip("/!?")
    return letters if letters == "" or (letters.isascii() and letters.isalpha()) else None


def squeeze(name: str) -> str:
    """A tag name in the form that `fold` gives: lower case, no separators."""
    return name.casefold().replace("_", "").replace("-", "")


def reads_as(skeleton: str, names: Iterable[str]) -> bool:
    """Whether folded text is one of the squeezed names, or extends a long one, or is within two typing errors of it."""
    return any(
        skeleton.startswith(name) or (abs(len(skeleton) - len(name)) <= NEAR and _within(skeleton, name, NEAR))
        if len(name) >= _LONG
        else skeleton == name
        for name in names
    )


def _within(left: str, right: str, slips: int) -> bool:
    """Whether at most `slips` letters added, removed, changed or swapped make two words equal."""
    same = 0
    while same < len(left) and same < len(right) and left[same] == right[same]:
        same += 1
    left, right = left[same:], right[same:]
    if not left and not right:
        return True
    if slips == 0:
        return False
    swapped = left[:2] == right[1::-1] and len(left) > 1 and _within(left[2:], right[2:], slips - 1)
    return (
        swapped
        or _within(left[1:], right[1:], slips - 1)
        or _within(left[1:], right, slips - 1)
        or _within(left, right[1:], slips - 1)
    )
