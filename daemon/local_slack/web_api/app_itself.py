"""auth.test and apps.connections.open: who the app is, and how it gets a socket."""

from types import MappingProxyType
from typing import Final

from daemon.local_slack.limits import Tier
from daemon.local_slack.model import Json
from daemon.local_slack.web_api.call import Call, Endpoint


def auth_test(call: Call) -> Json:
    """auth.test."""
    state = call.workspace.state
    return {
        "url": f"{call.workspace.url}/",
        "team": state.team.name,
        "user": state.bot().name,
        "team_id": state.team.id,
        "user_id": state.app.user,
        "bot_id": state.app.bot_id,
        "is_enterprise_install": False,
    }


def open_connection(call: Call) -> Json:
    """apps.connections.open: an address that is good for one handshake."""
    return {"url": call.workspace.links.issue(call.workspace.url)}


ENDPOINTS: Final = MappingProxyType(
    {
        "auth.test": Endpoint(auth_test, (), Tier.FREE),
        "apps.connections.open": Endpoint(open_connection, (), Tier.ONE, app_token=True),
    }
)
