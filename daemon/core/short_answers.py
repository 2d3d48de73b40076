"""The few short answers that a question offers as buttons; a model words them, so nothing about them is believed."""

import re
import unicodedata
from typing import Final

from daemon.core.phrases import phrase_in
from daemon.core.text import one_line

FEWEST: Final = 2
MOST: Final = 5
LONGEST: Final = 60
"""Characters of one answer; Slack's buttons take 75."""

_READ: Final = 1_000  # characters; a longer list is none
_MARKUP: Final = re.compile(r"[<>@`*~\[\]\\#]|://|^[!/_-]|\b_|_\b")


def short_answers_in(listed: str) -> tuple[str, ...]:
    """The answers in a list divided by `|`, each once; none at all where they are too few, too many or odd ones.

    An answer is heard as its person's own words. So it holds no markup, mention or address, and is no command.
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
