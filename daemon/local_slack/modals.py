"""Modals that the app has opened: Slack's checks of their views, and the `view_submission` payload."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from daemon.local_slack.model import Json, WorkspaceUser
from daemon.local_slack.state import WorkspaceState

Filled = str | Sequence[str]
"""A filled-in value: a text, the value of a choice, or the values of several."""

_LONGEST: Final = 3_000  # characters of a text, unless the element sets fewer
_LABEL: Final = 2_000
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


_TITLE: Final = 24
_METADATA: Final = 3_000


@dataclass(frozen=True, slots=True)
class Modal:
    """An open modal and its user."""

    person: str
    view: Json


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


def view_submission(state: WorkspaceState, person: WorkspaceUser, view: Json, values: Json, trigger: str) -> Json:
    """Return the payload of a submitted modal (Slack: view_submission)."""
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
