"""When an admin looks at words of a user, that user is informed by direct message, once a day at most."""

from tests.journeys.house import House, said

DAY = 86_400
NOTICE = "So that you know it: an admin has looked at words of yours that I keep"


async def _look(house: House, *ids: str) -> None:
    for name in ids:
        await house.command("memory", "show", name, "--words", "--private")


async def _notices(house: House, room: str) -> list[str]:
    return [one for one in await house.replies(room) if one.startswith(NOTICE)]


async def test_the_person_is_informed_once_with_the_time_and_no_one_else_is(house: House) -> None:
    await house.answered("Ada", "dm", "I keep bees on the roof")
    await house.answered("Ben", "dm", "I weave")
    await _look(house, "TU_1", "TU_1", "TU_1")
    house.clock.turn(16)
    post = await house.reply("D0ADA", NOTICE)
    assert " UTC)." in said(post)
    calls = len(house.prompts)
    await _look(house, "TU_1")
    house.clock.turn(3600)
    await house.idle()
    assert len(await _notices(house, "D0ADA")) == 1
    assert await _notices(house, "D0BEN") == []
    house.clock.turn(DAY)
    await house.reply("D0ADA", NOTICE, count=2)
    assert len(house.prompts) == calls


async def test_a_user_who_never_wrote_in_private_is_informed_there_all_the_same_after_a_restart(house: House) -> None:
    await house.answered("Ben", "general", "@soul the quay is blue")
    await house.stop()
    await _look(house, "TU_1")
    await house.start()
    post = await house.reply(await house.people.open_dm("Ben"), NOTICE)
    assert post["text"]


async def test_a_german_is_informed_in_german(empty_house: House) -> None:
    house = empty_house
    await house.people.add_person("Dora", standing="member", locale="de-DE", zone="Europe/Berlin")
    await house.start()
    await house.answered("Dora", "dm", "Ich halte Bienen")
    await _look(house, "TU_1")
    house.clock.turn(16)
    assert (await house.reply(await house.people.open_dm("Dora"), "Damit du es weißt"))["text"]


async def test_who_is_forgotten_first_gets_no_notice(house: House) -> None:
    await house.answered("Ada", "dm", "I keep bees on the roof")
    await _look(house, "TU_1")
    await house.command("memory", "forget", "U0ADA", "--yes")
    house.clock.turn(60)
    await house.idle()
    assert await _notices(house, "D0ADA") == []
