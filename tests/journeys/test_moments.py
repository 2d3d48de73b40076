"""What wakes a thought beside goals and surprises: the end of a visit, and what an admin decided of a proposal."""

from typing import Any

import pytest

from daemon.core.errors import ModelUnavailable
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.silences import DORMANT, END, HOUR
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import after, counted, spoken_to

ALONE: dict[str, Any] = {
    "name": "tess",
    "cycle_enabled": True,
    "cycle_tokens_hour": 1_000_000,
    "cycle_tokens_day": 10_000_000,
    "quiet_hours": "",
}
TESS = {"SOUL_NAME": "tess"}
ENDED = "(The visit here has ended"


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself; its visits end."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE)
    return empty_house


async def silent(house: House) -> None:
    """Let a visit end."""
    before = len(await house.rows("SELECT 1 FROM inbox WHERE process IN ('dormant', 'exiting')"))
    house.clock.turn(DORMANT)
    await _idle_events(house, before + 1)
    house.clock.turn(END)
    await _idle_events(house, before + 2)


async def _idle_events(house: House, count: int) -> None:
    done = "SELECT count(*) FROM inbox WHERE process IN ('dormant', 'exiting') AND state NOT IN ('new', 'claimed')"
    await house.row(f"SELECT 1 WHERE ({done}) >= ?", count)
    await house.idle()


async def decide(house: House, act: str, name: str) -> None:
    """Decide on a proposal, as an admin would at this moment of the moved clock."""
    await house.command("approvals", act, name, env=TESS)
    await house.change("UPDATE approvals SET decided_ms = ? WHERE id = ?", house.clock.now_ms(), name)


async def talk_aside(house: House) -> str:
    """A thread in which the soul answered, and in which Ada then said something to Ben; gives its ts."""
    house.model.replies.append(thought("I see."))
    ts = await house.heard("Ada", "general", "@soul hello")
    aside = await house.say("Ada", "general", "@Ben could you look at the blue one?", thread=ts)
    assert await house.final_state(aside) == "ignored"
    return ts


async def test_the_end_of_a_visit_is_thought_about_once_where_something_was_said_since(thinker: House) -> None:
    await talk_aside(thinker)
    posts = len(await thinker.posting_calls())
    thinker.model.replies.append(thought("Goodbye, all!", inner_speech="they look at the blue one"))
    await silent(thinker)
    await after(thinker, 3, 1)
    prompt = shown(thinker.prompts[-1])
    assert ENDED in prompt
    assert "the blue one" in prompt
    row = await thinker.one("SELECT occasion, process, spoke, refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert tuple(row) == ("visit_end", "reflecting", 0, '[["external_speech", "not_invited"]]')
    given = (await thinker.one("SELECT input FROM thoughts ORDER BY seq DESC LIMIT 1"))["input"]
    assert "the visit has ended" in given
    calls = len(thinker.prompts)
    for _ in range(4):
        thinker.clock.turn(8 * HOUR)
        await thinker.idle()
    assert (len(thinker.prompts), len(await thinker.posting_calls())) == (calls, posts)
    assert await counted(thinker) == {"": 1}


async def test_words_that_the_house_alone_answered_are_thought_about_at_the_end_of_the_visit(thinker: House) -> None:
    await spoken_to(thinker, "hello")
    thinker.model.steps["think"] += [ModelUnavailable("down", hint="wait")] * 12
    await thinker.answered("Ada", "dm", "is the import through?")
    thinker.model.steps["think"].clear()
    assert len(await thinker.rows("SELECT 1 FROM thoughts")) == 1
    thinker.model.replies.append(thought(None, inner_speech="she waits for an answer"))
    await silent(thinker)
    await after(thinker, 3, 1)
    assert "is the import through?" in shown(thinker.prompts[-1])
    row = await thinker.one("SELECT occasion, output FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert row["occasion"] == "visit_end"
    assert "she waits for an answer" in row["output"]


async def test_what_an_admin_decides_of_a_proposal_is_thought_about_at_once_and_once(thinker: House) -> None:
    house = thinker
    await house.command("mind", "authority", "set", "goals", "1", "--why", "to see", env=TESS)
    await spoken_to(house, "the import, please", goal_updates=[adding("look at the import")])
    await spoken_to(house, "and the export", goal_updates=[adding("look at the export")])
    waiting = [row["id"] for row in await house.rows("SELECT id FROM approvals WHERE state = 'waiting' ORDER BY id")]
    assert len(waiting) == 2
    await house.stop()
    await decide(house, "approve", waiting[0])
    await decide(house, "refuse", waiting[1])
    house.model.replies.append(thought(None, inner_speech="so I may"))
    await house.start(**ALONE)
    await after(house, 3, 1)
    prompt = shown(house.prompts[-1])
    assert "(An admin has decided on what you proposed" in prompt
    assert "Allowed by an admin: goal_updates" in prompt
    assert "Declined by an admin: goal_updates" in prompt
    assert (await house.one("SELECT occasion FROM thoughts ORDER BY seq DESC LIMIT 1"))["occasion"] == "result"
    calls = len(house.prompts)
    house.clock.turn(8 * HOUR)
    await house.idle()
    assert (len(house.prompts), await counted(house)) == (calls, {"": 1})


async def test_what_was_decided_long_ago_wakes_no_soul_whose_inner_life_begins(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**{**ALONE, "cycle_enabled": False})
    await empty_house.command("mind", "authority", "set", "goals", "1", "--why", "to see", env=TESS)
    await spoken_to(empty_house, "the import, please", goal_updates=[adding("look at the import")])
    await decide(empty_house, "approve", (await empty_house.one("SELECT id FROM approvals"))["id"])
    empty_house.clock.turn(25 * HOUR)
    await empty_house.idle()
    calls = len(empty_house.prompts)
    await empty_house.restart(**ALONE)
    empty_house.clock.turn(60)
    await empty_house.idle()
    assert (len(empty_house.prompts), await counted(empty_house)) == (calls, {})
