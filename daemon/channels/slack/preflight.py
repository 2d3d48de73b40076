"""Checks both tokens before the channel listens, so that a wrong one is reported instead of retried for ever."""

from typing import Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.identity import SlackIdentity
from daemon.channels.slack.manifest import REQUIRED_SCOPES
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, ConfigError, NotDelivered
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_BOT_HINT: Final = "SLACK_BOT_TOKEN is under OAuth & Permissions of the app's settings and begins with xoxb-"
_APP_HINT: Final = (
    "SLACK_APP_TOKEN is under Basic Information, App-Level Tokens (scope connections:write), and begins with xapp-"
)


def check_tokens(settings: Settings) -> tuple[str, str]:
    """The bot token and the app token. Raises ConfigError if one is missing, wrong in kind or swapped."""
    bot = settings.slack_bot_token.get_secret_value().strip() if settings.slack_bot_token else ""
    app = settings.slack_app_token.get_secret_value().strip() if settings.slack_app_token else ""
    if not bot:
        raise ConfigError("SLACK_BOT_TOKEN is not set", hint=_BOT_HINT)
    if not app:
        raise ConfigError("SLACK_APP_TOKEN is not set", hint=_APP_HINT)
    if bot.startswith("xapp-") and app.startswith("xox"):
        raise ConfigError(
            "the two Slack tokens are swapped",
            hint="put the xoxb- token into SLACK_BOT_TOKEN, the xapp- one into SLACK_APP_TOKEN",
        )
    if not bot.startswith("xoxb-"):
        raise ConfigError("SLACK_BOT_TOKEN is not a bot token", hint=_BOT_HINT)
    if not app.startswith("xapp-"):
        raise ConfigError("SLACK_APP_TOKEN is not an app-level token", hint=_APP_HINT)
    return bot, app


async def fetch_identity(client: SlackClient, settings: Settings, clock: Clock, emit: Emit) -> SlackIdentity:
    """Our ids, once Slack accepts both tokens; retries with growing pauses while Slack can't be reached.

    Raises ConfigError if a token is missing, wrong or revoked, or if the app token lacks its scope.
    """
    _, app_token = check_tokens(settings)
    pause = _FIRST_PAUSE
    while True:
        try:
            identity = await _ask_identity(client, app_token)
            await _check_app_token(client, app_token)
        except NotDelivered as error:
            wait = max(pause, error.retry_after)
            emit("slack.unreachable", reason=error.message, retry_in_s=wait)
            await clock.sleep(wait)
            pause = min(pause * 2, _LONGEST_PAUSE)
        else:
            emit("slack.identified", team=identity.team, user=identity.user, url=identity.url)
            missing = [scope for scope in REQUIRED_SCOPES if identity.scopes and scope not in identity.scopes]
            if missing:
                emit("slack.scopes_missing", scopes=" ".join(missing), hint="`soul doctor` says how to add them")
            return identity


async def _ask_identity(client: SlackClient, app_token: str) -> SlackIdentity:
    try:
        answer, headers = await client.answer("auth.test")
    except ChannelRefused as error:
        raise ConfigError(f"Slack refuses SLACK_BOT_TOKEN: {error.code}", hint=_BOT_HINT) from error
    team, user, bot = (str(answer.get(name) or "") for name in ("team_id", "user_id", "bot_id"))
    if not (team and user and bot):
        raise ConfigError("SLACK_BOT_TOKEN does not belong to a bot user", hint=_BOT_HINT)
    scopes = frozenset(scope.strip() for scope in headers.get("x-oauth-scopes", "").split(",") if scope.strip())
    url, enterprise = (str(answer.get(name) or "") for name in ("url", "enterprise_id"))
    return SlackIdentity(team, user, bot, _app_id(app_token), scopes, url, enterprise)


async def _check_app_token(client: SlackClient, app_token: str) -> None:
    try:
        answer = await client.call("apps.connections.open", token=app_token)
    except ChannelRefused as error:
        if error.code == "missing_scope":
            raise ConfigError("SLACK_APP_TOKEN lacks the scope connections:write", hint=_APP_HINT) from error
        raise ConfigError(f"Slack refuses SLACK_APP_TOKEN: {error.code}", hint=_APP_HINT) from error
    client.keep_socket_url(str(answer.get("url") or ""))


def _app_id(app_token: str) -> str:
    """The app's id from `xapp-1-A…-…-…`."""
    pieces = app_token.split("-")
    return pieces[2] if len(pieces) > 3 and pieces[2].startswith("A") else ""  # noqa: PLR2004  # xapp, version, id, rest
