"""Introduces the soul in a channel to which it was invited: two sentences, made of what it really can do there."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from daemon.core.phrases import Phrase
from daemon.core.sentences import Words
from daemon.memory.records import Delivery, Dismissal
from daemon.runtime.abilities import Ability, abilities
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words

_CLAUSES: Final = frozenset(
    {
        *("help_talk", "help_remember", "help_files", "help_library", "help_tools", "help_problems"),
        *("help_contacts", "help_reminders", "help_sessions", "help_souls"),
    }
)
"""The abilities that make a clause; the sentence of each begins with `can` in place of `help`."""


async def introduce(cycle: Cycle, _: Phrase) -> Delivery | None:
    """Say who it is, once in a channel, and commit; the post is dropped without a word where Slack refuses it.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now.
    """
    services, where = cycle.services, cycle.claim.conversation
    soul = cycle.soul
    if not soul.presence.introduces_itself:
        cycle.dismissed = {
            **cycle.dismissed,
            **{one.id: Dismissal("it does not introduce itself") for one in cycle.messages},
        }
        return await services.commits.commit(effect_of_words(cycle, (), ()))
    text = introduction(cycle.words, soul.display_name, await abilities(cycle), cycle.channel.offers(where).command)
    await cycle.require_same_readers()
    effect = effect_of_words(cycle, cycle.channel.split(text, where, cycle.hosts), ())
    delivery = await services.commits.commit(replace(effect, unasked=True))
    services.emit("room.introduced", trace=cycle.trace_id, channel=where.channel)
    return delivery


def introduction(words: Words, name: str, found: Iterable[Ability], command: str) -> str:
    """The two sentences."""
    clauses = [replace(one, key=f"can_{one.key.partition('_')[2]}").said(words) for one in found if one.key in _CLAUSES]
    *first, last = clauses
    can = words.say("introduction_list", first=", ".join(first), last=last) if first else last
    return words.say("introduction", name=name, can=can, help=f"`{command} help`" if command else "*help*")
