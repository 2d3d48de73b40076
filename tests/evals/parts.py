"""Parts of the tests of scenarios: a file, a turn that was played, and the check of it that is looked at."""

from pathlib import Path
from typing import Any

from evals.checks import checks_of
from evals.memory import Call, PathRow, Rows, Spoken
from evals.scenario import Answer, Expectation, Scenario, Turn, read_scenario
from evals.seen import Check, Played, PlayedTurn, Post

AT_MS = 1_763_800_000_000
"""22 November 2025, 08:26:40 UTC: a Saturday."""

HEAD = 'title = "A title"\nabout = "Why it is here."\n'
TURN = """
[[turn]]
says = "Hello"
[turn.right]
reply = "Good day."
[turn.wrong]
fails = ["words"]
reply = "No."
"""


def written(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def scenario(folder: Path, text: str = HEAD + TURN) -> Scenario:
    return read_scenario(written(folder, text))


def call(outcome: str = "ok", *, step: str = "respond", cost: float | None = 0.001) -> Call:
    return Call("t1", "persona", step, "openai/x", 1000, 400, 50, cost, 900, outcome)


def step(act: str, origin: str, target: str) -> PathRow:
    return PathRow(act, origin, target, "model", "it was said")


def turn(reply: str, rows: Rows | None = None, **expected: Any) -> PlayedTurn:  # noqa: ANN401  # any expectation
    """A turn with this reply, before it is checked. `tools` and `sources` are what was used and what there is."""
    tools, sources = expected.pop("tools", ()), frozenset(expected.pop("sources", ()))
    said = Turn(says="Hello", expect=Expectation(**expected), right=Answer(reply="Good day."))
    spoken = rows or Rows(calls=(call(),), spoken=(Spoken("reply", ""),) if reply else ())
    posts = (Post("dm:ada", reply),) if reply else ()
    return PlayedTurn(said, AT_MS, "dm:ada", posts, spoken, tools, sources)


def failing(played: PlayedTurn) -> list[str]:
    return [check.wanted for check in checks_of(played) if not check.passed]


def played(one: Scenario, reply: str = "Good day.", *, checks: tuple[Check, ...] = ()) -> Played:
    """A scenario of one turn as it was played."""
    rows = Rows(calls=(call(),), path=(step("enter", "engaged", "greeting"),), spoken=(Spoken("reply", ""),))
    said = PlayedTurn(one.turns[0], AT_MS, "dm:ada", (Post("dm:ada", reply),), rows, seconds=1.5, checks=checks)
    return Played(one, turns=(said,), seconds=2.0)
