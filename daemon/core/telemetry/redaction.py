"""Removes secrets from text: known values, however they are split or encoded, then anything that looks like a key."""

import re
from collections.abc import Iterable
from functools import lru_cache

REDACTED = "[redacted]"

_SHORTEST_SECRET = 4  # anything shorter is a word, and removing it would make lines unreadable
_KNOWN_PREFIX = 12  # this many first characters identify a truncated secret

# What may stand between two characters of a secret that was wrapped, quoted or shown by repr().
_GAP = (
    r"(?:[\s\u200b-\u200f\u2060\ufeff]"
    r"|\\{1,8}(?:[nrtvf]|x[0-9a-f]{2}|u[0-9a-f]{4})"
    r"|%(?:25){0,3}(?:20|0[9ad])"
    r")*\\{0,8}"
)
_REST_OF_IT = r"[^\s\"'<>&,;)}\]]*"

# Each kind of key with what stands in all of its kind, in small letters: a text without that is not searched for it.
# An address comes last, since its password may be a key of another kind.
_KINDS = tuple(
    (marks, re.compile(pattern, re.IGNORECASE))
    for marks, pattern in (
        (("xox", "xapp"), r"(?:xox[a-z]|xapp)(?:\.xox[a-z])?-[\w-]{6,}"),  # Slack tokens
        (("sk-", "pk-", "rk-"), r"\b(?:sk|pk|rk)-[\w-]{12,}"),  # Anthropic, OpenAI, OpenRouter
        (("gsk_",), r"\bgsk_\w{12,}"),  # Groq
        # code hosts and package registries
        (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[\w-]{16,}"),
        (("github_pat_", "glpat-", "npm_", "hf_", "pypi-"), r"\b(?:github_pat_|glpat-|npm_|hf_|pypi-)[\w-]{16,}"),
        (("akia", "asia"), r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),  # AWS
        (("aiza",), r"\bAIza[\w-]{30,}"),  # Google
        (("sk_", "pk_", "rk_"), r"\b(?:sk|pk|rk)_(?:live|test)_\w{12,}"),  # Stripe
        (("hooks.slack.com/",), r"hooks\.slack\.com/[\w/-]+"),  # incoming webhooks and workflow triggers
        (("ticket=",), r"(?<=\bticket=)[\w.~%-]+"),  # the key inside a Socket Mode address
        (("bearer",), r"(?<=\bBearer\s)[\w.~+/=-]{8,}"),
        (("://",), r"(?<=://)[^\s/:@]{1,64}:[^\s/@]{3,}(?=@)"),  # user and password in an address
    )
)

_MARKS = re.compile("|".join(re.escape(mark) for marks, _ in _KINDS for mark in marks))

# A JSON Web Token has three parts. The first is taken also where it stands alone, and put back: a text of nothing but
# such beginnings would be searched to its end from each of them.
_TOKEN = re.compile(r"\beyJ[\w-]{8,}(\.eyJ[\w-]{8,}\.[\w-]{8,})?", re.IGNORECASE)


class Redactor:
    """Replaces secrets by `[redacted]`; a call never raises for any text and never shows part of a known secret."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._known = _pattern(frozenset(secret.strip() for secret in secrets))

    def __call__(self, text: str) -> str:
        """The text without its secrets."""
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        return remove_keys(text)


def remove_keys(text: str) -> str:
    """A text without anything that looks like a key."""
    small = text.lower()
    if "eyj" in small:
        text = _TOKEN.sub(lambda found: REDACTED if found[1] else found[0], text)
    if _MARKS.search(small):  # as in almost none
        for marks, pattern in _KINDS:
            if any(mark in small for mark in marks):
                text = pattern.sub(REDACTED, text)
    return text


@lru_cache(maxsize=16)  # compiling takes some 30 ms, and several parts of a daemon hide the same secrets
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    usable = sorted((secret for secret in secrets if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True)
    shapes = [_shape(secret) for secret in usable]
    shapes += [_shape(secret[:_KNOWN_PREFIX]) + _REST_OF_IT for secret in usable if len(secret) > _KNOWN_PREFIX]
    return re.compile("|".join(shapes), re.IGNORECASE) if shapes else None


def _shape(secret: str) -> str:
    """A pattern for a secret that may be broken by white space, escaped, or percent-encoded up to a few times.

    A blank of the secret itself is such a break too: two patterns for one blank would try every way to share a run of
    blanks between them.
    """
    return _GAP.join(_either(char) for char in secret if not char.isspace())


def _either(char: str) -> str:
    plain = "-?" if char == "-" else re.escape(char)  # a UUID is often shown without its hyphens
    encoded = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    return f"(?:{encoded.replace('%', '%(?:25){0,3}')}|{plain})"
