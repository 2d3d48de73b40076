"""users.*, usergroups.* and reactions.*."""

import re
from types import MappingProxyType
from typing import Final

from daemon.local_slack.model import Json
from daemon.local_slack.slack_json import group_json, person_json
from daemon.local_slack.web_api.call import Call, SlackError, WebApiMethod
from daemon.local_slack.web_api.conversations import list_page
from daemon.local_slack.workspace import Tier

_EMOJI: Final = re.compile(r"[a-z0-9_+'\-]+(::skin-tone-[2-6])?")


def user_info(call: Call) -> Json:
    person = call.workspace.state.people.get(call.text("user"))
    if person is None:
        raise SlackError("user_not_found")
    return {"user": person_json(person, locale=call.flag("include_locale"))}


def list_users(call: Call) -> Json:
    people = [
        person_json(person, locale=call.flag("include_locale")) for person in call.workspace.state.people.values()
    ]
    return list_page(call, people, "members") | {"cache_ts": int(call.workspace.clock.now())}


def list_groups(call: Call) -> Json:
    state, users = call.workspace.state, call.flag("include_users")
    return {"usergroups": [group_json(state, group, users=users) for group in state.groups.values()]}


def add_reaction(call: Call) -> Json:
    return _react(call, add=True, refusal="already_reacted")


def remove_reaction(call: Call) -> Json:
    return _react(call, add=False, refusal="no_reaction")


def _react(call: Call, *, add: bool, refusal: str) -> Json:
    name = call.text("name").strip(":")
    if not _EMOJI.fullmatch(name):
        raise SlackError("invalid_name")
    channel = call.joined_channel()
    if not call.text("timestamp"):
        raise SlackError("no_item_specified")
    message = call.message(channel, "timestamp")
    if not call.workspace.react(message, name, call.workspace.state.app.user, add=add):
        raise SlackError(refusal)
    return {}


METHODS: Final = MappingProxyType(
    {
        "users.info": WebApiMethod(user_info, ("users:read",), Tier.FOUR),
        "users.list": WebApiMethod(list_users, ("users:read",), Tier.TWO),
        "usergroups.list": WebApiMethod(list_groups, ("usergroups:read",), Tier.TWO),
        "reactions.add": WebApiMethod(add_reaction, ("reactions:write",), Tier.THREE),
        "reactions.remove": WebApiMethod(remove_reaction, ("reactions:write",), Tier.TWO),
    }
)
