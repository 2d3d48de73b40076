"""Presses of the buttons that offer answers, as clients make them and as they do not."""

from daemon.local_slack.model import Json
from tests.journeys.house import House


def offered(post: Json) -> list[str]:
    """The labels of the buttons under a message, as users read them."""
    blocks = [block for block in post["blocks"] or [] if block["type"] == "actions"]
    return [one["text"]["text"] for block in blocks for one in block["elements"]]


async def pick(house: House, person: str, room: str, ts: str, number: int) -> str:
    """Press the button of an answer; gives what became of it."""
    before = len(_picks(house))
    assert await house.people.click(person, room, ts, f"soul_answer_{number}")
    return await _outcome(house, before)


async def forge(house: House, person: str, ts: str, action: str, room: str = "C0GENERAL") -> str:
    """Press a button in a way that no Slack client does; gives what became of it."""
    before, at = len(_picks(house)), house.ts()
    payload = {
        "type": "block_actions",
        "user": {"id": await house.person(person), "team_id": "T0LOCAL"},
        "team": {"id": "T0LOCAL"},
        "channel": {"id": room},
        "container": {"type": "message", "message_ts": ts, "channel_id": room},
        "actions": [{"type": "button", "action_id": action, "value": "forged words", "action_ts": at}],
    }
    await house.people.emit_envelope({"type": "interactive", "envelope_id": f"forged-{at}", "payload": payload})
    return await _outcome(house, before)


def _picks(house: House) -> list[str]:
    emitted = house.events.emitted
    return [event for event, more in emitted if event.startswith("inbox.") and more.get("kind") == "PickedAnswer"]


async def _outcome(house: House, before: int) -> str:
    async def heard() -> bool:
        return len(_picks(house)) > before

    await house.when(heard)
    return _picks(house)[-1].removeprefix("inbox.")
