"""Prompt fences around users' words, clean names and cut texts."""

import re
import secrets
from collections.abc import Iterable

from daemon.core.text import one_line, visible_line
from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens

NAME_CAP = 80
"""Characters of a user's name in a prompt, at most."""

_MARKUP = str.maketrans(dict.fromkeys('<>"&'))
_FENCE = re.compile(r"<(?=[^\w<>]{0,8}(?:said|note|context)\b)", re.IGNORECASE)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\U000e0000-\U000e007f]")


def clean_name(name: str) -> str:
    """Return a name on one line without invisible characters and markup, at most `NAME_CAP` characters."""
    return one_line(visible_line(name).translate(_MARKUP))[:NAME_CAP].strip() or "somebody"


def fence(tag: str, text: str, nonce: str, **attributes: str) -> str:
    """Return data between `<tag-NONCE …>` and `</tag-NONCE>`. Nothing in it can look like the end."""
    given = "".join(f' {key}="{defang(clean_name(value), nonce)}"' for key, value in attributes.items() if value)
    return f"<{tag}-{nonce}{given}>\n{defang(text, nonce)}\n</{tag}-{nonce}>"


def defang(text: str, nonce: str) -> str:
    """Remove everything that could pass for a fence: invisible characters, the nonce, tags like ours."""
    return _FENCE.sub("&lt;", re.sub(re.escape(nonce), "~", _UNSEEN.sub("", text), flags=re.IGNORECASE))


NONCE_LASTS_MS = 24 * 3_600_000
"""Milliseconds for which a conversation's fences keep their nonce, which lets a provider cache its prompts."""


class Nonce(Value):
    """The nonce of one conversation's fences, and when it was drawn (ms). An empty code means none yet."""

    code: str = ""
    drawn_ms: int = 0

    def kept_or_drawn(self, now_ms: int, said: Iterable[str]) -> "Nonce":
        """Return this nonce, or a new one after a day or once its code occurs in any text of `said`."""
        texts = [text.casefold() for text in said]
        code = self.code if 0 <= now_ms - self.drawn_ms < NONCE_LASTS_MS else ""
        if code and not any(code in text for text in texts):
            return self
        while not code or any(code in text for text in texts):
            code = fresh_nonce()
        return Nonce(code, now_ms)


NO_NONCE = Nonce()


def fresh_nonce() -> str:
    return secrets.token_hex(5)


def cut(text: str, budget: int, *, tail: float = 0.25) -> str:
    """Return a text of at most `budget` tokens: whole, or its beginning and end around a visible note.

    `tail` is the share of the end.
    """
    if estimate_tokens(text) <= budget:
        return text
    low, high = 0, min(len(text), 4 * budget)  # no character takes less than a quarter token
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(_shortened(text, middle, tail)) <= budget:
            low = middle
        else:
            high = middle - 1
    return _shortened(text, low, tail)


def _shortened(text: str, kept: int, share: float) -> str:
    tail = int(kept * share)
    end = text[len(text) - tail :]
    return f"{text[: kept - tail]}\n[… {len(text) - kept} characters left out here …]\n{end}".strip()
