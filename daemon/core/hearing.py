"""Who may hear what is known: of one thing by where it was said, and of what is made of several by all of them.

Everything that is kept has an `Origin`. What is derived (a fact, a summary, an episode, a note of the journal) gets the
origin that `common` gives for its sources, so that those who may hear it may hear each of them (P39). The queries of
the store decide the same in SQL; `may_hear` is the rule in one place.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers


@dataclass(frozen=True, slots=True)
class Origin:
    """Who may ever hear something; before readers who aren't all members it is said in `channel` alone, '': nowhere."""

    audience: Audience
    channel: str


def may_hear(readers: Readers, where: ConversationKey, origin: Origin) -> bool:
    """Whether the readers of a reply may hear it."""
    if readers.members_only or readers.apart:
        return origin.audience in readers.may_know(where.workspace)
    everybody = Audience(AudienceKind.WORKSPACE, where.workspace)
    return origin.channel == where.channel and origin.audience in (readers.audience, everybody)


def may_quote(origin: Origin, where: ConversationKey, readers: Readers, *, asker_is_in: bool) -> bool:
    """Whether words of a room may stand in an answer, quoted from the platform's history because somebody asks for it.

    The room itself may read them, and full members what the whole workspace may. What is for a private room is quoted
    elsewhere only in the DM of a full member who is in that room now (`asker_is_in`), as it is recalled there alone;
    what was said in a DM is quoted nowhere else.
    """
    if origin.channel == where.channel:
        return not readers.apart
    if not readers.members_only:
        return False
    everybody = Audience(AudienceKind.WORKSPACE, where.workspace)
    if origin.audience == everybody:
        return True
    alone = readers.audience.kind is AudienceKind.DM and not readers.apart
    return alone and asker_is_in and origin.audience == Audience(AudienceKind.CHANNEL, origin.channel)


def common(sources: Iterable[Origin]) -> Origin | None:
    """The origin of what is made of sources of one workspace: exactly those may hear it who may hear each one.

    None: it must not be made. That is so without a source, of two workspaces, of words for admins and others, and of
    two private rooms, DMs among them, though the same people may be in both: they can leave one.
    """
    known = set(sources)
    audiences = {one.audience for one in known}
    private = {one for one in audiences if one.kind is not AudienceKind.WORKSPACE}
    narrowest = private or audiences
    if len(narrowest) != 1 or len(audiences - private) > 1 or _is_for_admins_among_others(audiences):
        return None
    channels = {one.channel for one in known}
    return Origin(narrowest.pop(), channels.pop() if len(channels) == 1 else "")


def _is_for_admins_among_others(audiences: set[Audience]) -> bool:
    return len(audiences) > 1 and any(one.kind is AudienceKind.OPERATOR for one in audiences)
