"""It learns in a lull: one call for several messages, none while people write."""

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.learning import notes, tell, will_learn
from tests.journeys.own_memory import KNOWN

LULL = 90.0


def learning_calls(house: House) -> list[str]:
    return [shown(prompt) for prompt in house.prompts if prompt.step == "visitor_notes"]


async def started(house: House) -> None:
    """A daemon that learns in a lull, with time that passes by a turn alone."""
    house.clock.stand_still()
    await house.start(learn_after=LULL)
    await tell(house, "Ada", "dm", "hello", learned=False)


async def learned(house: House) -> None:
    """Turn the clock by seconds until it begins to learn, and wait for the end."""

    async def begun() -> bool:
        if learning_calls(house):
            return True
        house.clock.turn(1)
        return False

    await house.when(begun)
    await house.events.until("person.modelled")


async def test_one_call_learns_from_all_that_was_said_before_the_lull(empty_house: House) -> None:
    house = empty_house
    await started(house)
    await tell(house, "Ada", "dm", "I keep bees")
    house.clock.turn(LULL - 1)
    await tell(house, "Ada", "dm", "and I keep goats")
    house.clock.turn(LULL - 1)
    await house.idle()
    assert learning_calls(house) == []
    await tell(house, "Ada", "dm", "thanks", learned=False)  # small talk does not put it off
    will_learn(house.model, "keeps bees", quote="I keep bees")
    await learned(house)
    [asked] = learning_calls(house)
    assert "I keep bees" in asked
    assert "I keep goats" in asked
    assert await notes(house) == {"U0ADA dm:D0ADA": ["keeps bees"]}


async def test_after_eight_messages_it_waits_no_longer(empty_house: House) -> None:
    house = empty_house
    await started(house)
    for number in range(7):
        await tell(house, "Ada", "dm", f"I keep {number} bees")
    await house.idle()
    assert learning_calls(house) == []
    will_learn(house.model, "keeps 7 bees", quote="I keep 7 bees")
    await tell(house, "Ada", "dm", "I keep 7 bees")
    await house.events.until("person.modelled")
    assert len(learning_calls(house)) == 1


async def test_who_asks_what_is_known_after_a_first_message_is_learned_from_as_the_answer_says(
    empty_house: House,
) -> None:
    house = empty_house
    await house.start(learn_after=LULL)
    await tell(house, "Chloe", "dm", "what time is it?", learned=False)
    assert "Not looked through" not in await house.answered("Chloe", "dm", KNOWN), "nothing was told"
    await house.idle()
    assert learning_calls(house) == []
    for number, (person, waited) in enumerate({"Ada": 0.0, "Ben": LULL}.items(), 1):
        await tell(house, person, "dm", "I keep many bees")
        house.clock.turn(waited)
        await house.idle()
        will_learn(house.model, "keeps many bees", quote="I keep many bees")
        assert "Not looked through yet: 1 of your messages." in await house.answered(person, "dm", KNOWN), person
        await house.events.until("person.modelled", number)
        answer = await house.answered(person, "dm", KNOWN)
        assert "keeps many bees" in answer, person
        assert "Not looked through" not in answer, person


async def test_what_its_person_had_forgotten_is_not_learned_again_when_another_message_changes(
    empty_house: House,
) -> None:
    house = empty_house
    await started(house)
    await tell(house, "Ada", "dm", "I keep bees")
    will_learn(house.model, "keeps bees", quote="I keep bees")
    await tell(house, "Ada", "dm", "and I weave cloth")
    await learned(house)
    await house.answered("Ada", "dm", KNOWN)
    assert await house.answered("Ada", "dm", "forget 1") == "Forgotten: keeps bees"
    [row] = await house.rows("SELECT ts FROM turns WHERE body = 'and I weave cloth'")
    await house.people.edit("Ada", "dm", row["ts"], "and I weave linen")
    await house.acknowledged()
    will_learn(house.model, "keeps bees", quote="I keep bees")
    await tell(house, "Ada", "dm", "I like tea")
    calls = len(learning_calls(house))

    async def again() -> bool:
        house.clock.turn(1)
        return len(learning_calls(house)) > calls

    await house.when(again)
    await house.idle()
    assert await notes(house) == {}
