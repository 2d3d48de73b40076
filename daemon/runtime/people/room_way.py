"""Says in a channel how the soul works there: when that was set, and to who asks for it."""

from daemon.core.perception import Place
from daemon.core.phrases import Phrase
from daemon.core.room_ways import RoomWay
from daemon.core.sentences import Words
from daemon.core.text import one_line
from daemon.memory.queues.beside import TYPED
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say

_CHANNELS = (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL)


async def tell_way(cycle: Cycle, _: Phrase) -> Delivery | None:
    """Tell all in the channel what was set for it, and by whom; raises what `say` raises."""
    say_as, way, newest = cycle.words.say, cycle.claim.way, cycle.newest
    name = one_line(newest.name).replace("`", "'") or "…"
    head = say_as("room_cleared" if way.is_plain else "room_set", name=name)
    return await say(cycle, "\n".join((head, *described(way, cycle.words))))


async def show_way(cycle: Cycle, _: Phrase) -> Delivery | None:
    """Show what is set for the channel, and how it is changed; a slash command has opened the form instead."""
    say_as, way = cycle.words.say, cycle.claim.way
    if TYPED in cycle.newest.params:
        return await say(cycle, "")
    if cycle.newest.place not in _CHANNELS:
        return await say(cycle, say_as("room_is_none"))
    command = cycle.channel.offers(cycle.claim.conversation).command
    head = say_as("room_nothing" if way.is_plain else "room_holds")
    how = (say_as("room_how", command=command),) if command else ()
    return await say(cycle, "\n".join((head, *described(way, cycle.words), *how)))


def described(way: RoomWay, words: Words) -> list[str]:
    """A line for each thing that is set; the instructions as a quotation."""
    lines = []
    if way.instructions:
        quoted = (line for line in way.instructions.splitlines() if line.strip())
        lines.append("\n> ".join((words.say("room_set_instructions"), *quoted)))
    if way.soul:
        lines.append(words.say("room_set_soul", soul=way.soul))
    lines += [words.say(f"room_set_{chosen}") for chosen in (way.streams, way.joins) if chosen]
    return [f"- {line}" for line in lines]
