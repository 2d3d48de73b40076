"""The manifest of the Slack app, its scopes, and the check of the tokens."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, ConfigError, NotDelivered
from daemon.core.phrases import ASK_SHORTCUT, USAGE, WHY_SHORTCUT
from daemon.core.ports.services import Clock, Emit
from daemon.core.sentences import HOUSE_WORDS, Words, house_suggestions
from daemon.core.soul_names import commands_of

REQUIRED_SCOPES: Final[tuple[str, ...]] = (
    "app_mentions:read",  # receive mentions
    "channels:history",  # follow threads and catch up in public channels
    "channels:read",  # list members, shared channels, and a user's channels
    "chat:write",  # answer
    "groups:history",  # the same four in private channels,
    "groups:read",
    "im:history",  # in DMs
    "im:read",
    "mpim:history",  # and in group DMs
    "mpim:read",
    "users:read",  # tell members from guests and strangers
)
AGENT_SCOPE: Final = "assistant:write"
"""The scope for the agent view, sessions and the status line. They need a paid plan or a developer sandbox."""
CUSTOMIZE_SCOPE: Final = "chat:write.customize"
"""The scope for souls with their own names and icons. Without it all souls post under the app's."""
OPEN_DM_SCOPE: Final = "im:write"
"""The scope to open a DM with a user who never wrote to the soul."""
FILES_SCOPE: Final = "files:read"
"""The scope to read files that users send. Without it each file is refused by name."""
SHARE_SCOPE: Final = "files:write"
"""The scope to send files. Without it long code and tables are sent as text, and the export is refused."""
COMMANDS_SCOPE: Final = "commands"
"""The scope for slash commands and message shortcuts. Without it users type the same words."""
GROUPS_SCOPE: Final = "usergroups:read"
"""The scope to read which user groups hold the soul. Without it a group's mention is not for the soul."""
REACTIONS_SCOPE: Final = "reactions:read"
"""The scope to read thumbs at a reply. Without it only the buttons below give feedback."""
MARKS_SCOPE: Final = "reactions:write"
"""The scope to set reactions: acknowledgements if SOUL_SLACK_ACKNOWLEDGE asks for them, and nods."""
BOT_EVENTS: Final[tuple[str, ...]] = (
    "agent_session_stopped",  # the stop button of a growing reply
    "app_mention",
    "app_home_opened",  # show the home tab
    "app_uninstalled",
    "tokens_revoked",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "member_joined_channel",  # the members of a channel and their joining dates; the soul's invitation
    "member_left_channel",
    "channel_archive",  # settings of a channel end with it
    "channel_deleted",
    "channel_shared",
    "channel_unshared",
    "user_change",
    "channel_left",  # private channels that a user and the soul share
    "group_archive",
    "group_deleted",
    "group_left",
    "group_unarchive",
    "reaction_added",  # thumbs at the soul's posts
    "reaction_removed",
    "subteam_created",  # user groups that hold the soul
    "subteam_members_changed",
    "subteam_updated",
)

_SOUL: Final = MappingProxyType({"soul": "Soul"})
_SHORTCUT, _SHORTCUT_SHOWS, _COMMAND_SHOWS = 24, 150, 2_000  # characters (Slack: app manifest)


def manifest(
    name: str = "Soul",
    description: str = "A teammate with a soul.",
    *,
    plain: bool = False,
    marks: bool = False,
    words: Words = HOUSE_WORDS,
    souls: Mapping[str, str] = _SOUL,
) -> dict[str, object]:
    """Return the app manifest (Slack: manifest schema 2). `name` is cut to 35 characters, `description` to 140.

    The prompts and shortcuts use `words`, since a manifest has one language. `souls` maps each soul's folder to its
    shown name; both become slash commands. A `plain` manifest asks for no agent features, which need a paid plan or a
    developer sandbox. `marks` adds the scope to set reactions.
    """
    agent = {
        "agent_view": {
            "agent_description": description[:300],
            "suggested_prompts": [{"title": one.title, "message": one.message} for one in house_suggestions(words)],
        }
    }
    scopes = [
        *REQUIRED_SCOPES,
        *(() if plain else (AGENT_SCOPE,)),
        CUSTOMIZE_SCOPE,
        OPEN_DM_SCOPE,
        FILES_SCOPE,
        SHARE_SCOPE,
        COMMANDS_SCOPE,
        GROUPS_SCOPE,
        REACTIONS_SCOPE,
        *((MARKS_SCOPE,) if marks else ()),
    ]
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {"name": name[:35], "description": description[:140]},
        "features": {
            **({} if plain else agent),
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name[:80], "always_online": True},
            **_typed_and_chosen(words, souls),
        },
        "oauth_config": {"scopes": {"bot": scopes}},
        "settings": {
            "event_subscriptions": {"bot_events": list(BOT_EVENTS)},
            "interactivity": {"is_enabled": True},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
        },
    }


def _typed_and_chosen(words: Words, souls: Mapping[str, str]) -> dict[str, object]:
    """Return the slash commands, and the shortcuts in the menu of a message."""
    commands = [
        {
            "command": command,
            "description": words.say("command_shows")[:_COMMAND_SHOWS],
            "usage_hint": USAGE,
            "should_escape": False,
        }
        for command in commands_of(souls)
    ]
    shortcuts = [
        {
            "name": words.say(f"{key}_shortcut")[:_SHORTCUT],
            "type": "message",
            "callback_id": callback_id,
            "description": words.say(f"{key}_shortcut_shows")[:_SHORTCUT_SHOWS],
        }
        for key, callback_id in (("because", WHY_SHORTCUT), ("ask_about", ASK_SHORTCUT))
    ]
    return {"slash_commands": commands, "shortcuts": shortcuts}


_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_BOT_HINT: Final = "SLACK_BOT_TOKEN is under OAuth & Permissions of the app's settings and begins with xoxb-"
_APP_HINT: Final = (
    "SLACK_APP_TOKEN is under Basic Information, App-Level Tokens (scope connections:write), and begins with xapp-"
)


def check_tokens(settings: Settings) -> tuple[str, str]:
    """Return the bot token and the app token. Raises ConfigError if one is missing, wrong in kind or swapped."""
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
    """Return our ids, once Slack accepts both tokens. Retries with growing pauses while Slack can't be reached.

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
    pieces = app_token.split("-")
    return pieces[2] if len(pieces) > 3 and pieces[2].startswith("A") else ""  # noqa: PLR2004  # xapp, version, id, rest
