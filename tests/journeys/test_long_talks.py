"""A summary takes the place of the old messages of a long conversation."""

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.learning import brief_soul


async def test_old_messages_are_known_by_the_summary_and_deleted_ones_are_not(empty_house: House) -> None:
    house = empty_house
    await brief_soul(house)
    gone = ""
    for number in range(12):
        ts = await house.say("Ada", "dm", f"remember factNumber{number} for me, will you, as long as you can?")
        gone = ts if number == 3 else gone
        await house.final_state(ts)
        await house.idle()
    kept = await house.one("SELECT summary, summarized_to FROM working_memory")
    assert kept["summarized_to"] > 3
    assert "factNumber0" in kept["summary"]
    assert "factNumber3" in kept["summary"]
    assert "factNumber3" in house.last_prompt()
    await house.people.delete("Ada", "dm", gone)
    await house.acknowledged()
    for number in range(2):
        before = len(house.prompts)
        await house.answered("Ada", "dm", f"and now, what is left? {number}")
        assert not any("factNumber3" in shown(prompt) for prompt in house.prompts[before:])
    kept = await house.one("SELECT summary FROM working_memory")
    assert "factNumber0" in kept["summary"]
    assert "factNumber3" not in kept["summary"]
    everything = str([tuple(row) for table in ("turns", "inbox") for row in await house.rows(f"SELECT * FROM {table}")])
    assert "factNumber3" not in everything
