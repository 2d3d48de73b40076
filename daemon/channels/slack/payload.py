"""A payload of Slack's: typed looks at its fields, its form, and its receivers."""

import re
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.value import Value

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_OBJECTS: Final = (
    *("event", "view", "message", "previous_message", "item", "container", "state"),
    *("assistant_thread", "function_data"),
)
_LISTS: Final = ("authorizations", "actions", "response_urls")
_WORDS: Final = ("type", "subtype", "channel_type")
_NAMED: Final = ("enterprise", "team", "user", "channel")
"""Fields that are an id in some payloads and an object in others."""


class Payload(Value):
    """A payload, or an object inside one. A field that is missing or of another type is empty.

    An id or ts of another form is empty too, since it may become part of a key.
    """

    data: Mapping[str, Any]

    @classmethod
    def of(cls, value: object) -> "Payload":
        if isinstance(value, Payload):
            return value
        return cls(value if isinstance(value, dict) else {})

    def __bool__(self) -> bool:
        return bool(self.data)

    def part(self, name: str) -> "Payload":
        return Payload.of(self.data.get(name))

    def listed(self, name: str) -> list[object]:
        value = self.data.get(name)
        return value if isinstance(value, list) else []

    def parts(self, name: str) -> list["Payload"]:
        return [Payload.of(one) for one in self.listed(name)]

    def text(self, *names: str) -> str:
        """Return the first of these fields that is a text and not empty."""
        return next((value for name in names if isinstance(value := self.data.get(name), str) and value), "")

    def number(self, name: str) -> int:
        """Return a positive whole number, or 0."""
        value = self.data.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    def id(self, name: str) -> str:
        return valid_id(self.text(name))

    def ts(self, *names: str) -> str:
        return valid_ts(self.text(*names))

    @property
    def event(self) -> "Payload":
        return self.part("event")

    @property
    def user(self) -> str:
        """The id of the user who acts: of an interaction, a slash command or an event."""
        return valid_id(self.part("user").text("id") or self.text("user_id") or self.event.text("user"))

    @property
    def team(self) -> str:
        """The workspace of the user who acts, or an empty text."""
        of_user = self.part("user").text("team_id") or self.part("team").text("id")
        return of_user or self.event.text("user_team", "team") or self.text("team_id")

    @property
    def channel(self) -> str:
        """The channel of an interaction or a slash command."""
        named = self.part("channel").text("id") or self.part("container").text("channel_id")
        return valid_id(named or self.text("channel_id"))

    @property
    def message_ts(self) -> str:
        """The message of an interaction."""
        named = self.text("message_ts") or self.part("container").text("message_ts")
        return valid_ts(named or self.part("message").text("ts"))

    @property
    def is_at_home(self) -> bool:
        """True for the press of a button on the home tab."""
        return self.part("view").text("type") == "home"


def valid_id(text: str) -> str:
    return text if _ID.fullmatch(text) else ""


def valid_ts(text: str) -> str:
    return text if _TS.fullmatch(text) else ""


def is_well_formed(body: object) -> bool:
    """Return True if the fields that Bolt and the readers use have the documented types. Bolt fails at other types."""
    if not isinstance(body, dict):
        return False
    lists = [body[name] for name in _LISTS if body.get(name) is not None]
    if not all(isinstance(one, list) and all(map(is_well_formed, one)) for one in lists):
        return False
    if not all(isinstance(body[name], str) for name in _WORDS if body.get(name) is not None):
        return False
    if not all(isinstance(body[name], dict | str) for name in _NAMED if body.get(name) is not None):
        return False
    return all(is_well_formed(body[name]) for name in _OBJECTS if body.get(name, {}) != {})


def meant_for(identity: SlackIdentity, body: Mapping[str, object]) -> bool:
    """Return True if a payload's app, if any, is ours and our workspace is among its receivers, if any.

    Source: Slack, authorizations.
    """
    app, receivers = body.get("api_app_id"), body.get("authorizations")
    if identity.app and app and app != identity.app:
        return False
    if not isinstance(receivers, list) or not receivers:
        return True
    return any(_is_ours(identity, one) for one in receivers if isinstance(one, dict))


def _is_ours(identity: SlackIdentity, receiver: Mapping[str, object]) -> bool:
    organisation = bool(identity.enterprise) and receiver.get("enterprise_id") == identity.enterprise
    return receiver.get("team_id") == identity.team or (organisation and not receiver.get("team_id"))
