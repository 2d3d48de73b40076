"""The manifest of the Slack app that the daemon needs, and the scopes to compare with those of a token."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daemon.core.phrases import ASK_SHORTCUT, USAGE, WHY_SHORTCUT
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.soul_names import commands_of
from daemon.core.suggestions import house_suggestions

REQUIRED_SCOPES: Final[tuple[str, ...]] = (
    "app_mentions:read",  # receive mentions
    "channels:history",  # follow threads and catch up in public channels
    "channels:read",  # see who reads in a channel, whether it is shared, and in which channels a user is
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
"""Shows the agent view, sessions and the status line; these need a paid plan or a developer sandbox."""
CUSTOMIZE_SCOPE: Final = "chat:write.customize"
"""Lets further souls post under their own names and icons; without it all souls post under the app's."""
OPEN_DM_SCOPE: Final = "im:write"
"""Lets the soul open a DM with a user who never wrote to it; without it such a message can't be sent."""
FILES_SCOPE: Final = "files:read"
"""Lets the soul read the files that users send it; without it each is refused by name."""
SHARE_SCOPE: Final = "files:write"
"""Lets the soul send files: long code and tables, which are text without it, and the export, which is refused then."""
COMMANDS_SCOPE: Final = "commands"
"""Gives each soul its slash command and each message the shortcuts; without it people say the same words."""
GROUPS_SCOPE: Final = "usergroups:read"
"""Lets the soul know which user groups hold it; without it the mention of a group is for the others in it."""
REACTIONS_SCOPE: Final = "reactions:read"
"""Lets people judge a reply by a thumb at it; without it the buttons below are the only way."""
MARKS_SCOPE: Final = "reactions:write"
"""Lets the soul mark what it takes up and has answered, where SOUL_SLACK_ACKNOWLEDGE asks for it, and nod."""
BOT_EVENTS: Final[tuple[str, ...]] = (
    "agent_session_stopped",  # the stop button of a reply that grows
    "app_mention",
    "app_home_opened",  # show the home tab
    "app_uninstalled",
    "tokens_revoked",
    "message.channels",
    "message.groups",
    "message.im",
    "message.mpim",
    "member_joined_channel",  # who reads in a room, and since when; and that the soul was invited
    "member_left_channel",
    "channel_archive",  # what is set for a channel ends with it
    "channel_deleted",
    "channel_shared",
    "channel_unshared",
    "user_change",
    "channel_left",  # in which private channels a user and the soul are both
    "group_archive",
    "group_deleted",
    "group_left",
    "group_unarchive",
    "reaction_added",  # thumbs at the soul's posts
    "reaction_removed",
    "subteam_created",  # which user groups hold the soul
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
    """The app manifest (Slack: manifest schema 2); `name` is cut to 35 characters, `description` to 140.

    The prompts and the shortcut that Slack shows to everybody are said in `words`, since a manifest has one language.
    Each of the `souls`, by its folder, has slash commands of that name and of the one that people see. A plain one asks
    for no agent features, which Slack gives to paid plans and developer sandboxes alone. One with `marks` asks for the
    scope to set reactions.
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
    """The slash commands, and the shortcuts in the menu of a message."""
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
