"""What was seen of a scenario: each turn with its replies and rows, its checks, and why it may have broken off."""

from collections.abc import Iterable
from typing import Final

from msgspec import field

from daemon.core.value import Value
from evals.memory import Call, Rows
from evals.scenario import Category, Scenario, Turn

MALFORMED: Final = "malformed"


class Post(Value):
    """A message of the soul as users see it; `place` is a channel's name or `dm:NAME`."""

    place: str
    text: str


class SlackCall(Value):
    """A call to Slack's Web API: its place, empty where it has none, and everything that it carried, as text."""

    method: str
    place: str
    text: str


class Check(Value):
    """One thing that had to be true; `seen` says what was there instead where it failed."""

    category: Category
    wanted: str
    passed: bool
    seen: str = ""


class PlayedTurn(Value):
    """A turn and what came of it. `at_ms` is when it was said, `seconds` how long until all was done."""

    turn: Turn
    at_ms: int
    place: str = ""
    posts: tuple[Post, ...] = ()
    rows: Rows = field(default_factory=Rows)
    tools: tuple[str, ...] = ()
    sources: frozenset[str] = frozenset()
    seconds: float = 0.0
    checks: tuple[Check, ...] = ()

    @property
    def reply(self) -> str:
        """All that was said, in order."""
        return "\n\n".join(post.text for post in self.posts)


class Played(Value):
    """A scenario, as far as it was played; `broke_off` says why it was not played to its end.

    `checks` are those of the whole scenario, `split` the models that lost the form so often that they speak split.
    """

    scenario: Scenario
    repeat: int = 1
    turns: tuple[PlayedTurn, ...] = ()
    checks: tuple[Check, ...] = ()
    split: tuple[str, ...] = ()
    broke_off: str = ""
    seconds: float = 0.0

    @property
    def all_checks(self) -> tuple[Check, ...]:
        """Those of the turns, then those of the whole."""
        return (*(check for turn in self.turns for check in turn.checks), *self.checks)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every model call."""
        return tuple(call for turn in self.turns for call in turn.rows.calls)

    @property
    def passed(self) -> bool:
        """Whether it was played to its end and every check passed."""
        return not self.broke_off and all(check.passed for check in self.all_checks)


class Score(Value):
    """How many checks of a category passed, of how many; `share` is None where there were none."""

    passed: int = 0
    total: int = 0

    @property
    def share(self) -> float | None:
        """From 0 to 1."""
        return self.passed / self.total if self.total else None


class Figures(Value):
    """Scores by category, model calls, tokens and money of one scenario or of all.

    `usd` is what the calls cost; `unpriced` counts those whose price is not known, held in it with their most.
    """

    scores: dict[Category, Score] = field(default_factory=dict)
    messages: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

    @property
    def all(self) -> Score:
        """Every category together."""
        found = self.scores.values()
        return Score(sum(one.passed for one in found), sum(one.total for one in found))


def figures_of(plays: Iterable[Played]) -> Figures:
    """The sums over some plays."""
    plays = tuple(plays)
    checks = [check for play in plays for check in play.all_checks]
    calls = [call for play in plays for call in play.calls]
    return Figures(
        scores={category: _score(one for one in checks if one.category is category) for category in Category},
        messages=sum(turn.turn.says is not None for play in plays for turn in play.turns),
        calls=len(calls),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_cached=sum(call.tokens_cached for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        usd=sum(call.cost or 0.0 for call in calls),
        unpriced=sum(call.bound for call in calls),
        seconds=sum(play.seconds for play in plays),
    )


def _score(checks: Iterable[Check]) -> Score:
    checks = tuple(checks)
    return Score(sum(check.passed for check in checks), len(checks))
