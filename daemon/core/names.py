"""Shows names in place of ids, in what a model reads and writes: of people, user groups, and channels of everybody.

A name in a text is one word of letters, digits, `_`, `-` and dots, so that no name that somebody gave themselves can
look like anything else in a prompt. What has no known name stays the id that it is.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

_ID: Final = re.compile(
    r"<@(?P<person>[UW][A-Z0-9]{1,23})(?:\|[^<>]*)?>|<#(?P<linked>[CG][A-Z0-9]{2,23})(?:\|[^<>]*)?>"
    r"|<!subteam\^(?P<group>S[A-Z0-9]{1,23})>|(?<![\w#<])#(?P<room>[CG][A-Z0-9]{2,23})\b"
)
_UNFIT: Final = re.compile(r"[^\w-]+")


def ids_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The ids of people, groups and channels that texts mention, each once, in order."""
    return tuple(dict.fromkeys(_id(found) for text in texts for found in _ID.finditer(text)))


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text with the known names of the people, groups and channels that it mentions."""

    def named(found: re.Match[str]) -> str:
        name = _UNFIT.sub(".", names.get(_id(found), "")).strip(".")
        return f"{'@' if found['person'] or found['group'] else '#'}{name}" if name else found[0]

    return _ID.sub(named, text)


def _id(found: re.Match[str]) -> str:
    return found["person"] or found["group"] or found["linked"] or found["room"]
