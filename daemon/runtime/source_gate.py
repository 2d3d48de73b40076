"""Who is let in: people as the platform's gate says, programs as long as their source may report there."""

from daemon.core.errors import ChannelRefused
from daemon.core.event_sources import SOURCE_PARAM
from daemon.core.perception import Modality, Perception
from daemon.core.ports.channel import Channel
from daemon.core.ports.gate import GateDecision
from daemon.memory.queues.source_events import SourceEvents


class SourceGate:
    """Implements `Gate` around a channel."""

    def __init__(self, channel: Channel, events: SourceEvents) -> None:
        self._channel = channel
        self._events = events

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; a program counts as no member, and no longer than the soul is in its room."""
        if perception.modality is not Modality.EVENT:
            return await self._channel.admit(perception)
        source = await self._events.still(str(perception.params.get(SOURCE_PARAM, "")))
        if source is None or source.conversation != perception.conversation:
            return GateDecision(admitted=False, reason="its source has ended")
        try:
            await self._channel.find_room(source.room)
        except ChannelRefused as refused:
            return GateDecision(admitted=False, reason=refused.code)
        return GateDecision(admitted=True, name=source.name)
