"""Checks what consolidation could not do."""

from collections.abc import Sequence

from daemon.cli.checks.finding import Finding, warn
from daemon.memory.admin.nights import KeptRun


def nights(failed: Sequence[KeptRun], parked: int) -> list[Finding]:
    """The newest nights that failed, and memories that are left alone."""
    found = [
        warn("nights", f"{one.id} failed for {one.audience}: {one.error}", "see the log; the next night tries again")
        for one in failed
    ]
    if parked:
        fix = "see `soul memory runs` and `soul memory verify`"
        found.append(warn("nights", f"{parked} memories are left alone, since a part failed at them three times", fix))
    return found
