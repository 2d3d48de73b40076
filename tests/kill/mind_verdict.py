"""What kills did to a mind: lost, doubled, scored twice, overspent and torn, by memory.db, the posts and the bill."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from daemon.core.value import Value
from daemon.memory.database.sqlite import sqlite3
from tests.kill.bill import BilledCall
from tests.kill.busy_mind import DONE, KEPT, MARKER, SEEN
from tests.kill.verdict import Figure, Outcome, faults_of

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS

_MOST_THOUGHTS: Final = 3  # of one message: two looks, and the thought after them
_ROUNDING: Final = 1e-6
_PROMISED: Final = re.compile(r"I'll come back to “(marker\d{5}) promise”")
_SPOKEN_FOR: Final = re.compile(r"I said that I'd come back to “(marker\d{5}) promise”")
_KEPT: Final = re.compile(rf"{KEPT} ([^.]*)\.")
_SCORED: Final = """
    SELECT count(*), coalesce(sum(state = 'hit'), 0), coalesce(sum(confidence), 0.0),
           coalesce(sum(((state = 'hit') - confidence) * ((state = 'hit') - confidence)), 0.0)
    FROM predictions WHERE state IN ('hit', 'miss')
    """
_COUNTED: Final = "SELECT scored, hits, confidence, squared FROM prediction_sums"
_OVERDUE: Final = "SELECT id, what FROM predictions WHERE state = 'open' AND due_ms <= ?"
_GOALS: Final = "SELECT id, goal, state FROM goals WHERE due_ms <= ? ORDER BY seq"
_UNDECIDED: Final = """
    SELECT id, state FROM approvals WHERE state IN ('waiting', 'approved') AND tool NOT GLOB 'mind.*'
    UNION ALL SELECT id, state FROM inbox WHERE modality = 'decision' AND state <> 'answered'
    """


class Budget(Value):
    """What a soul may take for unasked thoughts: tokens in an hour and in a day, US dollars in a day."""

    tokens_hour: int
    tokens_day: int
    usd_day: float


class Left(Value):
    """What is left at the moment `now_ms`: the `posts` of the soul, which `effects` its tools had, and the bill.

    `outcome` says what became of the messages.
    """

    home: Path
    now_ms: int
    outcome: Outcome
    posts: Sequence[str]
    effects: Counter[str]
    bill: Sequence[BilledCall]
    budget: Budget


@dataclass
class MindFaults(Figure):
    """What went wrong, each with its reason; `overspend` names the spans in which more was taken than there was."""

    FAULTS: ClassVar = ("lost", "doubled", "scored_twice", "overspend", "torn")
    lost: tuple[str, ...]
    doubled: tuple[str, ...]
    scored_twice: tuple[str, ...]
    overspend: tuple[str, ...]
    torn: tuple[str, ...]

    @property
    def details(self) -> tuple[str, ...]:
        """Each with its kind."""
        return tuple(f"{kind}: {reason}" for kind in self.FAULTS for reason in getattr(self, kind))


def is_spoken_for(post: str) -> bool:
    """Whether the house alone keeps a promise in a post, which may answer nothing: without a budget none is thought."""
    return _SPOKEN_FOR.search(post) is not None


def judged(left: Left) -> MindFaults:
    """All faults of what is left."""
    with closing(sqlite3.connect(left.home / "memory.db")) as connection:
        thoughts = _thoughts(connection)
        promised, kept = _promises(left.posts)
        goals = connection.execute(_GOALS, (left.now_ms,)).fetchall()
        seen = Counter(name for one in thoughts for name in one.seen)
        done = Counter(name for one in thoughts for name in one.done)
        return MindFaults(
            lost=(
                *left.outcome.ends,
                *(f"{left.outcome.reported} posts are in doubt" for _ in range(left.outcome.reported > 0)),
                *(f"{name} ({goal}) was never thought about" for name, goal, _ in goals if not seen[name]),
                *(f"{name} ({goal}) is open" for name, goal, state in goals if done[name] and state == "open"),
                *(f"what was promised of {one} was not posted" for one in promised if not kept[one]),
                *(f"{name} ({what}) was never scored" for name, what in connection.execute(_OVERDUE, (left.now_ms,))),
                *(f"the question {name} has no end: {state}" for name, state in connection.execute(_UNDECIDED)),
            ),
            doubled=(
                *left.outcome.twice,
                *(f"{name} was done {times} times" for name, times in _more_than_once(done)),
                *(f"{one} was made {times} times" for one, times in _more_than_once(goal for _, goal, _ in goals)),
                *(f"what was promised of {one} was posted {times} times" for one, times in _more_than_once(kept)),
                *(f"the tool wrote {one} {times} times" for one, times in _more_than_once(left.effects)),
            ),
            scored_twice=(*_miscounted(connection), *_news_twice(thoughts)),
            overspend=tuple(overspent(left.bill, left.budget)),
            torn=(
                *faults_of(left.home, most=_MOST_THOUGHTS),
                *left.outcome.torn,
                *(left.outcome.integrity for _ in range(left.outcome.integrity != "ok")),
            ),
        )


class _Thought(Value):
    """The ids of the goals that a thought has seen and does, and which outcomes were news to it."""

    trace: str
    seen: Sequence[str]
    done: Sequence[str]
    news: Sequence[str]


def _thoughts(connection: sqlite3.Connection) -> list[_Thought]:
    found = []
    for trace, given, output in connection.execute("SELECT trace_id, input, output FROM thoughts ORDER BY seq"):
        inner = str(json.loads(output).get("inner_speech", "")) if output else ""
        seen, _, done = inner.removeprefix(SEEN).partition(DONE) if inner.startswith(SEEN) else ("", "", "")
        errors = json.loads(given).get("prediction_errors", ()) if given else ()
        found.append(_Thought(trace, seen.split(), done.split(), [one["predicted"] for one in errors]))
    return found


def _promises(posts: Iterable[str]) -> tuple[set[str], Counter[str]]:
    """The markers of what was promised in posts, and how often each was come back to."""
    promised, kept = set[str](), Counter[str]()
    for post in posts:
        promised.update(_PROMISED.findall(post))
        kept.update(_SPOKEN_FOR.findall(post))
        kept.update(one for said in _KEPT.findall(post) for one in MARKER.findall(said))
    return promised, kept


def _more_than_once(these: Iterable[str]) -> list[tuple[str, int]]:
    found = these if isinstance(these, Counter) else Counter(these)
    return [(one, times) for one, times in found.items() if times > 1]


def _miscounted(connection: sqlite3.Connection) -> list[str]:
    """Where the sums that the soul's calibration is reckoned by are not those of its expectations."""
    scored = connection.execute(_SCORED).fetchone()
    counted = connection.execute(_COUNTED).fetchone() or (0, 0, 0.0, 0.0)
    names = ("scored", "hits", "confidence", "squared")
    return [
        f"{name} is counted as {sum_}, and is {real}"
        for name, sum_, real in zip(names, counted, scored, strict=True)
        if abs(sum_ - real) > _ROUNDING
    ]


def _news_twice(thoughts: Sequence[_Thought]) -> list[str]:
    """The outcomes that were news to the thoughts about more than one moment."""
    moments = {(what, one.trace) for one in thoughts for what in one.news}
    return [f"{what} was news {times} times" for what, times in _more_than_once(what for what, _ in moments)]


def overspent(bill: Sequence[BilledCall], budget: Budget) -> list[str]:
    """The spans in which unasked thoughts took more than the budget, by what the vendor counted."""
    calls = sorted((one for one in bill if one.unasked), key=lambda one: one.at_ms)
    days: dict[int, list[BilledCall]] = {}
    for one in calls:
        days.setdefault(one.at_ms // DAY_MS, []).append(one)
    hours = [[one for one in calls if last.at_ms - HOUR_MS < one.at_ms <= last.at_ms] for last in calls]
    return [
        *_beyond("tokens in an hour", hours, lambda one: one.tokens, budget.tokens_hour),
        *_beyond("tokens in a day", days.values(), lambda one: one.tokens, budget.tokens_day),
        *_beyond("US dollars in a day", days.values(), lambda one: one.usd, budget.usd_day),
    ]


def _beyond(
    what: str, spans: Iterable[Sequence[BilledCall]], size: Callable[[BilledCall], float], most: float
) -> list[str]:
    sums = [sum(map(size, span)) for span in spans]
    return [f"{one:g} {what}, of {most:g}" for one in sums if one > most + _ROUNDING]
