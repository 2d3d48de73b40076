"""Who sends a payload: Ada, whom the soul knows, or somebody from whom nothing may be taken."""

import copy
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from daemon.local_slack.model import Json


class Sender(StrEnum):
    """The kinds of senders; all but OWN are others."""

    OWN = "own"
    GUEST = "guest"
    STRANGER = "stranger"
    REMOVED = "removed"
    BOT = "bot"
    FORGED = "forged"
    WORKSPACE = "workspace"
    APP = "app"


IDS: Final[Mapping[Sender, str]] = MappingProxyType(
    {
        Sender.OWN: "U0ADA",
        Sender.GUEST: "U0GUS",
        Sender.STRANGER: "U0STRANGER",
        Sender.REMOVED: "U0REMOVED",
        Sender.BOT: "U0ROBOT",
        Sender.FORGED: "U0NOBODY",
        Sender.WORKSPACE: "U0BEN",  # a member, but the payload is of another workspace
        Sender.APP: "U0CHLOE",  # a member, but the payload is for another app
    }
)
ELSEWHERE: Final = "T0ELSEWHERE"
ONLY_OWN: Final = frozenset({"message_changed", "message_deleted", "user_change", "subteam_created", "channel_rename"})
"""What Slack says of itself, or of a message by its author: nobody sends it in another's name."""


def sent_by(payload: Json, sender: Sender, mark: str) -> Json:
    """A payload as this sender's; `mark` stands in all words that people can type."""
    made = copy.deepcopy(payload)
    person, team = IDS[sender], ELSEWHERE if sender in (Sender.WORKSPACE, Sender.STRANGER) else "T0LOCAL"
    event = made.get("event")
    if isinstance(event, dict):
        event["user"] = person
        event.pop("client_msg_id", None)
        if sender is Sender.BOT:
            event |= {"bot_id": "B0ROBOT", "subtype": "bot_message"} if "text" in event else {}
        if "text" in event:
            event["text"] = f"{event['text']} {mark}"
            event["user_team"] = event["team"] = team
        if sender is Sender.WORKSPACE:
            made |= {"team_id": team, "authorizations": [{"team_id": team, "user_id": "U0SOUL", "is_bot": True}]}
    elif "command" in made:
        made |= {"user_id": person, "team_id": team, "text": f"forget me {mark}"}
    else:
        made["user"] = {**_mapping(made.get("user")), "id": person, "team_id": team}
        if sender is Sender.WORKSPACE:
            made["team"] = {"id": team, "domain": "elsewhere"}
        _mark_inputs(made, mark)
    if sender is Sender.APP:
        made["api_app_id"] = "A0OTHER"
    return made


def _mark_inputs(payload: Json, mark: str) -> None:
    values = _mapping(_mapping(_mapping(payload.get("view")).get("state")).get("values"))
    for one in values.values():
        for given in _mapping(one).values():
            if isinstance(given, dict) and isinstance(given.get("value"), str):
                given["value"] += f" {mark}"


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}
