"""Notices that an admin read a person's words, handing a thread over, and a channel's settings."""

from collections.abc import Callable, Mapping
from typing import Final

from daemon.core.errors import NotDelivered, StoreError
from daemon.core.last_line import in_short
from daemon.core.phrases import Command, Phrase
from daemon.core.room_ways import ChannelSettings
from daemon.core.sentences import Words
from daemon.core.soul_names import shown_names, souls_named
from daemon.core.text import one_line
from daemon.memory.queues.handoffs import Handoff
from daemon.memory.queues.readings_to_tell import Telling
from daemon.memory.queues.typed_commands import TYPED
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import DaemonAnswer, in_channel, not_in_terminal, phrase
from daemon.runtime.sensing import why_not_there

TELLING_EVERY_S: Final = 15.0
"""Seconds between two looks for a person to be told."""

_AGAIN_S: Final = 600.0  # while the platform can't be asked
_REFUSED_S: Final = 86_400.0  # after a refusal: the person left, or the soul may not write to them


async def tell_of_readings(services: CycleServices, on_due: Callable[[], None]) -> None:
    """Send a DM to people whose words an admin has read, once a day at most. Raises StoreError.

    It waits until their quiet hours are over. `on_due` is called when a line waits to be sent.
    """
    now, readings, told = services.clock.now_ms(), services.store.readings, False
    for one in await readings.due():
        if (over := services.quiet_hours.over(now, one.zone)) > now:
            await readings.wait(one, over)
        else:
            told |= await _tell(services, one)
    if told:
        on_due()


async def _tell(services: CycleServices, telling: Telling) -> bool:
    readings = services.store.readings
    try:
        room = await readings.room_of(telling.person) or await services.channels.main.find_room(telling.person)
    except StoreError:
        raise
    except NotDelivered as error:
        await readings.put_off(telling, error.retry_after or _AGAIN_S)
        return False
    except Exception as error:  # noqa: BLE001 - a fault of one person's DM must not affect the others
        waits = await readings.put_off(telling, _REFUSED_S)
        services.emit("memory.not_told", reason=in_short(error), given_up=not waits)
        return False
    return await readings.tell(telling, room, services.quiet_hours)


@phrase(Command.HAND_OVER, needs={not_in_terminal: "handoff_not_here"})
async def hand_over(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Hand the thread over, or say why not. Raises StoreError, and NotDelivered while the members are unknown."""
    services, name = cycle.services, phrase.words
    called = await services.notes.called()
    found = souls_named(name, called)
    if len(found) != 1 or cycle.soul.name in found:
        return DaemonAnswer(_why_not(cycle, name, found, called))
    [to] = found
    if why := await why_not_there(cycle, to):
        return DaemonAnswer(why)
    where, newest = cycle.claim.conversation, cycle.newest

    async def log() -> None:
        services.emit("conversation.handed", conversation=str(where), to=to, trace=cycle.trace_id)

    handoff = Handoff(to, newest.author, cycle.channel.reply_to(newest))
    return DaemonAnswer(more={"handoff": handoff, "rooms": frozenset()}, after=log)


def _why_not(cycle: Cycle, name: str, found: tuple[str, ...], called: Mapping[str, str]) -> str:
    mine, say = cycle.soul.name, cycle.words.say
    if len(found) > 1:
        return say("handoff_several", name=name, souls=shown_names(found, called))
    if found:
        return say("handoff_mine")
    if not (others := [one for one in called if one != mine]):
        return say("handoff_alone", name=name)
    return say("handoff_unknown", name=name, souls=shown_names(others, called))


@phrase(Command.CHANNEL_SET)
async def tell_way(cycle: Cycle, _: Phrase) -> str:
    """Tell all in the channel what was set for it, and by which user."""
    say, way = cycle.words.say, cycle.claim.way
    name = one_line(cycle.newest.name).replace("`", "'") or "…"
    head = say("room_cleared" if way.is_plain else "room_set", name=name)
    return "\n".join((head, *described(way, cycle.words)))


@phrase(Command.CHANNEL)
async def show_way(cycle: Cycle, _: Phrase) -> str:
    """Show the channel's settings, and how to change them. A slash command has opened the form instead."""
    say, way = cycle.words.say, cycle.claim.way
    if TYPED in cycle.newest.params:
        return ""
    if not in_channel(cycle):
        return say("room_is_none")
    command = cycle.channel.offers(cycle.claim.conversation).command
    head = say("room_nothing" if way.is_plain else "room_holds")
    how = (say("room_how", command=command),) if command else ()
    return "\n".join((head, *described(way, cycle.words), *how))


def described(way: ChannelSettings, words: Words) -> list[str]:
    """Return a line for each setting, with the instructions as a quotation."""
    lines = []
    if way.instructions:
        quoted = (line for line in way.instructions.splitlines() if line.strip())
        lines.append("\n> ".join((words.say("room_set_instructions"), *quoted)))
    if way.soul:
        lines.append(words.say("room_set_soul", soul=way.soul))
    lines += [words.say(f"room_set_{chosen}") for chosen in (way.streams, way.joins) if chosen]
    return [f"- {line}" for line in lines]
