"""Random messages, edits and deletions while daemons think, restart and drain: the end is always right."""

import asyncio
import random
from typing import Any

import pytest

from daemon.core.ports.models import Prompt
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.models import Reply

PEOPLE = ("Ada", "Ben", "Chloe")
_STEPS = 50


class Talk:
    """What one user wrote in their DM: the newest text of each message, and deleted texts."""

    def __init__(self, house: House, person: str, dice: random.Random) -> None:
        self.person, self._house, self._dice = person, house, dice
        self.words: dict[str, str] = {}
        self.gone: set[str] = set()
        self.deleted: set[str] = set()
        self._number = 0

    def _fresh(self) -> str:
        self._number += 1
        return f"{self.person.lower()}w{self._number:03d}x"

    async def act(self) -> None:
        """Post a message, or edit or delete one."""
        choice = self._dice.random()
        if choice < 0.6 or not self.words:
            word = self._fresh()
            self.words[await self._house.say(self.person, "dm", word)] = word
            return
        ts = self._dice.choice(list(self.words))
        self.gone.add(self.words.pop(ts))
        if choice < 0.8:
            self.deleted.add(ts)
            await self._house.people.delete(self.person, "dm", ts)
        else:
            self.words[ts] = self._fresh()
            await self._house.people.edit(self.person, "dm", ts, self.words[ts])


async def _noted(dice: random.Random) -> Reply:
    if dice.random() < 0.5:
        await asyncio.sleep(dice.random() * 0.05)  # a model that takes its time
    return tagged("Noted.")


_LONG: dict[str, Any] = {"lease": 3600.0, "deadline": 3600.0}  # longer than all that the clock may be turned


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_in_the_end_every_standing_message_is_answered_and_no_deleted_one_is_known(
    empty_house: House, seed: int
) -> None:
    house, dice = empty_house, random.Random(seed)

    async def model(_: Prompt) -> Reply:
        return await _noted(dice)

    house.model.default = model
    await house.start(**_LONG)
    talks = [Talk(house, person, dice) for person in PEOPLE]
    for _ in range(_STEPS):
        await dice.choice(talks).act()
        if dice.random() < 0.05:
            await house.restart(**_LONG)
        elif dice.random() < 0.3:
            await asyncio.sleep(dice.random() * 0.03)  # people take their time too
    house.clock.turn(3.1)  # what was on its way while a socket closed is sent again now
    waiting = asyncio.create_task(house.acknowledged())
    while not (await asyncio.wait((waiting,), timeout=5))[0]:
        house.clock.turn(61)  # where an acknowledgement took more than three seconds, Slack tries again after minutes
    await waiting
    await house.idle()
    for talk in talks:
        await house.answered(talk.person, "dm", "and now?")
        seen = shown(house.prompts[-1])
        assert [word for word in talk.words.values() if seen.count(word) != 1] == []
        assert [word for word in talk.gone if word in seen] == []
        assert [row["state"] for ts in talk.words for row in await _row(house, ts)] == ["answered"] * len(talk.words)
    await _each_post_once(house)


async def _row(house: House, ts: str) -> list[dict[str, str]]:
    return [dict(row) for row in await house.rows("SELECT state FROM inbox WHERE ts = ?", ts)]


async def _each_post_once(house: House) -> None:
    """Every post that memory.db calls sent stands in Slack once and finished, and there is no other."""
    posts = [post for room in ("D0ADA", "D0BEN", "D0CHLOE") for post in await house.people.posts_by_bot(room)]
    assert not [post for post in posts if post.get("streaming_state") == "in_progress"]
    keys = sorted(post["metadata"]["event_payload"]["key"] for post in posts)
    outbox = await house.rows("SELECT id, state FROM outbox")
    assert keys == sorted(row["id"] for row in outbox if row["state"] == "sent")
    assert not [row for row in outbox if row["state"] not in {"sent", "dropped"}]
