"""When an admin looks at words of a user, that user is informed by direct message, once a day at most."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.journeys.house import House, said

DAY = 86_400
HOUR = 3_600
NOTICE = "For your information: an admin has looked at words of yours that I keep"


@pytest.fixture
async def house(empty_house: House) -> House:
    """A daemon for which no hour is quiet, as the tests are run at any time of the day."""
    await empty_house.start(quiet_hours="")
    return empty_house


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


@pytest.mark.slow
async def test_a_user_who_never_wrote_in_private_is_informed_there_all_the_same_after_a_restart(house: House) -> None:
    await house.answered("Ben", "general", "@soul the quay is blue")
    await house.stop()
    await _look(house, "TU_1")
    await house.start(quiet_hours="")
    post = await house.reply(await house.people.open_dm("Ben"), NOTICE)
    assert post["text"]


async def test_a_german_is_informed_in_german(empty_house: House) -> None:
    await empty_house.people.add_person("Dora", standing="member", locale="de-DE", zone="Europe/Berlin")
    await empty_house.start(quiet_hours="")
    await empty_house.answered("Dora", "dm", "Ich halte Bienen")
    await _look(empty_house, "TU_1")
    empty_house.clock.turn(16)
    assert (await empty_house.reply(await empty_house.people.open_dm("Dora"), "Damit du es weißt"))["text"]


async def _at(house: House, hour: float) -> None:
    """Ada has spoken, and it is that hour of a later day on her clock."""
    await house.start(quiet_hours="20:00-08:00")
    await house.answered("Ada", "dm", "I keep bees on the roof")
    there = datetime.fromtimestamp(house.clock.now_ms() / 1_000, ZoneInfo("Europe/Athens"))
    house.clock.turn(DAY + (hour - there.hour - there.minute / 60 - there.second / HOUR) * HOUR)


@pytest.mark.slow
async def test_at_night_it_waits_for_the_morning_of_the_person(empty_house: House) -> None:
    await _at(empty_house, 4)
    await _look(empty_house, "TU_1")
    empty_house.clock.turn(HOUR)
    await empty_house.idle()
    await _look(empty_house, "TU_1")
    empty_house.clock.turn(2.8 * HOUR)
    await empty_house.idle()
    assert await _notices(empty_house, "D0ADA") == []
    empty_house.clock.turn(0.2 * HOUR)
    await empty_house.reply("D0ADA", NOTICE)
    empty_house.clock.turn(16)
    await empty_house.idle()
    assert len(await _notices(empty_house, "D0ADA")) == 1


@pytest.mark.slow
async def test_what_slack_does_not_take_before_the_night_is_sent_after_it(empty_house: House) -> None:
    await _at(empty_house, 19.98)
    await empty_house.people.fault("chat.postMessage", times=100, mode="answer", status=503, body={})
    await _look(empty_house, "TU_1")
    empty_house.clock.turn(16)
    await empty_house.row("SELECT 1 FROM outbox WHERE note = 1 AND reason LIKE 'Slack gave no usable answer%'")
    empty_house.clock.turn(HOUR)
    await empty_house.people.clear_faults()
    await empty_house.row("SELECT 1 FROM outbox WHERE note = 1 AND reason LIKE 'quiet hours'")
    assert await _notices(empty_house, "D0ADA") == []
    empty_house.clock.turn(12 * HOUR)
    await empty_house.reply("D0ADA", NOTICE)
