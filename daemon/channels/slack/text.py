"""Turns Slack's escaped markup into the text that the user typed: entities decoded, links readable, mentions as ids."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from daemon.core.text import one_line, storable

LONGEST: Final = 40_000  # characters; Slack's own cap for one message
_CUT: Final = " […]"

_ANGLE: Final = re.compile(r"<([^<>\s][^<>\n]{0,3000})>")
_PERSON: Final = re.compile(r"<@([A-Za-z0-9]{2,24})(?:\|[^<>]*)?>")
_GROUP: Final = re.compile(r"<!subteam\^([A-Za-z0-9]+)(?:\|[^<>]*)?>")
_UNWANTED: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ENTITIES: Final[Mapping[str, str]] = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ENTITY: Final = re.compile("|".join(_ENTITIES))


def clean(text: str) -> str:
    """Text without lone surrogates and control characters, cut to `LONGEST`, so that it can be stored and sent."""
    whole = _UNWANTED.sub("", storable(text).replace("\r\n", "\n").replace("\r", "\n"))
    return whole if len(whole) <= LONGEST else whole[: LONGEST - len(_CUT)] + _CUT


def label(text: str, limit: int = 80) -> str:
    """A name as one line of at most `limit` characters."""
    return one_line(clean(text))[:limit].strip()


def people_in(raw: str) -> tuple[str, ...]:
    """Ids of all users mentioned in raw markup, in order."""
    return tuple(_PERSON.findall(raw))


def groups_in(raw: str) -> tuple[str, ...]:
    """Ids of all user groups mentioned in raw markup, in order."""
    return tuple(_GROUP.findall(raw))


def for_others(raw: str, own: str, own_groups: Collection[str] = ()) -> bool:
    """Whether raw markup addresses other users: it begins with a mention of one, or mentions some but not `own`.

    A mention of one of `own_groups`, which hold the soul, is one of the soul.
    """
    start = raw.lstrip()
    first, first_group = _PERSON.match(start), _GROUP.match(start)
    if (first_group and first_group[1] not in own_groups) or (first and first[1] != own):
        return True
    people, groups = people_in(raw), groups_in(raw)
    return own not in people and not set(own_groups).intersection(groups) and bool(people or groups)


def readable(raw: str, own: str) -> str:
    """Raw markup as plain text: mentions of `own` removed, `<@U2>` kept, links as `label (url)`."""
    text = _without(clean(raw), own)
    pieces, end = [], 0
    for token in _ANGLE.finditer(text):
        pieces.append(_unescape(text[end : token.start()]))
        pieces.append(_token(token[1]))
        end = token.end()
    pieces.append(_unescape(text[end:]))
    return clean("".join(pieces)).strip()


def _without(text: str, own: str) -> str:
    """Remove our own mention, with the space or comma beside it."""
    mention = rf"<@{re.escape(own)}(?:\|[^<>]*)?>"
    return re.sub(rf"[ \t]?{mention}", "", re.sub(rf"\A\s*{mention}[\s,:]*", "", text))


def _token(inner: str) -> str:
    """One `<…>` of Slack's markup."""
    target, _, shown = inner.partition("|")
    target, shown = _unescape(target), _unescape(shown)
    if target.startswith("@"):
        return f"<{target}>"
    if target.startswith("#"):
        return f"#{shown or target[1:]}"
    if target.startswith("!"):
        return _command(target[1:], shown)
    address = target.removeprefix("mailto:")
    return (
        address if not shown or shown in (address, target) or address.endswith(f"//{shown}") else f"{shown} ({address})"
    )


def _command(name: str, shown: str) -> str:
    """`!here`, `!subteam^S1`, `!date^…` as Slack shows them."""
    if name.startswith("date^"):
        return shown or name
    if not shown and _GROUP.fullmatch(f"<!{name}>"):
        return f"<!{name}>"  # its handle is looked up as names of people are
    word = shown or name.partition("^")[0]
    return word if word.startswith("@") else f"@{word}"


def _unescape(text: str) -> str:
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text)
