"""Shows a reply that stands in a thread in the channel too, for the person whom it answered and who asks for it."""

from dataclasses import replace

from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.perception import Place
from daemon.core.phrases import Phrase
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say

_CHANNELS = (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL)


async def show_there(cycle: Cycle, _: Phrase) -> Delivery | None:
    """Show the last reply of this thread in its channel, and say to the person alone what became of it.

    Whoever reads the channel reads its threads, so that nobody learns anything new. Raises what `say` raises.
    """
    newest = cycle.newest
    said = cycle.words.say(await _shown(cycle))
    thread = cycle.channel.reply_to(newest)
    whispered = newest.place in _CHANNELS and await cycle.channel.whisper(
        newest.conversation, newest.author, said, thread=thread
    )
    return await say(cycle, "" if whispered else said)


async def _shown(cycle: Cycle) -> str:
    """Show it; the key of the sentence that says what became of it. Raises StoreError, ReadersChanged."""
    services, newest = cycle.services, cycle.newest
    if newest.place not in _CHANNELS:
        return "there_where"
    post = await services.capabilities.own_things.last_reply(cycle.claim.conversation)
    if post is None or not post.reply_to or not post.body:
        return "there_none"
    if post.recipient != newest.author:
        return "there_not_yours"
    await cycle.require_same_readers()
    try:
        await cycle.channel.show_in_channel(replace(post, words=cycle.words))
    except ChannelRefused:
        return "there_refused"
    except ChannelError:
        return "there_later"
    return "there_shown"
