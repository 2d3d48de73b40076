"""Where the soul answers, where it keeps quiet, and what it knows of what was said before."""

from tests.journeys.house import House, said


async def test_a_dm_is_answered_in_its_thread(house: House) -> None:
    ts = await house.say("Ada", "dm", "hello")
    post = await house.reply("D0ADA")
    assert said(post) == "Echo: hello"
    assert post["thread_ts"] == ts
