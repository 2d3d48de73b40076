"""auth.test and apps.connections.open: the app's identity, and a URL for its next socket."""

from types import MappingProxyType
from typing import Final

from daemon.local_slack.model import Json
from daemon.local_slack.web_api.call import Call, WebApiMethod
from daemon.local_slack.workspace import Tier


def auth_test(call: Call) -> Json:
    state = call.workspace.state
    return {
        "url": f"{call.workspace.url}/",
        "team": state.team.name,
        "user": state.bot().name,
        "team_id": state.team.id,
        "user_id": state.app.user,
        "bot_id": state.app.bot_id,
        "is_enterprise_install": False,
        **({"enterprise_id": state.team.enterprise} if state.team.enterprise else {}),
    }


def open_connection(call: Call) -> Json:
    return {"url": call.workspace.sockets.issue(call.workspace.url)}


METHODS: Final = MappingProxyType(
    {
        "auth.test": WebApiMethod(auth_test, (), Tier.FREE),
        "apps.connections.open": WebApiMethod(open_connection, (), Tier.ONE, app_token=True),
    }
)
