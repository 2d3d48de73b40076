"""Makes the event reader of one workspace, of the settings and of what Slack says that we are."""

from collections.abc import Callable, Collection

from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.identity import SlackIdentity
from daemon.channels.slack.known_places import KnownPlaces
from daemon.core.config import Settings
from daemon.core.ports.clock import Clock


def own_reader(  # noqa: PLR0917  # what a reader is made of
    settings: Settings,
    identity: SlackIdentity,
    clock: Clock,
    own_groups: Collection[str],
    soul_for_channel: Callable[[str], str] | None,
    shown_name: Callable[[str], str],
) -> EventReader:
    """The reader; `own_groups` are the user groups that hold the soul, as they change."""
    return EventReader(
        settings.name,
        identity,
        bots=frozenset(settings.allow_bots),
        members=frozenset(settings.members),
        places=KnownPlaces(clock),
        own_groups=own_groups,
        approvers=settings.approvers,
        colleagues=bool(identity.enterprise) and settings.allow_organisation,
        soul_for_channel=soul_for_channel,
        other_souls=settings.souls,
        shown_name=shown_name,
    )
