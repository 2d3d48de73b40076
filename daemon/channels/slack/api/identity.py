"""Who the soul is in Slack: what the preflight learned, and what reading and the gate compare against."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Identity:
    """Our own ids in one workspace (Slack: auth.test); `app` is empty when the app token doesn't tell it.

    `scopes` are those the bot token really holds, empty when Slack didn't say; `url` is the workspace's address.
    """

    team: str
    user: str
    bot: str
    app: str = ""
    scopes: frozenset[str] = frozenset()
    url: str = ""
