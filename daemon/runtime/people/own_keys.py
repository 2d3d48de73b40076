"""Obeys *my keys*, *end key 2* and *end my keys* in a direct message: a person who lost a machine ends its key at once.

No model reads any of it, and only what a person says in Slack themselves counts.
"""

from daemon.core.fencing import clean_name
from daemon.core.perception import Place
from daemon.core.phrases import Command, Phrase
from daemon.core.sessions import key_of
from daemon.core.text import numbered
from daemon.ism.permission import plain_sight
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.records import Delivery
from daemon.memory.shared.own_keys import KeysEnded, OwnKey
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_memory import day_in
from daemon.runtime.people.own_words import say


async def heed_keys(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now.
    """
    services, newest = cycle.services, cycle.newest
    if newest.place is Place.TERMINAL or key_of(newest.author) is not None:
        return await say(cycle, cycle.words.say("keys_in_slack"))
    if newest.place is not Place.DM:
        return await say(cycle, cycle.words.say("keys_in_dm"))
    text, acts = _answer(cycle, phrase, await services.pairings.keys_of(newest.author))
    delivery = await say(cycle, text, *acts)
    if acts:  # what waits with such a key hears that it is ended, and so do the threads of its sessions
        services.news.tell()
        services.wake()
    services.emit("keys.asked", command=phrase.command, trace=cycle.trace_id)
    return delivery


def _answer(cycle: Cycle, phrase: Phrase, keys: tuple[OwnKey, ...]) -> tuple[str, tuple[MemoryAct, ...]]:
    words = cycle.words
    if phrase.command is Command.END_KEYS:
        # Also without any: one that a machine was just allowed is about to be made.
        text = words.say("keys_all_ended", count=len(keys)) if keys else words.say("keys_none")
        return text, (KeysEnded((), all_=True),)
    if phrase.command is Command.END_KEY:
        found = next((one for one in keys if one.number == phrase.number), None)
        if found is None:
            return words.say("keys_no_number", number=phrase.number), ()
        ended = words.say("keys_ended", number=found.number, machine=_machine(cycle, found))
        return ended, (KeysEnded((found.id,)),)
    if not keys:
        return words.say("keys_none"), ()
    lines = [_line(cycle, one) for one in keys]
    how = words.say("keys_how", number=keys[0].number)
    return "\n".join((words.say("keys_head"), *lines, how)), ()


def _line(cycle: Cycle, key: OwnKey) -> str:
    zone, say = cycle.newest.zone, cycle.words.say
    made, machine = day_in(key.made_ms, zone), _machine(cycle, key)
    if key.seen_ms is None:
        return say("keys_unused", number=numbered(key.number), machine=machine, made=made)
    return say("keys_line", number=numbered(key.number), machine=machine, made=made, used=day_in(key.seen_ms, zone))


def _machine(cycle: Cycle, key: OwnKey) -> str:
    """What the machine calls itself, which is anybody's text and stands there as such."""
    name = plain_sight(clean_name(key.machine)).replace("`", "'")
    return f"`{name}`" if key.machine else cycle.words.say("keys_unnamed")
