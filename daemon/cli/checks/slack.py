"""Checks of Slack: the tokens, whether Slack accepts them, their scopes and identity."""

import asyncio
from collections.abc import Sequence
from typing import Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.installation import (
    AGENT_SCOPE,
    COMMANDS_SCOPE,
    CUSTOMIZE_SCOPE,
    FILES_SCOPE,
    GROUPS_SCOPE,
    MARKS_SCOPE,
    OPEN_DM_SCOPE,
    REACTIONS_SCOPE,
    REQUIRED_SCOPES,
    SHARE_SCOPE,
    check_tokens,
    fetch_identity,
)
from daemon.channels.slack.refusals import SlackIdentity
from daemon.cli.checks import Finding, Premises, check, fail, named, ok, skip, warn
from daemon.cli.options import souls_that_nod
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ConfigError
from daemon.core.ports.services import SystemClock

_TIMEOUT: Final = 20.0

_OPTIONAL_SCOPES = {
    AGENT_SCOPE: "Slack shows no status line (agent features need a paid plan or a developer sandbox)",
    CUSTOMIZE_SCOPE: "further souls post under the app's own name",
    OPEN_DM_SCOPE: "the soul can't start a DM with a user who never wrote to it",
    FILES_SCOPE: "the soul can't read the files that users send it",
    SHARE_SCOPE: "the soul can't send a user the file that `export my memory` asks for",
    GROUPS_SCOPE: "a mention of a user group that holds the soul is none of the soul",
    REACTIONS_SCOPE: "a thumb at a reply of the soul is not heard as feedback",
    COMMANDS_SCOPE: "Slack shows no slash command, and no shortcut such as `Why did you say that?` at messages",
}
_NO_MARKS = "no message is marked as taken up or answered"


@check("slack")
def slack(at: Premises) -> list[Finding]:
    """Check both tokens, that Slack accepts them, and their scopes."""
    settings = at.settings
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        found = skip("none is set: `soul run` starts a local workspace on this machine")
        return [named("slack tokens", found)]
    try:
        check_tokens(settings)
    except ConfigError as error:
        return [named("slack tokens", fail(error.message, error.hint))]
    tokens = named("slack tokens", ok("a bot token and an app-level token are set"))
    if at.offline:
        return [tokens, skip("not asked, because of --offline")]
    identity = asyncio.run(_ask(settings))
    if isinstance(identity, Finding):
        return [tokens, identity]
    address = f" at {identity.url}" if identity.url else ""
    found = ok(f"bot {identity.user} in workspace {identity.team}{address}; Socket Mode may be opened")
    granted = scopes(identity, marks=settings.slack_acknowledge, nodding=souls_that_nod(settings))
    return [tokens, found, named("slack scopes", granted)]


async def _ask(settings: Settings) -> SlackIdentity | Finding:
    clock, reasons = _NoRetry(), list[str]()

    def collect(event: str, /, **fields: object) -> None:
        if event == "slack.unreachable":
            reasons.append(str(fields.get("reason", "")))

    client = SlackClient(settings, SystemClock(), collect)
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await fetch_identity(client, settings, clock, collect)
    except (ConfigError, ChannelError) as error:
        return fail(error.message, error.hint)
    except (_WouldWait, TimeoutError):
        why = reasons[-1] if reasons else f"no answer within {_TIMEOUT:.0f} s"
        return fail(why, f"check the network and that {settings.slack_api_url} can be reached")
    finally:
        await client.close()


def scopes(identity: SlackIdentity, *, marks: bool = False, nodding: Sequence[str] = ()) -> Finding:
    """Compare the bot token's scopes with those that the daemon needs, for `marks` and `nodding` souls too."""
    for_reactions = [_NO_MARKS] if marks else []
    for_reactions += [f"{name} can't nod, and answers in words alone" for name in nodding]
    extras = {**_OPTIONAL_SCOPES, **({MARKS_SCOPE: " and ".join(for_reactions)} if for_reactions else {})}
    if not identity.scopes:
        return warn("Slack did not report the token's scopes", "run `soul doctor` again later")
    missing = [scope for scope in REQUIRED_SCOPES if scope not in identity.scopes]
    if missing:
        return fail(f"missing: {', '.join(missing)}", _adding(identity, missing))
    missing_extras = {scope: what for scope, what in extras.items() if scope not in identity.scopes}
    if missing_extras:
        effects = "; ".join(f"without {scope} {what}" for scope, what in missing_extras.items())
        return warn(effects, _adding(identity, list(missing_extras)))
    return ok(f"all {len(REQUIRED_SCOPES) + len(extras)} are granted")


def _adding(identity: SlackIdentity, scopes: list[str]) -> str:
    page = f"https://api.slack.com/apps/{identity.app}".rstrip("/")
    return (
        f"open {page}, OAuth & Permissions, Bot Token Scopes; add {', '.join(scopes)}; "
        "Reinstall to Workspace; put the new bot token into SLACK_BOT_TOKEN if it changed; restart the daemon"
    )


class _WouldWait(Exception):
    """Raised when a retry would have to wait."""


class _NoRetry(SystemClock):
    """A clock that refuses every wait: Slack is asked once."""

    async def sleep(self, seconds: float) -> None:
        raise _WouldWait
