"""Who is let in: people as the platform's gate says, programs as long as their source may report there."""

from daemon.core.channels import Channels
from daemon.core.errors import ChannelRefused
from daemon.core.event_sources import SOURCE_PARAM
from daemon.core.perception import Modality, Perception
from daemon.core.ports.gate import GateDecision
from daemon.memory.queues.source_events import SourceEvents


async def admit(channels: Channels, events: SourceEvents, perception: Perception) -> GateDecision:
    """Ask a person's channel; a program counts as no member, and no longer than the soul is in its room.

    Raises NotDelivered when the platform is unreachable.
    """
    if perception.modality is not Modality.EVENT:
        return await channels.of(perception.conversation).admit(perception)
    source = await events.still(str(perception.params.get(SOURCE_PARAM, "")))
    if source is None or source.conversation != perception.conversation:
        return GateDecision(admitted=False, reason="its source has ended")
    try:
        await channels.main.find_room(source.room)
    except ChannelRefused as refused:
        return GateDecision(admitted=False, reason=refused.code)
    return GateDecision(admitted=True, name=source.name)
