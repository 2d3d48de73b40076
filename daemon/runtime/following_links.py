"""The messages that the newest words link to, read for this one reply: they are kept nowhere."""

from dataclasses import replace

from daemon.core.perception import Modality
from daemon.core.ports.channel import LinkedMessages, ThreadMessage
from daemon.core.sentences import Sentence
from daemon.core.working_memory import WorkingMemory
from daemon.mind.recall.linked import with_linked
from daemon.runtime.cycle_state import Cycle


async def follow_links(cycle: Cycle, memory: WorkingMemory) -> WorkingMemory:
    """Working memory with what is linked to, as far as its author and the cycle's readers may know it.

    `cycle.linked` keeps it until the reply is committed. Raises StoreError.
    """
    said = [one for one in cycle.perceptions if one.modality is Modality.WORDS]
    found = [one for each in said for one in await cycle.channel.linked(each, cycle.readers)]
    once = {one.address: one for one in reversed(found)}
    cycle.linked = tuple([await _without_forgotten(cycle, one) for one in reversed(once.values())])
    await cycle.show_done("done_follow", sum(not one.refused for one in cycle.linked))
    return with_linked(memory, cycle.linked, cycle.claim.conversation.workspace)


async def _without_forgotten(cycle: Cycle, one: LinkedMessages) -> LinkedMessages:
    """The same without words of people who were forgotten, and then without the soul's own, which may repeat them."""
    said = [(message.author, message.ts) for message in one.messages if not message.own]
    forgotten = await cycle.services.standing.forgotten(said)

    def stays(message: ThreadMessage) -> bool:
        return not (message.own or (message.author, message.ts) in forgotten)

    if not forgotten:
        return one
    left = tuple(filter(stays, one.messages))
    return replace(one, messages=left) if left else LinkedMessages(one.address, refused=Sentence("link_gone"))
