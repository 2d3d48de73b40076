"""Dialogs that the app has opened: what people may fill in, and the `view_submission` that carries it to the app."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.local_slack.model import Json, WorkspaceUser
from daemon.local_slack.state import WorkspaceState

_LONGEST_INPUT: Final = 3_000  # characters of a text, where the element names no fewer
_TITLE: Final = 24
_METADATA: Final = 3_000
_IDENTIFIER: Final = 255
_CHOICES: Final = frozenset({"static_select", "radio_buttons"})


@dataclass(frozen=True, slots=True)
class Modal:
    """A dialog that is open, and who sees it."""

    person: str
    view: Json


class NotFilledIn(Exception):
    """Slack's client would not send the dialog: an input is missing, unknown or too long."""


def fault_of(view: Json) -> str:
    """What is wrong with a modal view; empty for nothing (Slack: modal view)."""
    inputs = any(block.get("type") == "input" for block in view["blocks"] if isinstance(block, dict))
    for name in ("title", "submit", "close"):
        text = view.get(name)
        if text is None and name != "title" and not (name == "submit" and inputs):
            continue
        words = text.get("text") if isinstance(text, dict) and text.get("type") == "plain_text" else None
        if not isinstance(words, str) or not 0 < len(words) <= _TITLE:
            return f"must be a plain_text of 1 to {_TITLE} characters [json-pointer:/view/{name}]"
    for name, most in (("private_metadata", _METADATA), ("callback_id", _IDENTIFIER)):
        if len(str(view.get(name) or "")) > most:
            return f"must be no more than {most} characters [json-pointer:/view/{name}]"
    return ""


def filled_in(view: Json, values: Mapping[str, str]) -> Json:
    """`state.values` of a dialog by the `action_id` of each input. Raises NotFilledIn."""
    state: dict[str, Json] = {}
    left = dict(values)
    for place, block in enumerate(view["blocks"]):
        if block.get("type") != "input":
            continue
        element = block.get("element") or {}
        action = str(element.get("action_id") or "")
        given = left.pop(action, "")
        if not given and not block.get("optional"):
            raise NotFilledIn(f"{action!r} has to be filled in")
        state[str(block.get("block_id") or f"block-{place}")] = {action: _value(element, given)}
    if left:
        raise NotFilledIn(f"the dialog has no input {', '.join(sorted(left))}")
    return state


def _value(element: Json, given: str) -> Json:
    kind = str(element.get("type"))
    if kind in _CHOICES:
        options = [one for one in element.get("options") or () if one.get("value") == given]
        if given and not options:
            raise NotFilledIn(f"{given!r} is not offered")
        return {"type": kind, "selected_option": options[0] if options else None}
    most = int(element.get("max_length") or _LONGEST_INPUT)
    least = int(element.get("min_length") or 0)
    if given and not least <= len(given) <= most:
        raise NotFilledIn(f"{least} to {most} characters are needed")
    return {"type": kind, "value": given or None}


def view_submission(state: WorkspaceState, person: WorkspaceUser, view: Json, values: Json, trigger: str) -> Json:
    """The payload of a dialog that was sent (Slack: view_submission)."""
    return {
        "type": "view_submission",
        "team": {"id": state.team.id, "domain": state.team.domain},
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team},
        "api_app_id": state.app.app_id,
        "token": "local",
        "trigger_id": trigger,
        "view": {
            **view,
            "hash": f"1.{secrets.token_hex(4)}",
            "state": {"values": values},
            "private_metadata": str(view.get("private_metadata") or ""),
            "callback_id": str(view.get("callback_id") or ""),
            "previous_view_id": None,
            "root_view_id": view["id"],
            "app_installed_team_id": state.team.id,
            "bot_id": state.app.bot_id,
        },
        "response_urls": [],
        "is_enterprise_install": False,
        "enterprise": None,
    }
