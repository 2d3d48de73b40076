"""Obeys *drop G1*: the person for whom a soul has a goal has it given up."""

from daemon.core.phrases import Phrase
from daemon.core.sessions import key_of
from daemon.memory.mind.dropping import GoalDropped
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say


async def drop_goal(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending. A goal that those who read may not know is none.

    Raises StoreError, LostLease, and ReadersChanged where others read along by now.
    """
    name, words, newest = f"G{phrase.number}", cycle.words, cycle.newest
    if key_of(newest.author) is not None or newest.bot:
        return await say(cycle, words.say("goal_none", id=name))
    found = await cycle.services.minds.goal(cycle.claim.conversation, cycle.readers, newest.author, name)
    if found is None:
        return await say(cycle, words.say("goal_none", id=name))
    if found.behalf != newest.author:
        return await say(cycle, words.say("goal_of_another", id=name))
    if not found.is_open:
        return await say(cycle, words.say("goal_over", id=name))
    return await say(cycle, words.say("goal_dropped", id=name), GoalDropped(name))
