"""What admins see of money and of the last days: caps with what is left, models, and a curve of each day."""

import json

from daemon.core.ports.services import Completion
from daemon.core.text import bar_line
from tests.journeys.house import House
from tests.journeys.surfaces import open_home, words
from tests.models import FakeModel

NAME = "anthropic/claude-sonnet-5-5"
DAY = 86_400.0


def dear() -> FakeModel:
    """A model that costs something."""
    return FakeModel(model=NAME, usage=Completion(NAME, tokens_in=1000, tokens_out=1000))


async def settled(house: House) -> None:
    await house.idle()
    await house.no_row("SELECT 1 FROM reservations")


async def test_the_home_of_admins_shows_caps_models_and_the_last_days(empty_house: House) -> None:
    empty_house.clock.turn(1.5 * DAY - empty_house.clock.now_ms() / 1000 % DAY)  # noon: no day ends meanwhile
    await empty_house.start(dear(), max_usd_a_day=5.0, max_usd_a_day_person=2.0, admins=("U0ADA",))
    await empty_house.answered("Ada", "dm", "hello")
    await empty_house.answered("Ada", "dm", "hello again")
    await settled(empty_house)
    empty_house.clock.turn(DAY)
    await empty_house.answered("Ben", "general", "@soul good morning")
    await settled(empty_house)
    spent = await empty_house.one("SELECT nano FROM spending WHERE paid_by = 'soul' ORDER BY day DESC LIMIT 1")
    left = f"Today ${5 - spent['nano'] / 1e9:.2f} of $5 are left to me."
    text = words(await open_home(empty_house, "Ada", left))
    assert "For each person I may spend $2 a day." in text
    assert f"By model, in the last 24 hours: {NAME} $" in text
    assert "············█▅` messages; today 1, at most 2" in text
    assert "············█▅` answers; today 1, at most 2" in text
    assert "seconds until an answer" in text
    assert "For admins" not in words(await open_home(empty_house, "Ben", "How I am"))


async def test_the_status_shows_caps_and_what_is_left_today(empty_house: House) -> None:
    await empty_house.start(dear(), max_usd_a_day=5.0)
    await empty_house.answered("Ada", "dm", "hello")
    await settled(empty_house)
    spent = (await empty_house.one("SELECT nano FROM spending WHERE paid_by = 'soul'"))["nano"] / 1e9
    shown = await empty_house.command("status", env={"SOUL_MAX_USD_A_DAY": "5"})
    assert f"${5 - spent:.4f} of $5 left today" in shown
    found = json.loads(await empty_house.command("status", "--json", env={"SOUL_MAX_USD_A_DAY_ROOM": "1"}))
    assert found["caps"] == [
        {"soul": "minoan", "cap_usd": None, "spent_usd": spent, "reserved_usd": 0.0, "left_usd": None}
    ]
    assert (found["cap_person_usd"], found["cap_room_usd"]) == (None, 1.0)


def test_a_curve_has_a_bar_for_each_number() -> None:
    lines: dict[tuple[float, ...], str] = {
        (): "",
        (0, 0): "··",
        (1, 2, 4, 8): "▂▃▅█",
        (-1, 0.001, 1000): "·▁█",
        (3,): "█",
    }
    assert {numbers: bar_line(numbers) for numbers in lines} == lines
