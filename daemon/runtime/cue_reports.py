"""What a reply reports of that for which a person waited: who wrote it, where, and a link; never what was said.

The daemon writes that line, not the model. Who may hear it is asked once more, since it may have changed meanwhile.
"""

from dataclasses import replace
from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.perception import AudienceKind, Modality
from daemon.core.sentences import Words
from daemon.memory.queues.cue_matching import HeardMessage
from daemon.memory.records import Dismissal
from daemon.runtime.cue_watch import is_heard
from daemon.runtime.cycle_state import Cycle

_GONE: Final = "what it reports is gone, or not to be heard here any more"


async def find_what_came_up(cycle: Cycle) -> None:
    """Find what the event of a cycle reports; what may no longer be said is dismissed, and its cue waits on.

    Raises NotDelivered, StoreError.
    """
    if not cycle.messages or cycle.newest.modality is not Modality.TIME:
        return
    services, newest = cycle.services, cycle.newest
    report = await services.cues.report_of(newest)
    if report is None:
        return
    holds = report.holds
    if report.heard is not None:
        if not holds:
            await services.cues.look_again(report.heard)
        channel = services.channels.of(report.heard.message.conversation)
        holds = holds and await is_heard(channel, cycle.readers, cycle.claim.conversation, report.heard)
        decision = await channel.admit(report.heard.message)
        holds = holds and decision.admitted
        named = replace(report.heard, message=replace(report.heard.message, name=decision.name))
        cycle.came_up = named if holds else None
    if not holds:
        cycle.messages = ()
        cycle.dismissed = {**cycle.dismissed, newest.id: Dismissal(_GONE)}


async def line_of(cycle: Cycle, words: Words) -> str:
    """The line below the reply; empty where nothing came up. The reply may link to where it leads."""
    heard = cycle.came_up
    if heard is None:
        return ""
    there = heard.message.conversation
    link = await cycle.services.channels.of(there).permalink(there, heard.message.ts)
    cycle.hosts.learn(link)
    name = clean_name(heard.message.name)
    where = words.say(_where(cycle, heard))
    key = "came_up" if link else "came_up_unlinked"
    return words.say(key, name=name, where=where, **({"link": link} if link else {}))


def _where(cycle: Cycle, heard: HeardMessage) -> str:
    said_in, here = heard.message.conversation, cycle.claim.conversation
    if said_in.channel == here.channel:
        return "came_up_here"
    kind = heard.room.kind
    places = {AudienceKind.WORKSPACE: "came_up_public", AudienceKind.CHANNEL: "came_up_private"}
    return places.get(kind, "came_up_elsewhere")
