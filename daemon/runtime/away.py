"""The line about older messages that are not answered, and the silence or reaction in place of a reply."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from daemon.core.perception import Place
from daemon.core.ports.library import ReactionReply
from daemon.core.sentences import Words
from daemon.memory.queues.cycle_effect import AwayNote
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.mind.motor import Silence
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul


def away_note(cycle: Cycle) -> AwayNote | None:
    """Return the note for messages that became too old, None if an earlier note covers all of them."""
    if not cycle.unanswered:
        return None
    services, newest = cycle.services, cycle.unanswered[-1].perception
    now, stale_after = services.clock.now_ms(), services.triage.stale_after
    if float(newest.ts) * 1000 <= cycle.claim.away_told_ms - stale_after * 1000:
        return None
    words = cycle.soul.words_in(newest.language)
    text = away_line(now, stale_after, words, several_readers=newest.place is not Place.DM)
    return AwayNote(text, cycle.channel.reply_to(newest), newest.author, newest.ts)


def away_turn(cycle: Cycle, note: AwayNote) -> Turn:
    """Return the note as a turn: the soul then takes part in the thread when the user writes again."""
    soul = cycle.soul
    newest = cycle.unanswered[-1].perception
    return Turn(Speaks.SOUL, soul.name, soul.display_name, newest.ts, note.text, kind=TurnKind.APOLOGY)


def away_line(now_ms: int, stale_after: float, words: Words, *, several_readers: bool) -> str:
    """Return the line. Times are UTC, with the date where it is not today's."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    before = now - timedelta(seconds=stale_after)
    shown = f"{before:%H:%M}"
    if before.date() != now.date():
        shown = words.say("moment_on", time=shown, date=f"{before:%Y-%m-%d}")
    return words.say("away_here" if several_readers else "away_you", now=f"{now:%H:%M}", before=shown)


_QUESTION: Final = re.compile(r"[?？؟][\"'”»)\]*_!]*(?=\s|\Z)")  # noqa: RUF001  # as others write it; none within an address


def silence_of(cycle: Cycle, soul: Soul) -> Silence:
    """Return what a silence of the soul to the messages of a cycle means.

    No nod answers a question. A model that forgets its words is asked for them, whatever it thought of the message.
    """
    newest = cycle.newest
    if newest.asks_nothing:
        return Silence.UNSEEN
    if not all(one.perception.has_message for one in cycle.messages):
        return Silence.REFUSED
    if not any(one.addressed for one in cycle.messages):
        return Silence.UNSEEN
    if any(one.addressed and _QUESTION.search(one.perception.content) for one in cycle.messages):
        return Silence.REFUSED
    return Silence.NOD if nod_of(cycle, soul) is not None else Silence.REFUSED


def nod_of(cycle: Cycle, soul: Soul) -> ReactionReply | None:
    """Return the reaction that answers the newest message meant for the soul, None where none can be shown."""
    asked = [one.perception for one in cycle.messages if one.addressed and one.perception.has_message]
    if not asked or not soul.presence.nod or Speaks.of(asked[-1].author) is not Speaks.PERSON:
        return None
    shown = cycle.channel.offers(asked[-1].conversation).nods
    return ReactionReply(soul.presence.nod, asked[-1].ts) if shown else None
