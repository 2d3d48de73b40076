"""auth.test, apps.connections.open, users.*, usergroups.* and reactions.*."""

import re
from typing import Final

from daemon.local_slack.faults import Tier
from daemon.local_slack.model import Json
from daemon.local_slack.slack_json import group_json, person_json
from daemon.local_slack.web_api.call import Call, SlackError, method
from daemon.local_slack.web_api.conversations import list_page

_EMOJI: Final = re.compile(r"[a-z0-9_+'\-]+(::skin-tone-[2-6])?")


@method("auth.test", tier=Tier.FREE)
def auth_test(call: Call) -> Json:
    return {
        "url": f"{call.state.url}/",
        "team": call.state.team.name,
        "user": call.state.bot().name,
        "team_id": call.state.team.id,
        "user_id": call.state.app.user,
        "bot_id": call.state.app.bot_id,
        "is_enterprise_install": False,
        **({"enterprise_id": call.state.team.enterprise} if call.state.team.enterprise else {}),
    }


@method("apps.connections.open", tier=Tier.ONE, app_token=True)
def open_connection(call: Call) -> Json:
    return {"url": call.workspace.sockets.issue(call.state.url)}


@method("users.info", "users:read", tier=Tier.FOUR)
def user_info(call: Call) -> Json:
    person = call.state.people.get(call.text("user"))
    if person is None:
        raise SlackError("user_not_found")
    return {"user": person_json(person, locale=call.flag("include_locale"))}


@method("users.list", "users:read", tier=Tier.TWO)
def list_users(call: Call) -> Json:
    people = [person_json(person, locale=call.flag("include_locale")) for person in call.state.people.values()]
    return list_page(call, people, "members") | {"cache_ts": int(call.workspace.clock.now())}


@method("usergroups.list", "usergroups:read", tier=Tier.TWO)
def list_groups(call: Call) -> Json:
    users = call.flag("include_users")
    return {"usergroups": [group_json(call.state, group, users=users) for group in call.state.groups.values()]}


@method("reactions.add", "reactions:write")
def add_reaction(call: Call) -> Json:
    return _react(call, add=True, refusal="already_reacted")


@method("reactions.remove", "reactions:write", tier=Tier.TWO)
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
    if not call.workspace.react(message, name, call.state.app.user, add=add):
        raise SlackError(refusal)
    return {}
