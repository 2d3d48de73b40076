"""What taught something and was passed over in its lull is learned all the same: of whomever, and after any failure."""

import re

from daemon.core.errors import ModelRefused
from daemon.core.ports.services import Prompt
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.learning import MINUTE, noted, notes, tell
from tests.journeys.nights import AT_THREE, night
from tests.models import Reply

LULL = 90.0
HALF_AN_HOUR = 30 * MINUTE
KEEPS = {"Ada": "bees", "Ben": "goats", "Chloe": "sheep", "Dan": "ducks", "Eve": "hens"}


async def started(house: House) -> None:
    """A daemon that learns in a lull, with time that passes by a turn alone."""
    house.clock.stand_still()
    await house.start(learn_after=LULL)


async def in_thread(house: House, person: str, text: str, thread: str = "", *, learned: bool = True) -> str:
    """Say something in a thread of #general, or begin one; gives the thread."""
    house.model.replies.append(tagged("I see.", learned=learned))
    await house.answered(person, "general", f"@soul {text}", thread=thread)
    [one] = await house.rows("SELECT DISTINCT thread FROM conversations WHERE channel = 'C0GENERAL'")
    return str(one["thread"])


async def learns_what_is_kept(prompt: Prompt) -> Reply:
    """What a model proposes that reads who keeps what."""
    said = re.findall(r"I keep (?:many )?(\w+)", shown(prompt))
    return noted(f"keeps {said[-1]}", quote=f"I keep many {said[-1]}")


async def until_learned(house: House, people: int, seconds: float) -> None:
    """Turn the clock by so many seconds in all, and wait until as many people are known."""
    house.clock.turn(seconds)

    async def known() -> bool:
        return len(await notes(house)) >= people

    await house.when(known)


async def test_of_five_who_teach_in_one_thread_all_are_learned_from_in_one_lull(empty_house: House) -> None:
    await started(empty_house)
    for added in ("Dan", "Eve"):
        await empty_house.people.add_person(added)
        await empty_house.people.join(added, "C0GENERAL")
    empty_house.model.steps["visitor_notes"].extend([learns_what_is_kept] * 5)
    thread = ""
    for person in KEEPS:
        thread = await in_thread(empty_house, person, "hello", thread, learned=False)
    for person, kept in KEEPS.items():
        await in_thread(empty_house, person, f"I keep many {kept}", thread)
    await until_learned(empty_house, 5, LULL + 1)
    assert sorted(line for lines in (await notes(empty_house)).values() for line in lines) == sorted(
        f"keeps {kept}" for kept in KEEPS.values()
    )


async def test_what_the_first_message_of_a_person_taught_is_learned_once_enough_was_said(empty_house: House) -> None:
    await started(empty_house)
    await tell(empty_house, "Ada", "dm", "I keep many bees")
    empty_house.clock.turn(LULL + 1)
    await empty_house.events.until("job.done")
    await tell(empty_house, "Ada", "dm", "thanks", learned=False)
    assert await notes(empty_house) == {}
    empty_house.model.steps["visitor_notes"].append(learns_what_is_kept)
    await until_learned(empty_house, 1, HALF_AN_HOUR)
    assert await notes(empty_house) == {"U0ADA dm:D0ADA": ["keeps bees"]}


async def test_what_waits_behind_a_look_that_failed_for_good_is_learned_by_the_night(empty_house: House) -> None:
    await empty_house.start(learn_after=LULL, consolidate=AT_THREE, consolidate_zone="UTC")
    await tell(empty_house, "Ada", "dm", "hello", learned=False)
    await tell(empty_house, "Ada", "dm", "I keep many bees")
    now = empty_house.clock.now_ms()
    await empty_house.change("UPDATE jobs SET state = 'dead', settled_ms = ?, reason = 'the model was away'", now)
    empty_house.model.steps["visitor_notes"].append(learns_what_is_kept)
    empty_house.clock.turn(24 * 60 * MINUTE)
    await night(empty_house)
    assert await notes(empty_house) == {"U0ADA dm:D0ADA": ["keeps bees"]}


async def test_words_that_no_model_reads_keep_it_from_learning_of_nobody_else(empty_house: House) -> None:
    await started(empty_house)

    async def refuses_bees(prompt: Prompt) -> Reply:
        if "bees" in shown(prompt):
            raise ModelRefused("no", hint="nothing to do")
        return await learns_what_is_kept(prompt)

    empty_house.model.steps["visitor_notes"].extend([refuses_bees] * 2)
    thread = await in_thread(empty_house, "Ada", "hello", learned=False)
    await in_thread(empty_house, "Ben", "hello", thread, learned=False)
    await in_thread(empty_house, "Ben", "I keep many goats", thread)
    await in_thread(empty_house, "Ada", "I keep many bees", thread)
    await until_learned(empty_house, 1, LULL + 1)
    assert await notes(empty_house) == {"U0BEN workspace:T0LOCAL": ["keeps goats"]}
