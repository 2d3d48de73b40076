"""Whether an envelope has the form of Slack's, and is meant for our app in our workspace.

An app that is installed in several workspaces gets the envelopes of all.
"""

from collections.abc import Mapping
from typing import Final

from daemon.channels.slack.identity import SlackIdentity

_OBJECTS: Final = (
    *("event", "view", "message", "previous_message", "item", "container", "state"),
    *("assistant_thread", "function_data"),
)
_LISTS: Final = ("authorizations", "actions", "response_urls")
_WORDS: Final = ("type", "subtype", "channel_type")
_NAMED: Final = ("enterprise", "team", "user", "channel")
"""What is an id in one kind of payload and an object in another."""


def is_well_formed(body: object) -> bool:
    """Whether what Bolt and all readers look into has the types that Slack documents; Bolt fails at another."""
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
    """Whether a payload names no other app, and as its receiver no other workspace (Slack: authorizations)."""
    app, receivers = body.get("api_app_id"), body.get("authorizations")
    if identity.app and app and app != identity.app:
        return False
    if not isinstance(receivers, list) or not receivers:
        return True
    return any(_is_ours(identity, one) for one in receivers if isinstance(one, dict))


def _is_ours(identity: SlackIdentity, receiver: Mapping[str, object]) -> bool:
    organisation = bool(identity.enterprise) and receiver.get("enterprise_id") == identity.enterprise
    return receiver.get("team_id") == identity.team or (organisation and not receiver.get("team_id"))
