"""Short scenes that lead a daemon past every commit and every request, and the points to kill it at.

`played` plays one to its end; after a crash another daemon takes over, and the users go on posting.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import field

from daemon.core.value import Value
from daemon.local_slack.model import WorkspaceMessage
from tests.kill.loop import KillStage, alive, until_dead
from tests.kill.verdict import Watch

LEASE: Final = 5.0  # seconds; shorter ones a busy machine outsleeps, and who outsleeps a lease may post twice
_PATIENCE: Final = 60.0  # seconds
_LAST_MOMENT: Final = 3.0  # seconds; a condition may hold just before the daemon dies of it

POSTED: Final = """
    NOT EXISTS (SELECT 1 FROM inbox WHERE state IN ('new', 'claimed'))
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
    """
_SETTLED = f"""
    SELECT {POSTED} AND NOT EXISTS (SELECT 1 FROM jobs WHERE state IN ('ready', 'running'))
    AND NOT EXISTS (SELECT 1 FROM session_titles WHERE state = 'due')
    AND NOT EXISTS (SELECT 1 FROM intentions WHERE state = 'waiting' AND slot <> 'idle')
    """
_DORMANT = f"{_SETTLED} AND NOT EXISTS (SELECT 1 FROM intentions WHERE state = 'waiting' AND process = 'dormant')"
_PARKED = f"""
    SELECT {POSTED} AND EXISTS (SELECT 1 FROM conversations
                                 WHERE process = 'problem_solving' AND process_memory <> '{{}}')
    """
_THINKING = "SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'claimed' AND modality = 'words')"
_REFLECTING = "SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND kind = 'models_the_visitor')"


class Scene(Value):
    """`lines` are the messages, each with the query that holds when the next one may follow; `pace` is the model's.

    Where a message is empty, none is posted.
    `person` is the user whose DM the messages stand in; without one, users and places are random. `settings` are those
    of its daemons that differ.
    """

    name: str
    lines: Sequence[tuple[str, str]]
    pace: float = 0.0
    person: str = ""
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


SCENES: Final = (
    Scene("plain", (("please", _SETTLED),)),
    Scene("streamed", (("please", _SETTLED),), pace=0.01),
    Scene("titled", (("please", _SETTLED),), pace=0.01, person="U0ADA"),  # only a reply that streams opens its session
    Scene("silent", (("please", _DORMANT),), person="U0BEN"),
    Scene("reminded", (("please remind me", _SETTLED),), person="U0BEN"),
    Scene(
        "parked",
        (("please find out, and ask me", _PARKED), ("as you wanted to know", _SETTLED)),
        person="U0CHLOE",
    ),
    Scene(
        "interrupted",
        (("please find out slowly", _THINKING), ("please ponder", _REFLECTING), ("please", _SETTLED)),
        person="U0ADA",
    ),
)


def trials(passed: Mapping[str, Sequence[str]], hit: Collection[str]) -> Iterator[tuple[Scene, str]]:
    """The points to kill each scene at: all of them in the plain scenes, and later those that are not yet in `hit`.

    A point that one scene passes by chance and then misses is tried again in each later scene that passes it.
    """
    for scene in SCENES:
        for place in passed[scene.name]:
            if not scene.person or place not in hit:
                yield scene, place


async def places(on: KillStage) -> dict[str, list[str]]:
    """Every commit and every request that a daemon passes from its start to the end of each scene."""
    return {scene.name: await passed(scene, on) for scene in SCENES}


async def passed(scene: Scene, on: KillStage) -> list[str]:
    """The same for one scene."""
    file = on.home / f"passed-{scene.name}"
    await played(scene, on, passed=file)
    return sorted(set(file.read_text(encoding="utf-8").split()))


async def played(scene: Scene, on: KillStage, *, crash: str = "", passed: Path | None = None) -> bool:
    """Play a scene with a daemon that crashes at a point; gives whether it did."""
    file = str(passed or on.home / "passed")
    pid = await on.daemons.spawn(crash=crash, passed=file, pace=scene.pace, lease=LEASE, settings=scene.settings)
    died = False
    for words, reached in scene.lines:
        message = on.crowd.say(words, scene.person) if words else None
        if not await _until(on.home, pid, message, reached) and not alive(pid):
            died = True
            if scene.person:
                pid = await on.daemons.spawn(pace=scene.pace, lease=LEASE, settings=scene.settings)
                await _until(on.home, pid, message, reached)
    if crash and not died:
        with suppress(TimeoutError):
            await asyncio.wait_for(until_dead(pid), _LAST_MOMENT)
        died = not alive(pid)
    await on.daemons.end(pid)
    return died


async def _until(home: Path, pid: int, message: WorkspaceMessage | None, reached: str) -> bool:
    """Wait until a message is stored and then until a query holds; False when the daemon dies or it takes long."""
    stored = f"SELECT count(*) FROM inbox WHERE ts = '{message.ts}'" if message else "SELECT 1"
    with closing(Watch(home)) as watch, suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while alive(pid):
                await asyncio.sleep(0.01)  # a file has no events to wait on
                if watch.count(stored) > 0 and watch.count(reached) > 0:
                    return True
    return False
