"""Checks whether there is a local workspace by whose clock a daemon is to live."""

import asyncio
from typing import Final

from daemon.app.rehearsal_clock import clock_of
from daemon.cli.checks.finding import Finding, fail, ok, warn
from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.timetable import moment

_NAME: Final = "rehearsal"


def rehearsal(settings: Settings) -> list[Finding]:
    """What a daemon would say to SOUL_REHEARSAL_CLOCK; nothing where it isn't set. Only this machine is asked."""
    if not settings.rehearsal_clock:
        return []
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        found = (
            "SOUL_REHEARSAL_CLOCK has no effect: without Slack tokens a daemon lives by the clock of its own workspace"
        )
        return [warn(_NAME, found, "unset SOUL_REHEARSAL_CLOCK, or give the tokens of the local workspace")]
    try:
        now_ms = asyncio.run(_time(settings))
    except ConfigError as error:
        return [fail(_NAME, error.message, error.hint)]
    return [ok(_NAME, f"a daemon lives by the clock of the local workspace, {moment(now_ms)} UTC")]


async def _time(settings: Settings) -> int:
    async with clock_of(settings) as clock:
        return clock.now_ms()
