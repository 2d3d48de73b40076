"""A soul thinks by itself about what is due and what surprised it: within its budget, after all words, and silently."""

import asyncio
import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from daemon.core.config import load_settings
from daemon.core.ports.services import Effort, Prompt
from daemon.llm.prices import most_tokens_of
from daemon.memory.records import Delivery
from daemon.runtime import conversation
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, expecting, thought
from tests.journeys.ticking import ALONE, after, counted, spoken_to
from tests.models import Reply
from tests.models import after as until

ROOT: Final = Path(__file__).parents[3]
HOUR, DAY = 3_600, 86_400


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE)
    return empty_house


async def goal(house: House) -> str:
    """The state of the newest goal."""
    return str((await house.one("SELECT state FROM goals ORDER BY seq DESC LIMIT 1"))["state"])


async def test_a_goal_that_is_due_is_thought_about_once_and_nothing_is_posted(thinker: House) -> None:
    long = "the minutes of the meeting " * 500
    await spoken_to(thinker, long, goal_updates=[adding("look at the import", due="in 2h")])
    assert len(shown(thinker.prompts[-1])) > len(long)
    posts = len(await thinker.posting_calls())
    done = {"action": "complete", "goal_id": "G1", "why": "it ran"}
    thinker.model.replies.append(thought("It ran, everybody!", goal_updates=[done], inner_speech="it is done"))
    await after(thinker, 2 * HOUR + 1, 1)
    prompt = shown(thinker.prompts[-1])
    assert "Nobody has said anything just now" in prompt
    assert 'about="your goal G1, due since 20' in prompt
    assert "Your last thought here was 2 hours ago. This visit has lasted 2 hours, with 1 reply of yours.\n" in prompt
    assert max(len(message.text) for message in thinker.prompts[-1].messages) < len(long) / 2
    row = await thinker.one("SELECT occasion, process, spoke, refused, output FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert tuple(row)[:4] == ("due", "reflecting", 0, '[["external_speech", "not_invited"]]')
    assert "everybody" not in row["output"]
    assert await goal(thinker) == "done"
    calls = len(thinker.prompts)
    for _ in range(2):
        thinker.clock.turn(16 * HOUR)
        await thinker.idle()
    assert (len(thinker.prompts), len(await thinker.posting_calls())) == (calls, posts)
    assert await counted(thinker) == {"": 1}
    assert [event["occasion"] for event in thinker.events.named("thought.kept")] == ["words", "due"]
    await spoken_to(thinker, "hello again")
    state = await thinker.one("SELECT process FROM conversations WHERE place = 'dm'")
    assert state["process"] != "reflecting"


@pytest.mark.slow
async def test_a_goal_that_stays_open_is_thought_about_ever_later_until_it_is_the_same_twice(thinker: House) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    for number, pause in enumerate((2 * HOUR, HOUR, 2 * HOUR, 4 * HOUR), 1):
        thinker.model.replies.append(thought(None, inner_speech=f"not yet, {number}"))
        await after(thinker, pause + 1, number)
    thinker.model.replies.append(thought(None, inner_speech="not yet, 4"))
    await after(thinker, 8 * HOUR + 1, 5)
    calls = len(thinker.prompts)
    thinker.clock.turn(3 * DAY)
    await thinker.idle()
    assert (len(thinker.prompts), await counted(thinker)) == (calls, {"": 5})
    assert await goal(thinker) == "open"


async def test_a_surprise_wakes_it_and_its_next_ones_do_not_until_a_person_writes(thinker: House) -> None:
    await spoken_to(thinker, "hello", predictions=[expecting("an answer", 0.9, "in 1h", kind="reply")])
    for number in range(4):
        wrong = [expecting(f"word {number}", 0.9, "in 1h", kind="mention", words=[f"w{number}"])]
        thinker.model.replies.append(thought(None, inner_speech=f"{number}", predictions=wrong))
    await after(thinker, HOUR + 60, 1)
    row = await thinker.one("SELECT occasion, surprise FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert tuple(row) == ("surprise", pytest.approx(0.9))
    assert "## What came otherwise than you expected" in shown(thinker.prompts[-1])
    for _ in range(3):
        thinker.clock.turn(2 * HOUR)
        await thinker.no_row("SELECT 1 FROM predictions WHERE state = 'open' OR woken = 0")
    assert await counted(thinker) == {"": 1}
    thinker.model.replies.clear()
    await spoken_to(thinker, "and now?", predictions=[expecting("an answer", 0.9, "in 1h", kind="reply")])
    thinker.model.replies.append(thought(None))
    await after(thinker, HOUR + 60, 2)


@pytest.mark.slow
@pytest.mark.parametrize("days", [0, 2])
async def test_a_surprise_that_waits_is_dropped_once_it_is_seen_or_a_day_old(empty_house: House, days: int) -> None:
    more = 'mind = "cycle"\nsubprocesses = []\n'
    write_soul(empty_house.settings.home, more=f"{more}\n[cycle]\ntokens_hour = 100\n")
    await empty_house.start(**ALONE)
    held = expecting("Ada says that the import works", 0.9, "in 2h", kind="mention", words=["works"])
    await spoken_to(empty_house, "let us see", predictions=[held])
    asked = len(empty_house.prompts)
    await after(empty_house, 2 * HOUR + 5, 1)
    assert (len(empty_house.prompts), await counted(empty_house)) == (asked, {"budget": 1})
    assert not await empty_house.rows("SELECT 1 FROM reservations")
    if not days:
        await spoken_to(empty_house, "well?")
        assert "## What came otherwise than you expected" in shown(empty_house.prompts[-1])
    calls = len(empty_house.prompts)
    write_soul(empty_house.settings.home, more=more)
    await empty_house.stop()
    empty_house.clock.turn(HOUR + days * DAY)
    await empty_house.start(**ALONE)
    await empty_house.no_row("SELECT 1 FROM ticks WHERE due_ms IS NOT NULL OR inbox <> ''")
    assert (len(empty_house.prompts), await counted(empty_house)) == (calls, {"budget": 1})


@pytest.mark.slow
async def test_one_talk_that_fits_no_budget_keeps_no_other_from_being_thought_about(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE | {"cycle_tokens_hour": 7_000})
    for number in range(12):
        await spoken_to(empty_house, f"{number} {'the import fails again ' * 20}")
    await spoken_to(empty_house, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    empty_house.model.replies.append(thought("I see.", goal_updates=[adding("look at the roof", due="in 2h")]))
    await empty_house.answered("Ben", "dm", "the roof, please")
    empty_house.model.default = thought(None, goal_updates=[{"action": "complete", "goal_id": "G2", "why": "done"}])
    await after(empty_house, 2 * HOUR + 1, 2)
    assert await counted(empty_house) == {"budget": 1, "": 1}
    (skipped,) = empty_house.events.named("tick.skipped")
    assert "is too small for this one alone" in str(skipped["reason"])
    assert await goal(empty_house) == "done"
    row = await empty_house.one("SELECT due_ms, pause_ms FROM ticks WHERE about = 'G1'")
    assert row["pause_ms"] == HOUR * 500
    empty_house.clock.turn(HOUR / 2 + 1)
    await after(empty_house, 0, 3)
    assert (await empty_house.one("SELECT pause_ms FROM ticks WHERE about = 'G1'"))["pause_ms"] == HOUR * 1_000


@pytest.mark.slow
async def test_a_goal_that_stays_open_is_thought_about_until_it_is_stale_and_shown_once_more(thinker: House) -> None:
    goals = [adding("look at the import", due="in 2h"), adding("look at the roof", due="in 16 days")]
    await spoken_to(thinker, "the import and the roof, please", goal_updates=goals)
    for day in range(1, 15):
        thinker.model.default = thought(None, inner_speech=f"day {day}, still nothing")
        await after(thinker, DAY, day)
    thinker.clock.turn(DAY)
    await thinker.no_row("SELECT 1 FROM ticks WHERE about = 'G1' AND due_ms IS NOT NULL")
    await thinker.idle()
    assert await counted(thinker) == {"": 14}
    await after(thinker, DAY + 1, 15)
    assert "look at the import" in shown(thinker.prompts[-1])
    assert [row["stale_shown"] for row in await thinker.rows("SELECT stale_shown FROM goals ORDER BY seq")] == [1, 0]


@pytest.mark.slow
async def test_one_that_was_begun_too_often_is_counted_as_failed_and_comes_again(thinker: House) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    claimed = "UPDATE inbox SET attempts = 3 WHERE id = NEW.id"  # by daemons that died over it
    await thinker.change(
        f"CREATE TRIGGER died AFTER INSERT ON inbox WHEN NEW.process = 'reflecting' BEGIN {claimed}; END"
    )
    calls, posts = len(thinker.prompts), len(await thinker.posting_calls())
    await after(thinker, 2 * HOUR + 1, 1)
    assert (len(thinker.prompts), len(await thinker.posting_calls())) == (calls, posts)
    assert await counted(thinker) == {"breaker": 1}
    await thinker.change("DROP TRIGGER died")
    done = {"action": "complete", "goal_id": "G1", "why": "it ran"}
    thinker.model.replies.append(thought(None, goal_updates=[done]))
    await after(thinker, HOUR + 1, 2)
    assert await goal(thinker) == "done"


@pytest.mark.slow
async def test_one_that_can_not_be_handled_is_tried_again(thinker: House) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    broken = "UPDATE inbox SET params = 'no JSON' WHERE id = NEW.id"
    await thinker.change(
        f"CREATE TRIGGER broken AFTER INSERT ON inbox WHEN NEW.process = 'reflecting' BEGIN {broken}; END"
    )
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.row("SELECT 1 FROM inbox WHERE state = 'dead' AND process = 'reflecting'")
    await thinker.change("DROP TRIGGER broken")
    done = {"action": "complete", "goal_id": "G1", "why": "it ran"}
    thinker.model.replies.append(thought(None, goal_updates=[done]))
    await after(thinker, HOUR + 1, 1)
    assert await goal(thinker) == "done"


async def test_words_come_first_and_their_thought_is_given_what_was_due(thinker: House) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    never = asyncio.Event()
    thinker.model.steps["think"].append(until(never, thought(None)))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.called(2)
    await spoken_to(thinker, "and the import?")
    prompt = shown([one for one in thinker.prompts if one.step == "think"][-1])
    assert "Nobody has said anything just now" not in prompt
    assert "due since" in prompt
    assert await counted(thinker) == {"words": 1}


async def test_words_that_come_while_it_looks_are_answered(thinker: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])

    async def uncut(_: object, running: Awaitable[Delivery | None]) -> Delivery | None:
        return await running

    async def looks(_: Prompt) -> Reply:
        await thinker.say("Ada", "dm", "are you there?")
        await thinker.acknowledged()
        return thought(None, memory_ops=[{"type": "retrieve", "query": "the import"}])

    monkeypatch.setattr(conversation, "cancel_on_message", uncut)
    thinker.model.steps["think"] += [looks, thought(None, inner_speech="nothing found"), thought("I am here.")]
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.settled("D0ADA", "I am here.")
    assert [row["state"] for row in await thinker.rows("SELECT state FROM inbox WHERE modality = 'words'")] == [
        "answered",
        "answered",
    ]
    assert await counted(thinker) == {"": 1}


async def test_a_phrase_that_the_house_answers_leaves_what_was_due_to_be_thought_about_after_it(thinker: House) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    never = asyncio.Event()
    thinker.model.steps["think"].append(until(never, thought(None)))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.called(2)
    done = {"action": "complete", "goal_id": "G1", "why": "it ran"}
    thinker.model.replies.append(thought(None, goal_updates=[done]))
    await thinker.answered("Ada", "dm", "follow up status")
    await after(thinker, 1, 2)
    assert await counted(thinker) == {"words": 1, "": 1}
    assert await goal(thinker) == "done"


@pytest.mark.slow
async def test_a_day_with_hundreds_of_goals_of_which_nothing_is_due_costs_no_call(thinker: House) -> None:
    await spoken_to(thinker, "the import, please", goal_updates=[adding("look at the import", due="in 40h")])
    await thinker.change(
        """
        INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words, priority,
          state, follow_up, due_ms, created_ms, touched_ms, why, thought, changed_by)
        WITH RECURSIVE n (k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM n WHERE k < 500)
        SELECT soul, 'G' || k, workspace, conversation, audience, readers, behalf, goal || k, same_words || k, priority,
          state, 0, due_ms + k, created_ms, touched_ms, why, thought, changed_by FROM goals, n WHERE id = 'G1'
        """
    )
    columns = ", ".join(row["name"] for row in await thinker.rows("PRAGMA table_info(conversations)"))
    others = columns.replace("id,", "id || 'x' || k,", 1).replace(" channel,", " channel || 'x' || k,", 1)
    await thinker.change(
        f"""
        INSERT INTO conversations ({columns})
        WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 200)
        SELECT {others} FROM conversations, n WHERE place = 'dm' LIMIT 200
        """
    )
    await thinker.change("UPDATE goals SET conversation = conversation || 'x' || (seq % 200 + 1) WHERE id <> 'G1'")
    await thinker.idle()
    calls, posts = len(thinker.prompts), len(await thinker.posting_calls())
    for _ in range(24):
        thinker.clock.turn(HOUR)
        await thinker.idle()
    assert (len(thinker.prompts), len(await thinker.posting_calls())) == (calls, posts)
    assert await counted(thinker) == {}
    assert (await thinker.one("SELECT count(DISTINCT conversation) AS n FROM goals"))["n"] == 201


@pytest.mark.slow
async def test_it_wakes_by_its_own_wish_and_no_more_after_two_to_no_effect(thinker: House) -> None:
    wish = {"seconds": 600, "why": "to see"}
    await spoken_to(thinker, "the import runs", cycle_rate=wish)
    for number in (1, 2):
        thinker.model.replies.append(thought(None, inner_speech=f"still running {number}", cycle_rate=wish))
        await after(thinker, 601, number)
    row = await thinker.one("SELECT occasion, refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert tuple(row) == ("wake", '[["cycle_rate", "rate"]]')
    calls = len(thinker.prompts)
    thinker.clock.turn(HOUR)
    await thinker.idle()
    assert len(thinker.prompts) == calls
    await spoken_to(thinker, "and now?", cycle_rate={"seconds": 1, "why": "at once"})
    row = await thinker.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert row["refused"] == '[["cycle_rate", "out_of_range"]]'
    await spoken_to(thinker, "go on", cycle_rate=wish)
    thinker.model.replies.append(thought(None, inner_speech="done"))
    await after(thinker, 601, 3)


async def test_a_thought_of_a_shipped_soul_fits_the_default_budget_for_any_model(empty_house: House) -> None:
    folder = empty_house.settings.home / "souls" / "minoan"
    shutil.copytree(ROOT / "souls" / "minoan", folder)
    (folder / "soul.toml").write_text('mind = "cycle"\n' + (folder / "soul.toml").read_text())
    empty_house.model.replies.append(thought(None))
    await empty_house.start(**ALONE | {"name": "minoan"})
    await after(empty_house, 0, 1)  # it awakens
    await spoken_to(empty_house, "the import, please", goal_updates=[adding("look at the import", due="in 2h")])
    empty_house.model.replies.append(thought(None))
    await after(empty_house, 2 * HOUR + 1, 2)
    alone = [prompt for prompt in empty_house.prompts if prompt.effort is Effort.LOW]
    assert len(alone) == 2
    for model in ("anthropic/claude-opus-5", "openai/gpt-5.2", "local/x", "ollama/qwen3:8b"):
        taken = [most_tokens_of(replace(prompt, model=model)) for prompt in alone]
        assert max(taken) <= load_settings().cycle_tokens_hour, (model, taken)
