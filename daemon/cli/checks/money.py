"""Checks the caps on spending: which there are, and whether one of them keeps a soul from answering."""

from typing import Final

from daemon.app.money import caps_of
from daemon.cli.checks.finding import Finding, ok, warn
from daemon.cli.checks.mind import souls_of
from daemon.core.config import Settings
from daemon.core.errors import SoulError
from daemon.core.spending import Caps, PaidBy
from daemon.runtime.till import VARIABLES

_WHOSE: Final = {PaidBy.SOUL: "itself", PaidBy.PERSON: "each person", PaidBy.ROOM: "each room"}


def money(settings: Settings) -> list[Finding]:
    """The caps of each soul; a cap of zero lets only models answer that cost nothing."""
    try:
        caps = {soul.display_name: caps_of(settings, soul) for soul in souls_of(settings)}
    except SoulError:
        return []  # the check of the souls says so
    return [finding for name, own in caps.items() for finding in (_all(name, own), *_zeros(name, own))]


def _all(name: str, caps: Caps) -> Finding:
    shown = ", ".join(f"${usd:g} for {_WHOSE[paid_by]}" for paid_by, usd in caps.known.items())
    return ok("money", f"{name} may spend {shown} a day" if shown else f"{name} may spend without a cap")


def _zeros(name: str, caps: Caps) -> list[Finding]:
    return [
        warn(
            "money",
            f"{name} may spend nothing for {_WHOSE[paid_by]}: only models that cost nothing answer",
            f"raise {VARIABLES[paid_by]} (or max_usd_a_day in soul.toml), or leave it empty",
        )
        for paid_by, usd in caps.known.items()
        if usd == 0
    ]
