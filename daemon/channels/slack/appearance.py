"""The names and icons under which several souls post in one workspace (Slack: chat:write.customize)."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from daemon.channels.slack.identity import SlackIdentity
from daemon.channels.slack.manifest import CUSTOMIZE_SCOPE
from daemon.channels.slack.task_cards import card_text
from daemon.core.errors import ChannelRefused
from daemon.core.ports.telemetry import Emit

T = TypeVar("T")

_NAME: Final = 80  # characters
_EMOJI: Final = re.compile(r"(?::[\w+'-]{1,100}:){1,2}")  # the second is a skin tone
_PICTURE: Final = re.compile(r"https://[^\s<>|]{1,500}")


@dataclass(frozen=True, slots=True)
class Appearance:
    """A soul's name and icon in Slack; the icon is an `:emoji:`, the https URL of a picture, or empty."""

    name: str
    icon: str = ""


class Appearances:
    """Gives each soul Slack's arguments for its name and icon; none if the token lacks the scope."""

    def __init__(self, appearance_of: Callable[[str], Appearance | None] | None, emit: Emit) -> None:
        self._appearance_of = appearance_of
        self._emit = emit
        self._allowed = appearance_of is not None

    def check_scope(self, identity: SlackIdentity) -> None:
        """Use the app's own name and icon from now on if the token lacks the scope; that is logged once."""
        if identity.scopes and CUSTOMIZE_SCOPE not in identity.scopes:
            self._disable("the scope is missing")

    def arguments_for(self, soul: str) -> Mapping[str, str]:
        """Slack's arguments for a soul's name and icon; empty for the app's own."""
        appearance = self._appearance_of(soul) if self._allowed and self._appearance_of is not None else None
        name = card_text(appearance.name, _NAME) if appearance else ""
        if appearance is None or not name:
            return {}
        return {"username": name, **_icon(appearance.icon)}

    async def post_as(self, soul: str, post: Callable[[Mapping[str, str]], Awaitable[T]]) -> T:
        """Call `post` with a soul's arguments, and again without them if Slack refuses those. Raises what it raises."""
        arguments = self.arguments_for(soul)
        try:
            return await post(arguments)
        except ChannelRefused as error:
            if not arguments or error.code != "missing_scope":
                raise
            self._disable(error.message)
        return await post({})

    def _disable(self, reason: str) -> None:
        if self._allowed:
            self._allowed = False
            hint = f"add the scope {CUSTOMIZE_SCOPE} in the app's settings and reinstall the app"
            self._emit("slack.faces_missing", reason=reason, hint=hint)


def _icon(icon: str) -> Mapping[str, str]:
    if _EMOJI.fullmatch(icon):
        return {"icon_emoji": icon}
    return {"icon_url": icon} if _PICTURE.fullmatch(icon) else {}
