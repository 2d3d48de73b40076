"""Checks the channels of other packages that the souls name."""

from daemon.channels.extended import channel_named
from daemon.cli.checks.finding import Finding, fail, ok
from daemon.cli.checks.mind import souls_of
from daemon.core.config import Settings
from daemon.core.errors import SoulError
from daemon.core.extensions import ExtensionFault, ExtensionGroup, origin_of
from daemon.soul import Soul


def channels(settings: Settings) -> list[Finding]:
    """Whether each channel can be used, and which package it is; nothing is opened."""
    try:
        souls = souls_of(settings)
    except SoulError:
        return []  # the check of the souls says so
    return [_channel(soul, name) for soul in souls for name in soul.extensions.channels]


def _channel(soul: Soul, name: str) -> Finding:
    try:
        channel_named(name)
        origin = origin_of(ExtensionGroup.CHANNEL, name)
    except ExtensionFault as fault:
        return fail("channels", f"the channel {name!r} of {soul.name} can't be used: {fault.message}", fault.hint)
    return ok("channels", f"strangers reach {soul.display_name} on the channel {name} ({origin})")
