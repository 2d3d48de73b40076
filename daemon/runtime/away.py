"""The one line with which a conversation learns that older messages in it are not answered."""

from datetime import UTC, datetime, timedelta

from daemon.core.perception import Place
from daemon.core.sentences import Words
from daemon.memory.queues.cycle_effect import AwayNote
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.runtime.cycle_state import Cycle


def away_note(cycle: Cycle) -> AwayNote | None:
    """The note for messages that became too old, None if there are none or an earlier note speaks of all of them."""
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
    """The note as a turn, so that the soul takes part in the thread when the user says it again."""
    soul = cycle.soul
    newest = cycle.unanswered[-1].perception
    return Turn(Speaks.SOUL, soul.name, soul.display_name, newest.ts, note.text, kind=TurnKind.APOLOGY)


def away_line(now_ms: int, stale_after: float, words: Words, *, several_readers: bool) -> str:
    """What is said; times are UTC, with the date where it is not today's."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    before = now - timedelta(seconds=stale_after)
    shown = f"{before:%H:%M}"
    if before.date() != now.date():
        shown = words.say("moment_on", time=shown, date=f"{before:%Y-%m-%d}")
    return words.say("away_here" if several_readers else "away_you", now=f"{now:%H:%M}", before=shown)
