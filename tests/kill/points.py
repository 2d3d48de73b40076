"""One daemon after the other is killed at the points of a scene: replies with a file, nods, goals, a first thought.

`python -m tests.kill files` prints the figure, and so do `nods`, `ticks` (`--promised` for goals that are promised) and
`waking`: `points=… lost=0 doubled=0 shown=0 uncounted=0 torn=0`.
"""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar, Final

from daemon.local_slack.model import WorkspaceMessage
from daemon.memory.database.sqlite import sqlite3
from tests.kill.loop import SOUL, KillStage, stage
from tests.kill.mind import KEPT, LINES
from tests.kill.scenes import POSTED, Scene, passed, played
from tests.kill.verdict import Figure, count, faults_of

_ADA: Final = "U0ADA"
_BUDGET: Final = {  # what dies counts as spent
    "cycle_tokens_hour": 10_000_000,
    "cycle_tokens_day": 10_000_000,
    "quiet_hours": "",
}
_STILL: Final = f"SELECT {POSTED}"
_DONE: Final = f"""
    SELECT {POSTED} AND NOT EXISTS (SELECT 1 FROM goals WHERE state = 'open')
    AND (SELECT count(*) FROM goals) = (SELECT count(*) FROM inbox WHERE modality = 'words')
    """
_AWAKE: Final = """
    SELECT EXISTS (SELECT 1 FROM awakenings WHERE woke_ms IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))
    """
_FILE: Final = Scene("file", (("please send it as a file", _STILL),), person=_ADA)
_NOD: Final = Scene("nod", (("thank you", _STILL),), person=_ADA)
_PLANNED: Final = Scene("ticks", (("plan it", _DONE),), person=_ADA, settings=_BUDGET)
_PROMISED: Final = Scene("promises", (("promise it", _DONE),), person=_ADA, settings=_BUDGET)
_WAKING: Final = Scene("waking", (("", _AWAKE),), person=_ADA, settings=_BUDGET)
_ANEW: Final = ("DELETE FROM awakenings", "DELETE FROM ticks", "DELETE FROM thoughts", "DELETE FROM tick_counts")

# Points that no reply without a file passes, and the one at which it is known to be there; the same for nods.
_SHARING: Final = ("files.getUploadURLExternal@", "files.completeUploadExternal@", "Outbox._update@")
_NODDING: Final = ("Commits.commit@", "reactions.add@", "Outbox._update@")
# What is passed for a goal alone; what is passed for a message, and again for its goal.
_OF_THE_GOAL: Final = "Commits.commit(due)"
_TWICE: Final = ("Conversations.claim_chosen", "Reservations.reserve", "chat.postMessage", "Outbox._update", "settle@")
_TO_WAKE: Final = ("Awakenings", "Conversations.claim_chosen", "Reservations.reserve", "Commits.commit", "settle@")

_NODS_WITH: Final = "thumbsup"
_CYCLE: Final = f'name = "{SOUL}"\ndisplay_name = "Soul"\nmind = "cycle"\n'
_NODDING_SOUL: Final = f'{_CYCLE}\n[presence]\nnod = "{_NODS_WITH}"\n'
_THINKING_SOUL: Final = f"{_NODDING_SOUL}\n[cycle]\nenabled = true\n"
_WAKING_SOUL: Final = f"{_CYCLE}\n[cycle]\nenabled = true\n"
_ALONE: Final = "SELECT count(*) FROM thoughts WHERE occasion = 'due'"
_FIRST: Final = "SELECT count(*) FROM thoughts WHERE occasion = 'awakening'"
_PAID: Final = """
    SELECT (SELECT count(*) FROM llm_calls WHERE tick = 1) + (SELECT count(*) FROM reservations WHERE tick = 1)
    """


@dataclass
class PointsFigure(Figure):
    """The points that a daemon was killed at, and what went wrong how often.

    A thought of the soul's own that anybody sees is `shown`, one that no budget knows of `uncounted`; a hole in the
    chain of thoughts is `torn`.
    """

    FAULTS: ClassVar = ("lost", "doubled", "shown", "uncounted", "torn")
    points: int
    lost: int = 0
    doubled: int = 0
    shown: int = 0
    uncounted: int = 0
    torn: int = 0


async def files(home: Path, *, points: int = 1_000, seed: int) -> PointsFigure:
    """Replies with a file: lost where it is not in the thread, or not whole; doubled by another file or message."""
    async with stage(home, seed) as on:
        hit = await _killed(on, _FILE, _first(await passed(_FILE, on), _SHARING, seed)[:points])
        await on.settle()
    found, file_and_words = PointsFigure(hit), 2
    for one in on.crowd.said:
        mine = [post for post in _below(on, one) if post.author == on.workspace.workspace.state.app.user]
        whole = [on.workspace.workspace.state.files[file].content for post in mine for file in post.files]
        found.lost += not any(text.count(b"line_") == LINES for text in whole) or len(mine) < file_and_words
        found.doubled += len(whole) > 1 or len(mine) > file_and_words
    return found


async def nods(home: Path, *, points: int = 1_000, seed: int) -> PointsFigure:
    """Messages that are answered by a nod: lost without it; doubled if thought about again or answered by words."""
    async with stage(home, seed, soul=_NODDING_SOUL) as on:
        hit = await _killed(on, _NOD, _first(await passed(_NOD, on), _NODDING, seed)[:points])
        await played(_NOD, on)
    found = PointsFigure(hit, doubled=abs(count(home, "SELECT count(*) FROM thoughts") - len(on.crowd.said)))
    for one in on.crowd.said:
        message = on.workspace.workspace.state.timeline(one.channel).get(one.ts)
        found.lost += message is None or [reaction.name for reaction in message.reactions] != [_NODS_WITH]
        found.doubled += any(post.author == on.workspace.workspace.state.app.user for post in _below(on, one))
    return found


async def ticks(home: Path, *, points: int = 1_000, seed: int, promised: bool = False) -> PointsFigure:
    """Goals that fall due: lost where one is never thought about, doubled where it is twice.

    With `promised`, words about each goal are promised: they are posted once, or else lost or doubled.
    """
    scene, dice = _PROMISED if promised else _PLANNED, Random(seed)
    async with stage(home, seed, soul=_THINKING_SOUL) as on:
        places = await passed(scene, on)
        alone = [place for place in places if place.startswith(_OF_THE_GOAL)]
        second = [f"{place}:2" for place in places if place.startswith(_TWICE)]
        others = [place for place in places if place not in alone]
        chosen = [*alone, *dice.sample(second, len(second)), *dice.sample(others, len(others))]
        hit = await _killed(on, scene, chosen[:points])
        await played(scene, on)
    posts, said, thought = _posts(on), len(on.crowd.said), count(home, _ALONE)
    kept = sum(post.text.strip() == KEPT for post in posts) if promised else said
    return PointsFigure(
        hit,
        lost=said - count(home, "SELECT count(*) FROM goals WHERE state = 'done'") + max(0, said - kept),
        doubled=max(0, thought - said) + max(0, kept - said),
        shown=max(0, len(posts) - 2 * said) if promised else len(posts),
        uncounted=max(0, thought - count(home, _PAID)),
        torn=len(faults_of(home)),
    )


async def waking(home: Path, *, points: int = 1_000, seed: int) -> PointsFigure:
    """A soul awakens: lost where it never thinks its first thought, doubled where it does twice, shown if seen."""
    async with stage(home, seed, soul=_WAKING_SOUL) as on:
        (home / "souls" / SOUL / "awakening.md").write_text("You are.", encoding="utf-8")
        places = [place for place in await passed(_WAKING, on) if place.startswith(_TO_WAKE)]
        found = PointsFigure(0)
        for place in Random(seed).sample(places, min(points, len(places))):
            with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
                for statement in _ANEW:
                    connection.execute(statement)
            found.points += await played(_WAKING, on, crash=place)
            found.lost += not count(home, _AWAKE)
            found.doubled += max(0, count(home, _FIRST) - 1)
    found.shown = len(_posts(on)) + count(home, "SELECT count(*) FROM outbox")
    found.torn = len(faults_of(home))
    return found


def _first(places: list[str], begin: tuple[str, ...], seed: int) -> list[str]:
    """The places that begin so, and then the others as the dice choose."""
    others = [place for place in places if not place.startswith(begin)]
    return [*(place for place in places if place.startswith(begin)), *Random(seed).sample(others, len(others))]


async def _killed(on: KillStage, scene: Scene, places: list[str]) -> int:
    """Play a scene with a daemon killed at each of these; gives at how many one died."""
    return len({place for place in places if await played(scene, on, crash=place)})


def _below(on: KillStage, message: WorkspaceMessage) -> list[WorkspaceMessage]:
    timeline = on.workspace.workspace.state.timeline(message.channel)
    return [post for ts in timeline.replies(message.ts) if (post := timeline.get(ts)) is not None]


def _posts(on: KillStage) -> list[WorkspaceMessage]:
    """All that the soul has ever posted, also what was deleted."""
    state = on.workspace.workspace.state
    everything = (post for channel in state.channels for post in state.timeline(channel).everything())
    return [post for post in everything if post.author == state.app.user]
