"""views.*: the app's home tab and its modals."""

from types import MappingProxyType
from typing import Final

from daemon.local_slack.modals import Modal, fault_of, with_ids
from daemon.local_slack.model import Json
from daemon.local_slack.sending_dialogs import replace_dialog
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.web_api.sizes import VIEW_BLOCKS, check_blocks
from daemon.local_slack.workspace import Tier


def publish_view(call: Call) -> Json:
    """Answer views.publish: the home tab of one user."""
    state = call.workspace.state
    person = call.needed("user_id")
    if person not in state.people:
        raise SlackError("user_not_found")
    view = _view(call, "home")
    state.homes[person] = view
    call.workspace.feed.publish("home", {"view": view}, person=person)
    return {"view": view}


def open_view(call: Call) -> Json:
    """Answer views.open: a modal for the user of a trigger, within three seconds of it."""
    person = call.workspace.interactions.spend_trigger(call.needed("trigger_id"))
    if person is None:
        raise SlackError("invalid_trigger_id")
    if not person:
        raise SlackError("expired_trigger_id")
    view = with_ids(_dialog(call)) | {"hash": call.workspace.interactions.new_hash()}
    call.workspace.modals[view["id"]] = Modal(person, view)
    call.workspace.feed.publish("modal", {"view": view}, person=person)
    return {"view": view}


def update_view(call: Call) -> Json:
    """Answer views.update: replace the view of an open modal by its id. With `hash`, only if that is its version."""
    modal = call.workspace.modals.get(call.needed("view_id"))
    if modal is None:
        raise SlackError("not_found")
    if call.text("hash") not in {"", modal.view["hash"]}:
        raise SlackError("hash_conflict")
    return {"view": replace_dialog(call.workspace, modal.view["id"], _dialog(call))}


def _dialog(call: Call) -> Json:
    view = _view(call, "modal")
    if fault := fault_of(view):
        raise SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] {fault}"]})
    return view


def _view(call: Call, kind: str) -> Json:
    view = call.value("view", "invalid_arguments")
    if not isinstance(view, dict) or view.get("type") != kind or not isinstance(view.get("blocks"), list):
        raise SlackError("invalid_arguments", response_metadata={"messages": [f"[ERROR] a {kind} view is needed"]})
    check_blocks(tuple(view["blocks"]), VIEW_BLOCKS)
    state = call.workspace.state
    return view | {"id": state.new_id("V"), "team_id": state.team.id, "app_id": state.app.app_id}


METHODS: Final = MappingProxyType(
    {
        "views.publish": WebApiMethod(publish_view, (), Tier.FOUR),
        "views.open": WebApiMethod(open_view, (), Tier.FOUR),
        "views.update": WebApiMethod(update_view, (), Tier.FOUR),
    }
)
