"""The soul's own ids in Slack, which the event reader and the gate compare against."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlackIdentity:
    """Our own ids in one workspace (Slack: auth.test); `app` is empty if the app token doesn't contain it.

    `scopes` are those of the bot token, empty if Slack didn't list them; `url` is the workspace's address. `enterprise`
    is the id of the Enterprise Grid organisation that the workspace belongs to, empty for none.
    """

    team: str
    user: str
    bot: str
    app: str = ""
    scopes: frozenset[str] = frozenset()
    url: str = ""
    enterprise: str = ""
