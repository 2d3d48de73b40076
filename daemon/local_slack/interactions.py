"""The triggers and response URLs of interactions, and the fields that their payloads share."""

import secrets
from collections.abc import Iterable
from typing import Final

from daemon.core.value import Value
from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.model import Json, WorkspaceUser
from daemon.local_slack.state import WorkspaceState

_TRIGGER_LIFE: Final = 3.0
_RESPONSE_LIFE: Final = 1800.0
_RESPONSE_USES: Final = 5


class ResponseUrl(Value):
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


def interaction(state: WorkspaceState, kind: str, person: WorkspaceUser, trigger: str) -> Json:
    """Return the fields of every payload of an interaction (Slack: interaction payloads)."""
    enterprise = state.team.enterprise
    return {
        "type": kind,
        "token": "local",
        "api_app_id": state.app.app_id,
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team},
        "team": {"id": state.team.id, "domain": state.team.domain},
        "enterprise": {"id": enterprise, "name": "Local organisation"} if enterprise else None,
        "is_enterprise_install": False,
        "trigger_id": trigger,
    }


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
