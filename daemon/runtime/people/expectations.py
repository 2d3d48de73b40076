"""Obeys *P7 yes* and *P7 no*: a person says what became of something that a soul expected, and no rule decides."""

from daemon.core.phrases import Phrase
from daemon.core.sessions import key_of
from daemon.memory.mind.outcomes import PersonSaid
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say


async def heed_outcome(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending. What is decided already stays as it is.

    Only what was expected in this conversation counts, where those who read it may know of it. Raises StoreError,
    LostLease, and ReadersChanged where others read along by now.
    """
    name, words, newest = f"P{phrase.number}", cycle.words, cycle.newest
    if key_of(newest.author) is not None or newest.bot:
        return await say(cycle, words.say("expected_none", id=name))
    found = await cycle.services.minds.expectation(cycle.claim.conversation, cycle.readers, name)
    if found is None:
        return await say(cycle, words.say("expected_none", id=name))
    if not found.is_open:
        return await say(cycle, words.say("expected_over", id=name))
    if found.kind != "none":
        return await say(cycle, words.say("expected_by_rule", id=name))
    came = phrase.words == "yes"
    delivery = await say(cycle, words.say("expected_yes" if came else "expected_no", id=name), PersonSaid(name, came))
    cycle.services.emit("predictions.scored", count=1)
    return delivery
