"""views.*: the app's home tab and its modals, with Slack's checks of their inputs and of submitted values."""

import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from daemon.local_slack.faults import Tier
from daemon.local_slack.interactions import interaction
from daemon.local_slack.model import Json, Modal, WorkspaceUser
from daemon.local_slack.web_api.call import VIEW_BLOCKS, Call, SlackError, check_blocks, method
from daemon.local_slack.workspace import Workspace

Filled = str | Sequence[str]
"""A filled-in value: a text, the value of a choice, or the values of several."""

_LONGEST: Final = 3_000  # characters of a text, unless the element sets fewer
_LABEL: Final = 2_000
_TITLE: Final = 24
_METADATA: Final = 3_000
_PLACEHOLDER: Final = 150
_IDENTIFIER: Final = 255
_OPTION, _VALUE = 75, 150
_OPTIONS: Final = MappingProxyType(
    {"static_select": 100, "multi_static_select": 100, "radio_buttons": 10, "checkboxes": 10}
)
"""The most options of each kind of choice."""
_SEVERAL: Final = frozenset({"multi_static_select", "checkboxes"})
_PICKED: Final = MappingProxyType(
    {
        "conversations_select": "selected_conversation",
        "channels_select": "selected_channel",
        "users_select": "selected_user",
        "timepicker": "selected_time",
        "datepicker": "selected_date",
    }
)
"""The field with the picked value, by the type of an input with Slack's own values."""
_TROUBLE: Final = "We had some trouble connecting. Try again?"
"""The text that Slack shows in a modal after an unusable acknowledgement."""


class NotFilledIn(Exception):
    """An error: Slack's client would not submit the modal, because an input is missing, unknown or too long."""


def input_fault(block: Json, pointer: str) -> str:
    """Return the fault of an input block of a modal, or ''."""
    if block.get("type") != "input":
        return ""
    element = block.get("element")
    if not isinstance(element, dict):
        return f"missing required field: element [json-pointer:{pointer}]"
    if not 0 < len(_words(block.get("label"))) <= _LABEL:
        return f"1 to {_LABEL} characters needed [json-pointer:{pointer}/label]"
    longest = ((block.get("hint"), _LABEL), (element.get("placeholder"), _PLACEHOLDER))
    if any(len(_words(text)) > most for text, most in longest) or len(str(element.get("action_id"))) > _IDENTIFIER:
        return f"must be shorter [json-pointer:{pointer}]"
    return _element_fault(element, f"{pointer}/element")


def _element_fault(element: Json, pointer: str) -> str:
    kind = str(element.get("type"))
    if kind == "plain_text_input":
        return _text_fault(element, pointer)
    if kind in _OPTIONS:
        return _choice_fault(element, pointer)
    return "" if kind in _PICKED else f"unsupported type: {kind} [json-pointer:{pointer}]"


def _text_fault(element: Json, pointer: str) -> str:
    least, most = element.get("min_length", 0), element.get("max_length", _LONGEST)
    if not (isinstance(least, int) and isinstance(most, int) and 0 <= least <= most and 1 <= most <= _LONGEST):
        return f"must be between 1 and {_LONGEST} [json-pointer:{pointer}/max_length]"
    if len(str(element.get("initial_value") or "")) > most:
        return f"must be no longer than max_length [json-pointer:{pointer}/initial_value]"
    return ""


def _choice_fault(element: Json, pointer: str) -> str:
    options, most = element.get("options"), _OPTIONS[str(element["type"])]
    if not isinstance(options, list) or not 0 < len(options) <= most:
        return f"1 to {most} items needed [json-pointer:{pointer}/options]"
    for option in options:
        if not 0 < len(_words(option.get("text"))) <= _OPTION or not 0 < len(str(option.get("value", ""))) <= _VALUE:
            return f"a text of {_OPTION} and a value of {_VALUE} characters at most [json-pointer:{pointer}/options]"
    chosen = element.get("initial_options") or [element[one] for one in ("initial_option",) if element.get(one)]
    if any(one not in options for one in chosen):
        return f"must be one of the provided options [json-pointer:{pointer}/initial_option]"
    return ""


def filled_in(view: Json, values: Mapping[str, Filled]) -> Json:
    """Return a modal's `state.values`, with initial values for other inputs. Raises NotFilledIn."""
    state: dict[str, Json] = {}
    left = dict(values)
    for block in view["blocks"]:
        if block.get("type") != "input":
            continue
        element = block["element"]
        action = str(element.get("action_id") or "")
        given = left.pop(action, _begun(element))
        if not given and not block.get("optional"):
            raise NotFilledIn(f"{action!r} has to be filled in")
        state[str(block["block_id"])] = {action: _value(element, given)}
    if left:
        raise NotFilledIn(f"the dialog has no input {', '.join(sorted(left))}")
    return state


def _begun(element: Json) -> Filled:
    kind = str(element["type"])
    if kind in _SEVERAL:
        return [str(one["value"]) for one in element.get("initial_options") or ()]
    if kind in _OPTIONS:
        return str((element.get("initial_option") or {}).get("value") or "")
    named = _PICKED.get(kind, "initial_value").replace("selected_", "initial_")
    return str(element.get(named) or "")


def _value(element: Json, given: Filled) -> Json:
    kind = str(element["type"])
    if kind in _OPTIONS:
        wanted = [given] if isinstance(given, str) else list(given)
        options = {str(one["value"]): one for one in element["options"]}
        if any(one not in options for one in wanted if one):
            raise NotFilledIn(f"{given!r} is not offered")
        chosen = [options[one] for one in wanted if one]
        if kind in _SEVERAL:
            return {"type": kind, "selected_options": chosen}
        return {"type": kind, "selected_option": chosen[0] if chosen else None}
    if not isinstance(given, str):
        raise NotFilledIn("one value is needed")
    if kind in _PICKED:
        return {"type": kind, _PICKED[kind]: given or None}
    least, most = int(element.get("min_length") or 0), int(element.get("max_length") or _LONGEST)
    if given and not least <= len(given) <= most:
        raise NotFilledIn(f"{least} to {most} characters are needed")
    return {"type": kind, "value": given or None}


def _words(text: object) -> str:
    return str(text.get("text") or "") if isinstance(text, dict) else ""


@method("views.publish", tier=Tier.FOUR)
def publish_view(call: Call) -> Json:
    """Set the home tab of one user."""
    person = call.needed("user_id")
    if person not in call.state.people:
        raise SlackError("user_not_found")
    view = _view(call, "home")
    call.state.homes[person] = view
    call.workspace.feed.publish("home", {"view": view}, person=person)
    return {"view": view}


@method("views.open", tier=Tier.FOUR)
def open_view(call: Call) -> Json:
    """Open a modal for the user of a trigger, within three seconds of it."""
    person = call.workspace.interactions.spend_trigger(call.needed("trigger_id"))
    if person is None:
        raise SlackError("invalid_trigger_id")
    if not person:
        raise SlackError("expired_trigger_id")
    view = with_ids(_dialog(call)) | {"hash": call.workspace.interactions.new_hash()}
    call.workspace.modals[view["id"]] = Modal(person, view)
    call.workspace.feed.publish("modal", {"view": view}, person=person)
    return {"view": view}


@method("views.update", tier=Tier.FOUR)
def update_view(call: Call) -> Json:
    """Replace the view of an open modal by its id. With `hash`, only if that is its version."""
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
    return view | {"id": call.state.new_id("V"), "team_id": call.state.team.id, "app_id": call.state.app.app_id}


def send_dialog(workspace: Workspace, person: WorkspaceUser, modal: Modal, values: Mapping[str, Filled]) -> bool:
    """Submit a modal with its values. Return False if no socket is open. Raises NotFilledIn."""
    state = filled_in(modal.view, values)
    trigger = workspace.interactions.new_trigger(person.id)
    view = modal.view | {
        "state": {"values": state},
        "private_metadata": str(modal.view.get("private_metadata") or ""),
        "callback_id": str(modal.view.get("callback_id") or ""),
        "previous_view_id": None,
        "root_view_id": modal.view["id"],
        "app_installed_team_id": workspace.state.team.id,
        "bot_id": workspace.state.app.bot_id,
    }
    payload = interaction(workspace.state, "view_submission", person, trigger) | {"view": view, "response_urls": []}
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


def fault_of(view: Json) -> str:
    """Return the fault of a modal view, or '' (Slack: modal view)."""
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
    """Return a view with an id for each block, as Slack adds missing ones."""
    named = [block | {"block_id": block.get("block_id") or secrets.token_urlsafe(4)} for block in view["blocks"]]
    return view | {"blocks": named}
