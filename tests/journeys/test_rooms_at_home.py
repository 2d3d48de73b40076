"""The home tab lists the channels that a person may set up, and opens the form of each; rights are asked for anew."""

from daemon.core.room_ways import LONGEST_INSTRUCTIONS
from daemon.core.sentences import SENTENCES
from daemon.local_slack.model import Json
from tests.journeys.house import House
from tests.journeys.surfaces import home, open_home, press, press_payload, words

TITLE, SET_UP = SENTENCES["home_rooms"], SENTENCES["home_set_up"]
ASKED = "Answer in one line. Name the ticket."
LEFT = "home.rooms_unknown"


async def _dialog(house: House, person: str, *, but: str = "") -> Json:
    """Wait for a dialog of a person's; gives the newest."""

    async def look() -> Json | None:
        return next((one for one in reversed(await house.people.modals(person)) if one["id"] != but), None)

    return await house.until(look)


def _said(view: Json) -> list[str]:
    """The texts of a dialog beside its inputs."""
    return [block["text"]["text"] for block in view["blocks"] if block["type"] == "section"]


def _rooms(view: Json) -> list[str]:
    """The channels that a home tab lists."""
    buttons = [(number, block) for number, block in enumerate(view["blocks"]) if block["type"] == "actions"]
    listed = [number for number, block in buttons if block["elements"][0]["text"]["text"] == SET_UP]
    return [view["blocks"][number - 1]["text"]["text"] for number in listed]


async def _made_up(house: House, person: str, channel: str) -> None:
    """A press that the page does not offer."""
    payload = press_payload(f"room {channel}", person=person, team="T0LOCAL")
    payload["trigger_id"] = house.workspace.workspace.interactions.new_trigger(person)
    assert await house.people.emit_envelope({"type": "interactive", "envelope_id": "e1", "payload": payload})


async def test_who_made_a_channel_sets_it_up_from_there(house: House) -> None:
    view = await open_home(house, "Ada", TITLE, "#general")
    assert "#random" not in _rooms(view), "the soul is not in it"
    await press(house, "Ada", view, SET_UP, _rooms(view).index("#general"))
    form = await _dialog(house, "Ada")
    assert _said(form) == ["*<#C0GENERAL>*"]
    assert await house.people.submit("Ada", form["id"], soul_room=ASKED)
    await house.reply("general", ASKED)
    await house.idle()
    await house.answered("Ben", "general", "@soul what is up?")
    assert ASKED in house.last_prompt()
    await press(house, "Ada", view, SET_UP, _rooms(view).index("#general"))
    again = await _dialog(house, "Ada", but=form["id"])
    [inputs] = [block["element"] for block in again["blocks"] if block.get("block_id") == "soul_room"]
    assert (inputs["initial_value"], inputs["max_length"]) == (ASKED, LONGEST_INSTRUCTIONS)


async def test_only_who_manages_channels_sees_them(house: House) -> None:
    assert TITLE not in words(await open_home(house, "Ben", "How I am"))
    await house.people.change_standing("Ben", "member", admin=True)
    await house.acknowledged()
    assert _rooms(await open_home(house, "Ben", TITLE)) == ["#founders", "#general"]
    await house.people.change_standing("Chloe", "member", admin=True)
    await house.acknowledged()
    assert _rooms(await open_home(house, "Chloe", TITLE)) == ["#general"]


async def test_who_lost_the_right_meanwhile_or_made_up_a_press_reads_why_and_gets_no_form(house: House) -> None:
    await house.people.change_standing("Ben", "member", admin=True)
    await house.acknowledged()
    view = await open_home(house, "Ben", TITLE)
    await house.people.change_standing("Ben", "member")
    await house.acknowledged()
    await press(house, "Ben", view, SET_UP)
    refused = await _dialog(house, "Ben")
    assert _said(refused) == [SENTENCES["room_not_yours"]]
    assert "submit" not in refused
    await _made_up(house, "U0BEN", "C0FOUNDERS")
    made_up = await _dialog(house, "Ben", but=refused["id"])
    assert _said(made_up) == [SENTENCES["room_not_yours"]]
    await house.people.add_person("Nora", standing="guest")
    nora = await house.person("Nora")
    await _made_up(house, nora, "C0GENERAL")
    await house.answered("Ada", "dm", "hello")
    assert await house.people.modals("Nora") == []
    assert await house.rows("SELECT 1 FROM room_ways") == []


async def test_where_slack_can_not_be_asked_the_dialog_says_so_and_the_rest_of_the_page_is_left(house: House) -> None:
    view = await open_home(house, "Ada", "#general")
    await house.people.fault("conversations.info", times=100, mode="answer", status=503, body={})
    await press(house, "Ada", view, SET_UP, _rooms(view).index("#general"))
    assert _said(await _dialog(house, "Ada")) == [SENTENCES["command_later"]]
    await house.people.clear_faults()
    refusal = {"ok": False, "error": "missing_scope"}
    await house.people.fault("users.conversations", times=100, mode="answer", body=refusal)
    await house.people.post("open_home", person="Ada")
    await home(house, "Ada", "How I am", without=TITLE)
    assert LEFT in [name for name, _ in house.events.emitted]
    await house.people.clear_faults()


async def test_of_many_channels_the_first_are_listed_and_the_rest_counted(house: House) -> None:
    for number in range(12):
        await house.people.add_channel(f"kiln-{number:02}", members=("Ada",))
    view = await open_home(house, "Ada", TITLE)
    assert len(_rooms(view)) == 10
    assert _rooms(view) == sorted(_rooms(view))
    more = SENTENCES["home_more_rooms"].partition("{count}")[0]
    assert more in words(await home(house, "Ada", TITLE))
