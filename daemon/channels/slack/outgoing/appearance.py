"""The names and icons under which several souls speak in one workspace (Slack: chat:write.customize)."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from daemon.channels.slack.api.identity import Identity
from daemon.channels.slack.api.manifest import FACES_SCOPE
from daemon.channels.slack.outgoing.task_cards import card_text
from daemon.core.errors import ChannelRefused
from daemon.core.ports import Emit

T = TypeVar("T")

_NAME: Final = 80  # characters
_EMOJI: Final = re.compile(r"(?::[\w+'-]{1,100}:){1,2}")  # the second is a tone of skin
_PICTURE: Final = re.compile(r"https://[^\s<>|]{1,500}")


@dataclass(frozen=True, slots=True)
class Face:
    """How a soul is seen: its name, and an icon as `:emoji:` or as the https address of a picture, empty for none."""

    name: str
    icon: str = ""


class Faces:
    """Gives each soul Slack's arguments for its face; none where the token may not wear one."""

    def __init__(self, face_of: Callable[[str], Face | None] | None, emit: Emit) -> None:
        self._face_of = face_of
        self._emit = emit
        self._allowed = face_of is not None

    def meet(self, identity: Identity) -> None:
        """Learn what the token may do; a missing scope is told once, and posts are plain from then on."""
        if identity.scopes and FACES_SCOPE not in identity.scopes:
            self._lost("the scope is missing")

    def of(self, soul: str) -> Mapping[str, str]:
        """Slack's arguments for a soul's face; empty for the app's own."""
        face = self._face_of(soul) if self._allowed and self._face_of is not None else None
        name = card_text(face.name, _NAME) if face else ""
        if face is None or not name:
            return {}
        return {"username": name, **_icon(face.icon)}

    async def under(self, soul: str, act: Callable[[Mapping[str, str]], Awaitable[T]]) -> T:
        """Do something under a soul's face, and without it when Slack won't have it. Raises what `act` raises."""
        face = self.of(soul)
        try:
            return await act(face)
        except ChannelRefused as error:
            if not face or error.code != "missing_scope":
                raise
            self._lost(error.message)
        return await act({})

    def _lost(self, reason: str) -> None:
        if self._allowed:
            self._allowed = False
            hint = f"add the scope {FACES_SCOPE} in the app's settings and reinstall the app"
            self._emit("slack.faces_missing", reason=reason, hint=hint)


def _icon(icon: str) -> Mapping[str, str]:
    if _EMOJI.fullmatch(icon):
        return {"icon_emoji": icon}
    return {"icon_url": icon} if _PICTURE.fullmatch(icon) else {}
