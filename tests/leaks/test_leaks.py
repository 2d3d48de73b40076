"""No word is shown to readers who may not know it, nearly each is to those who may; a broken check is noticed."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.perception import Readers
from daemon.memory.admin import remembered
from daemon.memory.knowledge import senses, user_models
from daemon.memory.people import known
from daemon.memory.retrieval import rows
from tests import chance
from tests.leaks import play as leaks
from tests.leaks.every_arm import ARMS
from tests.leaks.ground import Change
from tests.leaks.parrot import parrots
from tests.leaks.play import play

_OF_FEW = 0.4  # of the share that the figure `leaks` asks of many worlds: in a few, one fact decides many probes
_WORLDS = {"promises": (1, 2)}  # few are open at once, so that it takes more to see one
MOVES = (Change.JOIN, Change.LEAVE, Change.CONVERT)


@pytest.mark.parametrize("arm", sorted(ARMS))
async def test_nothing_leaks_in_random_worlds_and_what_may_be_known_is_recalled(arm: str) -> None:
    count = await play(100, chance.SEED, arm)
    print(count.line)
    assert not count.leaks
    assert count.recall >= ARMS[arm].recall * _OF_FEW


@pytest.mark.parametrize("thinks", [False, True], ids=["in words", "whole thoughts"])
async def test_a_parrot_that_posts_its_whole_prompt_leaks_nothing(*, thinks: bool) -> None:
    count = await parrots(16, 0, thinks=thinks)  # the same worlds each time; the figure `leaks` draws many others
    print(count.line)
    assert not count.leaks
    assert count.recall >= 0.7


def _all_members(readers: Readers) -> Readers:
    return replace(readers, members_only=True)


@pytest.mark.parametrize("arm", sorted(ARMS))
@pytest.mark.parametrize(
    "broken", [{"corrupt": _all_members}, {"deaf": True, "changes": MOVES}], ids=["guests as members", "no news"]
)
async def test_a_broken_check_of_the_readers_is_noticed(arm: str, broken: Mapping[str, Any]) -> None:
    assert any([(await play(100, world, arm, **broken)).leaks for world in _WORLDS.get(arm, (1,))])


@pytest.mark.parametrize("arm", ["text", "vectors", "facts", "command"])
async def test_a_query_that_asks_not_again_who_may_hear_is_noticed(arm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def anybody(*_: object, **__: object) -> tuple[str, dict[str, str]]:
        return "true", {}

    for module in (rows, senses, known, remembered, user_models):
        for name in ("heard_by", "record_heard_by"):
            monkeypatch.setattr(module, name, anybody, raising=False)
    assert (await play(100, 2, arm, changes=(Change.CONVERT, Change.JOIN, Change.LEAVE))).leaks


@pytest.mark.parametrize(
    ("check", "change"), [("require_rooms", Change.JOIN), ("require_no_narrowing", Change.CONVERT)]
)
async def test_a_commit_without_a_check_is_noticed(monkeypatch: pytest.MonkeyPatch, check: str, change: Change) -> None:
    async def passes(*_: object) -> None:
        """Ask nothing."""

    monkeypatch.setattr(leaks, check, passes)
    assert (await play(300, 3, "text", changes=(change,))).leaks
