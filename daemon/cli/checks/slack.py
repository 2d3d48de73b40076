"""Slack: the tokens, whether Slack takes them, what they may do, and who we are there."""

import asyncio
from typing import Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.identity import SlackIdentity
from daemon.channels.slack.api.manifest import CUSTOMIZE_SCOPE, OPEN_DM_SCOPE, REQUIRED_SCOPES
from daemon.channels.slack.api.preflight import check_tokens, fetch_identity
from daemon.cli.checks.finding import Finding, fail, ok, skip, warn
from daemon.core.clock import SystemClock
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ConfigError

_PATIENCE: Final = 20.0

_OPTIONAL_SCOPES = {
    CUSTOMIZE_SCOPE: "further souls speak under the app's own name",
    OPEN_DM_SCOPE: "nobody can be written to who never wrote to the soul",
}


def slack(settings: Settings, *, offline: bool) -> list[Finding]:
    """Both tokens and everything that hangs on them; `offline` asks nobody."""
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        return [skip("slack tokens", "none is set: `soul run` starts a workspace of its own on this machine")]
    try:
        check_tokens(settings)
    except ConfigError as error:
        return [fail("slack tokens", error.message, error.hint)]
    tokens = ok("slack tokens", "a bot token and an app-level token are set")
    if offline:
        return [tokens, skip("slack", "not asked, because of --offline")]
    return [tokens, *asyncio.run(_ask(settings))]


async def _ask(settings: Settings) -> list[Finding]:
    clock, reasons = _Impatient(), list[str]()

    def hear(event: str, /, **fields: object) -> None:
        if event == "slack.unreachable":
            reasons.append(str(fields.get("reason", "")))

    client = SlackClient(settings, SystemClock(), hear)
    try:
        async with asyncio.timeout(_PATIENCE):
            identity = await fetch_identity(client, settings, clock, hear)
    except (ConfigError, ChannelError) as error:
        return [fail("slack", error.message, error.hint)]
    except (_WouldWait, TimeoutError):
        why = reasons[-1] if reasons else f"no answer within {_PATIENCE:.0f} s"
        return [fail("slack", why, f"check the network and that {settings.slack_api_url} can be reached")]
    finally:
        await client.close()
    address = f" at {identity.url}" if identity.url else ""
    found = f"bot {identity.user} in workspace {identity.team}{address}; Socket Mode may be opened"
    return [ok("slack", found), scopes(identity)]


def scopes(identity: SlackIdentity) -> Finding:
    """What the bot token may do, compared with what the daemon needs."""
    if not identity.scopes:
        return warn("slack scopes", "Slack did not say which scopes the token has", "run `soul doctor` again later")
    missing = [scope for scope in REQUIRED_SCOPES if scope not in identity.scopes]
    if missing:
        return fail("slack scopes", f"missing: {', '.join(missing)}", _adding(identity, missing))
    wanting = {scope: what for scope, what in _OPTIONAL_SCOPES.items() if scope not in identity.scopes}
    if wanting:
        told = "; ".join(f"without {scope} {what}" for scope, what in wanting.items())
        return warn("slack scopes", told, _adding(identity, list(wanting)))
    return ok("slack scopes", f"all {len(REQUIRED_SCOPES) + len(_OPTIONAL_SCOPES)} are there")


def _adding(identity: SlackIdentity, scopes: list[str]) -> str:
    page = f"https://api.slack.com/apps/{identity.app}".rstrip("/")
    return (
        f"open {page}, OAuth & Permissions, Bot Token Scopes; add {', '.join(scopes)}; "
        "Reinstall to Workspace; put the new bot token into SLACK_BOT_TOKEN if it changed; restart the daemon"
    )


class _WouldWait(Exception):
    """Slack can't be asked just now."""


class _Impatient(SystemClock):
    """A clock for somebody who asks once and does not wait."""

    async def sleep(self, seconds: float) -> None:
        """Raises _WouldWait."""
        raise _WouldWait
