"""Dialogs that the app has opened: what Slack takes as one, and the `view_submission` that carries it to the app."""

import secrets
from dataclasses import dataclass
from typing import Final

from daemon.local_slack.dialog_inputs import input_fault
from daemon.local_slack.model import Json, WorkspaceUser
from daemon.local_slack.state import WorkspaceState

_TITLE: Final = 24
_METADATA: Final = 3_000
_IDENTIFIER: Final = 255


@dataclass(frozen=True, slots=True)
class Modal:
    """A dialog that is open, and who sees it."""

    person: str
    view: Json


def fault_of(view: Json) -> str:
    """What is wrong with a modal view; empty for nothing (Slack: modal view)."""
    blocks = [block for block in view["blocks"] if isinstance(block, dict)]
    inputs = any(block.get("type") == "input" for block in blocks)
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
    ids = [str(block["block_id"]) for block in blocks if block.get("block_id")]
    if len(set(ids)) < len(ids):
        return "block_id already exists in this view [json-pointer:/view/blocks]"
    faults = (input_fault(block, f"/view/blocks/{place}") for place, block in enumerate(blocks))
    return next(filter(None, faults), "")


def with_ids(view: Json) -> Json:
    """A view whose blocks all have an id, as Slack gives one to each that came without."""
    named = [block | {"block_id": block.get("block_id") or secrets.token_urlsafe(4)} for block in view["blocks"]]
    return view | {"blocks": named}


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
