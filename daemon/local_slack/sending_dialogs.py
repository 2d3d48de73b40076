"""Submitted modals, and the effects of the app's acknowledgement (Slack: modals, response_action)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from daemon.local_slack.modals import Filled, Modal, fault_of, filled_in, view_submission, with_ids
from daemon.local_slack.model import Json, WorkspaceUser
from daemon.local_slack.workspace import Workspace

_TROUBLE = "We had some trouble connecting. Try again?"
"""The text that Slack shows in a modal after an unusable acknowledgement."""


def send_dialog(workspace: Workspace, person: WorkspaceUser, modal: Modal, values: Mapping[str, Filled]) -> bool:
    """Submit a modal with its values. Return False if no socket is open. Raises NotFilledIn."""
    state = filled_in(modal.view, values)
    trigger = workspace.interactions.new_trigger(person.id)
    payload = view_submission(workspace.state, person, modal.view, state, trigger)
    return workspace.deliveries.once(
        "interactive", payload, lambda answer: _answered(workspace, modal.view["id"], answer or {})
    )


def end_dialogs(workspace: Workspace, person: str, *views: str) -> None:
    """Close modals of a user."""
    for view in views:
        workspace.modals.pop(view, None)
        workspace.feed.publish("modal_answered", {"view_id": view}, person=person)


def replace_dialog(workspace: Workspace, view_id: str, view: Json) -> Json:
    """Replace the view of an open modal, and return the new view."""
    modal = workspace.modals[view_id]
    kept = {name: modal.view[name] for name in ("id", "team_id", "app_id")}
    shown = with_ids(view) | kept | {"hash": workspace.interactions.new_hash()}
    workspace.modals[view_id] = replace(modal, view=shown)
    workspace.feed.publish("modal_answered", {"view_id": view_id, "view": shown}, person=modal.person)
    return shown


def _answered(workspace: Workspace, view_id: str, answer: Json) -> None:
    """Apply the app's answer: errors stay in the modal, another view replaces it, anything else closes it."""
    modal = workspace.modals.get(view_id)
    if modal is None:
        return
    action = answer.get("response_action")
    if action == "update" and isinstance(view := answer.get("view"), dict) and _is_dialog(view):
        replace_dialog(workspace, view_id, view)
    elif action == "errors" and _fits(modal.view, errors := answer.get("errors")):
        workspace.feed.publish("modal_answered", {"view_id": view_id, "errors": errors}, person=modal.person)
    elif action == "clear":
        end_dialogs(
            workspace, modal.person, *(key for key, one in workspace.modals.items() if one.person == modal.person)
        )
    elif action is None:
        end_dialogs(workspace, modal.person, view_id)
    else:
        workspace.feed.publish("modal_answered", {"view_id": view_id, "trouble": _TROUBLE}, person=modal.person)


def _is_dialog(view: Any) -> bool:  # noqa: ANN401  # the app may answer anything
    blocks = view.get("blocks") if isinstance(view, dict) and view.get("type") == "modal" else None
    return isinstance(blocks, list) and all(isinstance(block, dict) for block in blocks) and not fault_of(view)


def _fits(view: Json, errors: object) -> bool:
    inputs = {str(block["block_id"]) for block in view["blocks"] if block.get("type") == "input"}
    return (
        isinstance(errors, dict)
        and bool(errors)
        and all(name in inputs and isinstance(text, str) and text for name, text in errors.items())
    )
