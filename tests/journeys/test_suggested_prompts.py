"""Who opens the messages with the soul is shown what to begin with: the soul's prompts in their language."""

import json

from daemon.local_slack.model import Json
from tests.given import tagged, wanting
from tests.journeys.house import House
from tests.journeys.souls import write_soul

TO_BE_REMINDED = json.dumps({"when": "", "what": "water the kiln", "drop": [], "every": "daily 09:00"})
METHOD = "assistant.threads.setSuggestedPrompts"
OWN = """
[[suggestions]]
title = "Weave"
message = "Weave with me."
[[suggestions]]
title = "Unpick"
message = "What is wrong with this cloth?"
[[suggestions]]
title = "Weben"
message = "Webe mit mir."
language = "de"
"""


async def prompts(house: House, person: str) -> list[tuple[str, str]]:
    """What a person is shown to begin with now."""
    rooms = (await house.people.state(person))["channels"]
    shown = next((one["prompts"] for one in rooms if one["kind"] == "im"), None)
    return [(one["title"], one["message"]) for one in (shown or {"prompts": []})["prompts"]]


async def opened(house: House, person: str, *titles: str) -> None:
    """Open the messages as a person, and wait until these titles are shown."""
    await house.people.open_dm(person)

    async def look() -> bool:
        return [title for title, _ in await prompts(house, person)] == list(titles)

    await house.until(look)


async def calls(house: House) -> int:
    """How often prompts were set."""
    return len(await house.people.calls(METHOD))


async def test_a_souls_own_come_from_its_file_by_language(empty_house: House) -> None:
    await empty_house.start(name=write_soul(empty_house.settings.home, more=OWN))
    await opened(empty_house, "Ada", "Weave", "Unpick")
    await empty_house.people.add_person("Dora", locale="de-AT")
    await opened(empty_house, "Dora", "Weben")


async def test_the_next_reminder_of_a_person_comes_first_for_them_alone_and_lists_them(house: House) -> None:
    house.model.replies += [wanting("reminder"), TO_BE_REMINDED, tagged("Noted.")]
    await house.answered("Ada", "dm", "Remind me daily at nine to water the kiln")
    await house.people.open_dm("Ada")

    async def look() -> str:
        shown = await prompts(house, "Ada")
        return shown[0][1] if shown and shown[0][0].startswith("Next reminder: 20") else ""

    message = await house.until(look)
    assert "water the kiln" in await house.answered("Ada", "dm", message)
    await opened(house, "Ben", "Say hello", "Think something through", "What do you remember?")


async def test_the_same_are_not_set_at_every_opening(house: House) -> None:
    await opened(house, "Ada", "Say hello", "Think something through", "What do you remember?")
    assert await calls(house) == 1
    event = await house.people.emit(home_event(), "D0ADA")
    await house.people.repeat(event)
    await house.acknowledged()
    await opened(house, "Ben", "Say hello", "Think something through", "What do you remember?")
    assert await calls(house) == 2
    house.clock.turn(3_700)
    await house.people.emit(home_event(), "D0ADA")

    async def again() -> bool:
        return await calls(house) == 3

    await house.until(again)


def home_event(**fields: object) -> Json:
    """Ada opens her messages."""
    return {"type": "app_home_opened", "user": "U0ADA", "channel": "D0ADA", "tab": "messages", **fields}


async def test_three_are_shown_in_the_language_of_the_person_and_none_to_guests_and_strangers(house: House) -> None:
    await house.people.open_dm("Gus")
    await house.people.add_person("Nora", standing="stranger", team="T0ELSEWHERE")
    await house.people.open_dm("Nora")
    await opened(house, "Ada", "Say hello", "Think something through", "What do you remember?")
    assert await calls(house) == 1
    assert not await prompts(house, "Gus")
    await house.people.add_person("Dora", locale="de-AT")
    await opened(house, "Dora", "Sag hallo", "Etwas durchdenken", "Woran erinnerst du dich?")


async def test_a_refusal_harms_nothing(house: House) -> None:
    await house.people.fault(METHOD, body={"ok": False, "error": "missing_scope"})
    await house.people.open_dm("Ada")
    await house.events.until("slack.interaction_left")
    assert await house.answered("Ada", "dm", "hello") == "Echo: hello"
