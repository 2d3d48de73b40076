"""Nights pass: facts that say the same become one, and a run can be undone."""

import json

from daemon.core.ports.services import Completion
from tests.journeys.house import House
from tests.journeys.learning import ABOUT_ME, noted, tell
from tests.journeys.nights import AT_THREE, night, runs, standing, to_the_minute_before_three
from tests.models import FakeModel

DAY = 86_400.0


async def learn(house: House, *lines: str) -> None:
    """Have Ada tell something in her DM, from which these lines are noted."""
    house.model.steps["visitor_notes"].append(noted(*lines))
    done = len(house.events.named("person.modelled"))
    await tell(house, "Ada", "dm", ABOUT_ME)
    await house.events.until("person.modelled", done + 1)
    await house.idle()


async def started(house: House) -> House:
    await house.start(consolidate=AT_THREE, consolidate_zone="UTC")
    await tell(house, "Ada", "dm", "hello there", learned=False)
    return house


async def test_two_facts_that_say_the_same_are_one_after_the_night(empty_house: House) -> None:
    house = await started(empty_house)
    await learn(house, "Ada likes to plan her days.")
    await learn(house, "Ada likes to plan  her days", "Ada plans the north pump.")
    assert len(await standing(house)) == 3
    await night(house)
    assert await standing(house) == ["Ada likes to plan her days.", "Ada plans the north pump."]
    [run] = await runs(house)
    assert (run["state"], run["audience"], run["tokens"]) == ("done", "dm:D0ADA", 0)
    assert json.loads(run["did"]) == {"merges_facts": 2}
    assert "same_lines" not in [prompt.step for prompt in house.prompts]
    await night(house)
    assert len(await runs(house)) == 1


async def test_an_admin_has_it_done_at_once_with_what_waits_to_be_learned(empty_house: House) -> None:
    await empty_house.start(consolidate="off", learn_after=3600.0)
    await tell(empty_house, "Ada", "dm", "hello there", learned=False)
    empty_house.model.steps["visitor_notes"].append(noted("Ada likes to plan", "Ada likes  to plan."))
    await tell(empty_house, "Ada", "dm", ABOUT_ME)
    assert await standing(empty_house) == []
    done = await empty_house.command("memory", "consolidate", "--json")
    [run] = json.loads(done)
    assert (run["state"], run["audience"]) == ("done", "dm:D0ADA")
    assert await standing(empty_house) == ["Ada likes to plan"]
    assert json.loads(await empty_house.command("memory", "consolidate", "--json")) == []


async def test_it_waits_until_half_an_hour_of_silence_is_over_and_goes_on_by_itself(empty_house: House) -> None:
    house = await started(empty_house)
    await learn(house, "Ada likes to plan")
    await learn(house, "Ada likes to plan.")
    to_the_minute_before_three(house)
    await tell(house, "Ben", "dm", "are you awake?", learned=False)
    house.clock.turn(120)
    await tell(house, "Ben", "dm", "good night", learned=False)
    house.clock.turn(20 * 60)
    await house.idle()
    assert len(await standing(house)) == 2
    house.clock.turn(11 * 60)
    await house.events.until("consolidation.done")
    assert await standing(house) == ["Ada likes to plan"]


async def test_what_was_undone_is_what_the_person_is_shown_again(empty_house: House) -> None:
    house = await started(empty_house)
    await learn(house, "Ada likes to plan")
    await learn(house, "Ada likes to plan.", "Ada keeps to the plan of pump two")
    await night(house)
    assert "1 fact" not in await house.answered("Ada", "dm", "what do you know about me")
    [run] = await runs(house)
    undone = json.loads(await house.command("memory", "undo", run["id"], "--json"))
    assert (len(undone["restored"]), undone["kept"]) == (2, [])
    assert len(await standing(house)) == 3


async def test_what_a_reply_draws_on_is_used_and_fades_not(empty_house: House) -> None:
    house = await started(empty_house)
    await learn(house, "Ada likes to plan")
    await house.answered("Ada", "dm", "and now something else")
    [used] = await house.rows("SELECT used, used_ms FROM facts")
    assert used["used"] > 0
    assert used["used_ms"] >= house.clock.now_ms() - 60_000


async def test_visits_that_are_closed_by_night_use_up_its_tokens_and_the_next_night_goes_on(empty_house: House) -> None:
    house = empty_house
    house.model = FakeModel(usage=Completion("scripted/test", tokens_in=4_000, tokens_out=1_000))
    await house.start(consolidate=AT_THREE, consolidate_zone="UTC", consolidate_tokens=5_500, visit_silence=10 * DAY)
    await tell(house, "Ada", "dm", "hello there", learned=False)
    await learn(house, "Ada likes to plan the north pump in the morning")
    await learn(house, "In the morning Ada plans the north pump, as she likes to do")
    house.model.steps["same_lines"].append('{"same": [1]}')
    await night(house)
    assert "close_episode" in [prompt.step for prompt in house.prompts]
    assert "same_lines" not in [prompt.step for prompt in house.prompts]
    [run] = await runs(house)
    assert (run["state"], run["error"]) == ("cut", "500 of 5500 tokens are left")
    await night(house)
    assert len(await standing(house)) == 1
