"""What is said in place of a reply where a cap of the day is met: once a day in each conversation."""

from daemon.core.errors import CapMet
from daemon.core.perception import Place
from daemon.core.reminder_words import time_in
from daemon.runtime.cycle_state import Cycle


def cap_words(cycle: Cycle, met: CapMet) -> str:
    """The sentence about a cap; empty where the conversation has read one today, and the message is kept in silence.

    It is said again where a reply was begun, and to a program, which waits for an answer to each message.
    """
    services, claim, newest = cycle.services, cycle.claim, cycle.newest
    today = services.till.day().date
    begun = claim.draft is not None or any(call.first_ms is not None for call in cycle.calls)
    if claim.cap_shown_day == today and not begun and newest.place is not Place.TERMINAL:
        return ""
    cycle.cap_shown_day = today
    words = cycle.words
    if met.usd == 0:
        return words.say("cap_of_nothing")
    when = time_in(met.until_ms, newest.zone)
    cycle.dates[when] = met.until_ms  # others may read along on other clocks
    return words.say("cap_met", what=words.say(f"cap_of_{met.paid_by}"), when=when)
