"""The kinds of fields that a soul's files are made of, with their bounds and the words of their refusals."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from daemon.core.contexts import KEY


def _pairs(value: object) -> object:
    """A table as pairs, which can be hashed and don't change."""
    return tuple(value.items()) if isinstance(value, dict) else value


class SoulSection(BaseModel):
    """A part of a soul: it can't be changed, and holds no field that it doesn't know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def matching(pattern: str, expected: str) -> AfterValidator:
    """A check against a pattern; its error says in words what was expected."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise ValueError(expected)
        return value

    return AfterValidator(check)


def one_line(value: str) -> str:
    """A text without spaces around it. Raises ValueError unless it is one line of text."""
    invisible = any(unicodedata.category(char) in {"Cc", "Zl", "Zp"} for char in value)
    if invisible or not value.strip():
        raise ValueError("must be one line of text")
    return value.strip()


def no_repeats(values: tuple[str, ...]) -> tuple[str, ...]:
    """The values themselves. Raises ValueError where one stands twice."""
    if repeated := repeated_in(values):
        raise ValueError(f"names {repeated!r} twice")
    return values


def repeated_in(values: Iterable[str]) -> str | None:
    """The first value that stands there a second time, or None."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


Line = Annotated[str, Field(max_length=300), AfterValidator(one_line)]
DisplayName = Annotated[str, Field(max_length=80), AfterValidator(one_line)]
Word = Annotated[
    str, Field(max_length=40), matching(r"[^\W\d_][\w' -]*", "must be a word, or a few, beginning with a letter")
]
Words = Annotated[tuple[Word, ...], Field(min_length=1, max_length=24, strict=False)]
PrivateVerb = Annotated[  # one word, so that the first word of a text shows that it is a private thought
    str, Field(max_length=40), matching(r"[^\W\d_][\w'-]*", "must be a single word, beginning with a letter")
]
PrivateVerbs = Annotated[tuple[PrivateVerb, ...], Field(max_length=24, strict=False)]
OptionalWords = Annotated[tuple[Word, ...], Field(max_length=24, strict=False), AfterValidator(no_repeats)]
Tokens = Annotated[int, Field(ge=0, le=100_000)]
ProcessName = Annotated[str, matching(r"[a-z][a-z0-9_]{0,63}", "must be a name of lower-case letters, digits and _")]
ProcessNames = Annotated[tuple[ProcessName, ...], Field(max_length=64, strict=False), AfterValidator(no_repeats)]
ContextKey = Annotated[str, matching(KEY.pattern, "must be a key of up to 64 of a-z, 0-9, dot, hyphen, underscore")]
Emoji = Annotated[
    str,
    matching(
        r"(?!eyes$)(?:[a-z0-9_+'-]{1,100}(?:::skin-tone-[2-6])?)?",
        "must be the name of an emoji without its colons, such as thumbsup; eyes marks what is worked on",
    ),
]
ChannelId = Annotated[
    str, matching(r"[CG][A-Z0-9]{2,20}", "must be a Slack channel's id, C… or G… (open the channel's details)")
]
SlackId = Annotated[
    str, matching(r"[UWCG][A-Z0-9]{2,20}", "must be the Slack id of a person (U… or W…) or of a channel (C… or G…)")
]

ContextKeys = Annotated[tuple[ContextKey, ...], Field(max_length=20, strict=False), AfterValidator(no_repeats)]

_Levels = Annotated[tuple[tuple[Word, Annotated[float, Field(ge=0, le=1, strict=False)]], ...], BeforeValidator(_pairs)]
Physio = Annotated[tuple[tuple[str, _Levels], ...], BeforeValidator(_pairs)]
