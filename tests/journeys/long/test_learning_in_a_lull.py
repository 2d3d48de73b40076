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
    await started(empty_house)
    await tell(empty_house, "Ada", "dm", "I keep bees")
    empty_house.clock.turn(LULL - 1)
    await tell(empty_house, "Ada", "dm", "and I keep goats")
    empty_house.clock.turn(LULL - 1)
    await empty_house.idle()
    assert learning_calls(empty_house) == []
    await tell(empty_house, "Ada", "dm", "thanks", learned=False)  # small talk does not put it off
    will_learn(empty_house.model, "keeps bees", quote="I keep bees")
    await learned(empty_house)
    [asked] = learning_calls(empty_house)
    assert "I keep bees" in asked
    assert "I keep goats" in asked
    assert await notes(empty_house) == {"U0ADA dm:D0ADA": ["keeps bees"]}


async def test_after_eight_messages_it_waits_no_longer(empty_house: House) -> None:
    await started(empty_house)
    for number in range(7):
        await tell(empty_house, "Ada", "dm", f"I keep {number} bees")
    await empty_house.idle()
    assert learning_calls(empty_house) == []
    will_learn(empty_house.model, "keeps 7 bees", quote="I keep 7 bees")
    await tell(empty_house, "Ada", "dm", "I keep 7 bees")
    await empty_house.events.until("person.modelled")
    assert len(learning_calls(empty_house)) == 1


async def test_who_asks_what_is_known_after_a_first_message_is_learned_from(empty_house: House) -> None:
    await empty_house.start(learn_after=LULL)
    await tell(empty_house, "Chloe", "dm", "what time is it?", learned=False)
    assert "Not looked through" not in await empty_house.answered("Chloe", "dm", KNOWN), "nothing was told"
    await empty_house.idle()
    assert learning_calls(empty_house) == []
    for number, (person, waited) in enumerate({"Ada": 0.0, "Ben": LULL}.items(), 1):
        await tell(empty_house, person, "dm", "I keep many bees")
        empty_house.clock.turn(waited)
        await empty_house.idle()
        will_learn(empty_house.model, "keeps many bees", quote="I keep many bees")
        assert "Not looked through yet: 1 of your messages." in await empty_house.answered(person, "dm", KNOWN), person
        await empty_house.events.until("person.modelled", number)
        answer = await empty_house.answered(person, "dm", KNOWN)
        assert "keeps many bees" in answer, person
        assert "Not looked through" not in answer, person


async def test_what_was_forgotten_is_not_learned_again_when_another_message_changes(empty_house: House) -> None:
    await started(empty_house)
    await tell(empty_house, "Ada", "dm", "I keep bees")
    will_learn(empty_house.model, "keeps bees", quote="I keep bees")
    await tell(empty_house, "Ada", "dm", "and I weave cloth")
    await learned(empty_house)
    await empty_house.answered("Ada", "dm", KNOWN)
    assert await empty_house.answered("Ada", "dm", "forget 1") == "Forgotten: keeps bees"
    [row] = await empty_house.rows("SELECT ts FROM turns WHERE body = 'and I weave cloth'")
    await empty_house.noticed(empty_house.people.edit("Ada", "dm", row["ts"], "and I weave linen"))
    will_learn(empty_house.model, "keeps bees", quote="I keep bees")
    await tell(empty_house, "Ada", "dm", "I like tea")
    calls = len(learning_calls(empty_house))

    async def again() -> bool:
        empty_house.clock.turn(1)
        return len(learning_calls(empty_house)) > calls

    await empty_house.when(again)
    await empty_house.idle()
    assert await notes(empty_house) == {}
