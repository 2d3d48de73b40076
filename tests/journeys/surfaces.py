"""What a person does besides writing messages, and sees there: the slash command and the home tab."""

from daemon.channels.slack.dialogs import HOME_ACTION
from daemon.local_slack.model import Json
from tests.journeys.house import House, said

COMMAND = "/minoan"


async def shown(house: House, person: str, room: str, count: int = 1) -> str:
    """The newest of so many texts that are shown to a user alone in a room."""

    async def look() -> list[Json] | None:
        found = await house.people.ephemerals(person, room)
        return found if len(found) >= count else None

    return said((await house.until(look))[count - 1])


async def dialog(house: House, person: str) -> Json:
    """Wait for the dialog that a person is shown."""

    async def look() -> Json | None:
        return next(iter(await house.people.modals(person)), None)

    return await house.until(look)


async def typed(house: House, person: str, room: str, text: str, count: int = 1) -> str:
    assert await house.people.command(person, room, COMMAND, text)
    answer = await shown(house, person, room, count)
    await house.idle()
    return answer


def words(view: Json) -> str:
    """All texts of a view, a line each."""
    shown = [block.get("text", {}).get("text", "") for block in view["blocks"]]
    buttons = [one["text"]["text"] for block in view["blocks"] for one in block.get("elements", ())]
    return "\n".join((*shown, *(f"[{one}]" for one in buttons)))


async def home(house: House, person: str, *holding: str, without: str = "never") -> Json:
    """Wait until a person's home tab holds these words."""

    async def look() -> Json | None:
        view = (await house.people.get("home", person=person))["view"]
        text = words(view) if view else ""
        return view if view and all(one in text for one in holding) and without not in text else None

    return await house.until(look)


async def open_home(house: House, person: str, *holding: str) -> Json:
    await house.people.post("open_home", person=person)
    return await home(house, person, *holding)


async def press(house: House, person: str, view: Json, label: str, number: int = 0) -> None:
    """Press the button of a label, the one of that number among them."""
    buttons = [one for block in view["blocks"] for one in block.get("elements", ()) if one["text"]["text"] == label]
    assert await house.people.press_home(person, buttons[number]["action_id"])


def press_payload(does: str, *, person: str = "U1", team: str = "T1") -> Json:
    """A press on the home tab as Slack sends it."""
    return {
        "type": "block_actions",
        "user": {"id": person, "team_id": team},
        "team": {"id": team},
        "container": {"type": "view", "view_id": "V1"},
        "trigger_id": "1.2.3",
        "view": {"type": "home", "id": "V1"},
        "actions": [{"action_id": f"{HOME_ACTION}:1:0", "value": does, "action_ts": "9.1"}],
    }
