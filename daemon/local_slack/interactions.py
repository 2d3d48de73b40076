"""The payloads, trigger ids and response URLs of button clicks, shortcuts and slash commands."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.model import Json, WorkspaceChannel, WorkspaceMessage, WorkspaceUser
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.state import WorkspaceState

_TRIGGER_LIFE: Final = 3.0
_RESPONSE_LIFE: Final = 1800.0
_RESPONSE_USES: Final = 5


@dataclass(frozen=True, slots=True)
class ResponseUrl:
    """The user, channel and message (empty ts for a command) that a response_url may answer."""

    person: str
    channel: str
    ts: str
    until: float
    uses: int = _RESPONSE_USES


class Interactions:
    """The triggers (once, three seconds) and response URLs (five times, thirty minutes)."""

    def __init__(self, clock: WorkspaceClock) -> None:
        self._clock = clock
        self._triggers: dict[str, tuple[str, float]] = {}
        self.responses: dict[str, ResponseUrl] = {}

    def new_trigger(self, person: str) -> str:
        """Return a trigger id for an action of the user."""
        trigger = f"{secrets.randbelow(10**12)}.{secrets.token_hex(8)}"
        self._triggers[trigger] = (person, self._clock.now() + _TRIGGER_LIFE)
        return trigger

    def spend_trigger(self, trigger: str) -> str | None:
        """Return the user of a trigger, '' for an expired one, or None for an unknown or used one."""
        person, until = self._triggers.pop(trigger, (None, 0.0))
        return person if person is None or self._clock.now() < until else ""

    def new_hash(self) -> str:
        """Return the hash of a new version of a view (Slack: views.update)."""
        return f"{self._clock.now():.0f}.{secrets.token_hex(4)}"

    def new_response_url(self, url: str, person: str, channel: str, ts: str = "") -> str:
        """Return a URL below the workspace's `url` at which the app may answer the user."""
        key = secrets.token_urlsafe(12)
        self.responses[key] = ResponseUrl(person, channel, ts, self._clock.now() + _RESPONSE_LIFE)
        return f"{url}/response/{key}"


@dataclass(frozen=True, slots=True)
class Press:
    """A click in a message or its menu: the action in Slack's form, with the trigger and URL to answer it."""

    person: WorkspaceUser
    channel: WorkspaceChannel
    message: WorkspaceMessage
    action: Json
    trigger: str
    response_url: str


def find_element(blocks: Iterable[Json], action_id: str) -> tuple[Json, Json] | None:
    """Return the block and the element with an action id, or None."""
    for block in blocks:
        for element in [*block.get("elements", []), block.get("accessory")]:
            if isinstance(element, dict) and element.get("action_id") == action_id:
                return block, element
    return None


def choice(element: Json, value: str) -> Json | None:
    """Return the value and text that a clicked element reports, or None if it doesn't offer this value."""
    if element.get("type") != "feedback_buttons":
        own = str(element.get("value", ""))
        return {"value": own, "text": element.get("text")} if value in ("", own) else None
    for name in ("positive_button", "negative_button"):
        button = element.get(name) or {}
        if button.get("value") == value:
            return {"value": value, "text": button.get("text")}
    return None


def block_actions(state: WorkspaceState, press: Press, url: str) -> Json:
    """Return the `block_actions` payload of a click (Slack: interaction payloads)."""
    message = press.message
    container: Json = {"type": "message", "message_ts": message.ts, "channel_id": message.channel}
    container["is_ephemeral"] = state.message(message.channel, message.ts) is None
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    return {
        "type": "block_actions",
        "user": _user(press.person),
        "api_app_id": state.app.app_id,
        "token": "local",
        "container": container,
        "trigger_id": press.trigger,
        "team": {"id": state.team.id, "domain": state.team.domain},
        "enterprise": _organisation(state),
        "is_enterprise_install": False,
        "channel": {"id": press.channel.id, "name": press.channel.name or "directmessage"},
        "message": message_json(state, message, url),
        "state": {"values": {}},
        "response_url": press.response_url,
        "actions": [press.action],
    }


def home_actions(state: WorkspaceState, person: WorkspaceUser, view: Json, action: Json, trigger: str) -> Json:
    """Return the `block_actions` payload of a click on the home tab, without channel and message (Slack: App Home)."""
    return {
        "type": "block_actions",
        "user": _user(person),
        "api_app_id": state.app.app_id,
        "token": "local",
        "container": {"type": "view", "view_id": view["id"]},
        "trigger_id": trigger,
        "team": {"id": state.team.id, "domain": state.team.domain},
        "enterprise": None,
        "is_enterprise_install": False,
        "view": view,
        "actions": [action],
    }


def message_action(state: WorkspaceState, press: Press, callback_id: str, url: str) -> Json:
    """Return the `message_action` payload of a message shortcut. Its action is just its time (Slack: shortcuts)."""
    return {
        "type": "message_action",
        "token": "local",
        "action_ts": press.action["action_ts"],
        "team": {"id": state.team.id, "domain": state.team.domain},
        "user": _user(press.person),
        "channel": {"id": press.channel.id, "name": press.channel.name or "directmessage"},
        "is_enterprise_install": False,
        "enterprise": _organisation(state),
        "callback_id": callback_id,
        "trigger_id": press.trigger,
        "response_url": press.response_url,
        "message_ts": press.message.ts,
        "message": message_json(state, press.message, url),
    }


def slash_command(
    state: WorkspaceState, person: WorkspaceUser, channel: WorkspaceChannel, command: str, text: str
) -> Json:
    """Return the payload of a slash command, without trigger id and response URL."""
    return {
        "token": "local",
        "team_id": state.team.id,
        "team_domain": state.team.domain,
        "channel_id": channel.id,
        "channel_name": channel.name or "directmessage",
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": state.app.app_id,
        "is_enterprise_install": "false",
    }


def _user(person: WorkspaceUser) -> Json:
    return {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team}


def _organisation(state: WorkspaceState) -> Json | None:
    enterprise = state.team.enterprise
    return {"id": enterprise, "name": "Local organisation"} if enterprise else None
