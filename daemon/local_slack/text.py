"""Converts typed text to the text Slack stores: entities escaped; mentions, channels and links in angle brackets."""

import re
from collections.abc import Iterable, Mapping

from daemon.local_slack.model import ChannelKind, Json, UserGroup, WorkspaceChannel, WorkspaceUser

_LINK = re.compile(r"https?://[^\s<>|]+[^\s<>|.,;:!?)\]'\"]")
_BROADCAST = re.compile(r"(?<![\w@])@(here|channel|everyone)\b")
_TOKEN = re.compile(r"<([@#!]?)([^>|]+)(?:\|([^>]*))?>")


def escape(text: str) -> str:
    """Escape & < and > as Slack does."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(text: str) -> str:
    """Undo `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def typed(
    text: str,
    people: Iterable[WorkspaceUser],
    channels: Iterable[WorkspaceChannel],
    aliases: Mapping[str, str],
    groups: Iterable[UserGroup] = (),
) -> str:
    """The stored form of typed text: `@Ada` becomes `<@U…>`, `#general` `<#C…|>` without a label, a URL `<URL>`.

    `aliases` maps further names to user ids, such as `soul` to the app's. `@handle` of a group becomes
    `<!subteam^S…|@handle>`.
    """
    names = {escape(name).lower(): user for name, user in aliases.items()}
    for person in people:
        for name in (person.real_name, person.name, person.display_name):
            names[escape(name).lower()] = person.id
    rooms = {
        channel.name.lower(): channel
        for channel in channels
        if channel.name and channel.kind in (ChannelKind.PUBLIC, ChannelKind.PRIVATE)
    }
    handles = {group.handle.lower(): group for group in groups}
    words = _LINK.sub(lambda found: f"<{found[0]}>", escape(text))
    words = _BROADCAST.sub(lambda found: f"<!{found[1]}>", words)
    words = _named("@", handles).sub(
        lambda found: f"<!subteam^{handles[found[1].lower()].id}|@{handles[found[1].lower()].handle}>", words
    )
    words = _named("@", names).sub(lambda found: f"<@{names[found[1].lower()]}>", words)
    return _named("#", rooms).sub(lambda found: f"<#{rooms[found[1].lower()].id}|>", words)


def mentions(text: str, user: str) -> bool:
    """Whether stored text mentions a user id."""
    return re.search(rf"<@{re.escape(user)}(\|[^>]*)?>", text) is not None


def rich_text(text: str) -> Json:
    """The rich_text block that Slack makes of a user's message, given its stored text."""
    elements: list[Json] = []
    rest = 0
    for token in _TOKEN.finditer(text):
        if token.start() > rest:
            elements.append({"type": "text", "text": unescape(text[rest : token.start()])})
        elements.append(_element(token[1], token[2]))
        rest = token.end()
    if rest < len(text):
        elements.append({"type": "text", "text": unescape(text[rest:])})
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def _element(sign: str, target: str) -> Json:
    match sign:
        case "@":
            return {"type": "user", "user_id": target}
        case "#":
            return {"type": "channel", "channel_id": target}
        case "!":
            return {"type": "broadcast", "range": target}
        case _:
            return {"type": "link", "url": unescape(target)}


def _named(sign: str, names: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    choice = "|".join(longest_first) or "(?!)"
    return re.compile(rf"(?<![\w<]){sign}({choice})(?!\w)", re.IGNORECASE)
