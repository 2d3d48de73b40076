"""The home tab: each person's own, made anew when it is opened and after each act, and nothing for those of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.arrivals import read
from daemon.channels.slack.dialogs import CORRECT, home_view
from daemon.channels.slack.event_reader import EventReader
from daemon.core.settings_place import HomeButton, HomeItem, HomeSection
from daemon.local_slack.model import Json
from daemon.local_slack.web_api.call import VIEW_BLOCKS, check_blocks
from daemon.memory.knowledge.records.kinds import Topic
from tests.journeys.house import House
from tests.journeys.own_memory import note
from tests.journeys.surfaces import dialog, home, open_home, press, press_payload, words
from tests.slack.parts import OURS

READER = EventReader("minoan", OURS)


async def bees(house: House) -> None:
    await house.answered("Ada", "dm", "I keep bees on the roof")
    await house.answered("Ada", "dm", "I weave at the north loom")
    await note(house, "U0ADA", "keeps bees", "keep bees on the roof", topic=Topic.OTHER)
    await note(house, "U0ADA", "weaves at the north loom", "weave at the north loom")


async def test_it_shows_to_each_person_what_is_their_own_alone(house: House) -> None:
    await bees(house)
    prompts = len(house.prompts)
    view = await open_home(house, "Ada", "What I can do for you", "weaves at the north loom", "keeps bees", "My mood: ")
    assert "You have no reminders" in words(view)
    assert "Only you see this page" in words(view)
    assert "For admins" not in words(view)
    check_blocks(tuple(view["blocks"]), VIEW_BLOCKS)
    bens = await open_home(house, "Ben", "I have noted nothing about you.")
    assert "bees" not in words(bens)
    await house.idle()
    assert len(house.prompts) == prompts
    assert await house.replies("D0BEN") == []


async def test_a_fact_is_forgotten_and_corrected_there_and_the_page_follows(house: House) -> None:
    await bees(house)
    view = await open_home(house, "Ada", "1. weaves at the north loom", "2. keeps bees")
    await press(house, "Ada", view, "Forget")
    view = await home(house, "Ada", "1. keeps bees", without="north loom")
    await press(house, "Ada", view, "Correct")
    asked = await dialog(house, "Ada")
    await house.people.submit("Ada", asked["id"], **{CORRECT: "I keep WASPS, in Berlin"})
    await home(house, "Ada", "1. I keep WASPS, in Berlin", without="bees")
    assert "1. I keep WASPS, in Berlin" in await house.answered("Ada", "dm", "me")
    assert "> I keep WASPS, in Berlin" in await house.answered("Ada", "dm", "why 1")


async def test_remembering_is_paused_and_resumed_there(house: House) -> None:
    view = await open_home(house, "Ada", "Pause remembering")
    await press(house, "Ada", view, "Pause remembering")
    view = await home(house, "Ada", "Remembering is paused", "Resume remembering")
    assert "Remembering is paused" in await house.answered("Ada", "dm", "status")
    await press(house, "Ada", view, "Resume remembering")
    await home(house, "Ada", "[Pause remembering]")
    await house.people.add_person("Nora", standing="guest")
    view = await open_home(house, "Nora", "I only talk with full members")
    assert len(view["blocks"]) == 2
    assert await house.rows("SELECT * FROM inbox WHERE author = ?", await house.person("Nora")) == []


async def test_admins_see_how_the_house_is(house: House) -> None:
    await house.restart(approvers=("U0ADA",))
    assert "model calls" in words(await open_home(house, "Ada", "For admins", "Connected; daemons alive: 1."))
    assert "For admins" not in words(await open_home(house, "Ben", "How I am"))


@pytest.mark.slow
async def test_of_two_daemons_one_shows_the_page_and_does_an_act_once(house: House) -> None:
    await bees(house)
    first = house.daemon
    assert first is not None
    second = await house.start()
    view = await open_home(house, "Ada", "2. keeps bees")
    await house.idle()
    await press(house, "Ada", view, "Forget", 1)
    await press(house, "Ada", view, "Forget", 1)
    await home(house, "Ada", "1. weaves at the north loom", without="bees")
    await house.idle()
    shown = [fields for daemon in (first, second) for name, fields in daemon.events.emitted if name == "home.shown"]
    published = await house.people.calls("views.publish")
    assert len(published) == len(shown) == 3, "once for the opening, once for each press"
    assert len(await house.rows("SELECT id FROM facts")) == 1


async def test_many_facts_are_turned_over_page_by_page(house: House) -> None:
    await house.answered("Ada", "dm", ", ".join(f"I own loom number {number}" for number in range(11)))
    for number in range(11):
        await note(house, "U0ADA", f"owns loom {number}", f"own loom number {number}")
    view = await open_home(house, "Ada", "8. owns loom", "[More]")
    await press(house, "Ada", view, "More")
    view = await home(house, "Ada", "11. owns loom", "[Back]", without="8. owns")
    await press(house, "Ada", view, "Back")
    await home(house, "Ada", "1. owns loom", without="[Back]")


async def test_buttons_of_others_facts_change_nothing(house: House) -> None:
    await bees(house)
    await open_home(house, "Ben", "I have noted nothing")
    await open_home(house, "Ada", "keeps bees")
    facts = [row["id"] for row in await house.rows("SELECT id FROM facts")]
    for does in (f"forget {facts[0]}", f"cancel {facts[0]}", f"key {facts[0]}", "drop everything", "page 999"):
        payload = press_payload(does, person="U0BEN", team="T0LOCAL")
        await house.people.emit_envelope({"type": "interactive", "envelope_id": does, "payload": payload})
    await house.events.until("home.shown", times=5)
    await house.idle()
    await open_home(house, "Ada", "weaves at the north loom", "keeps bees")


def test_what_others_press_is_nothing() -> None:
    assert read(READER, press_payload("pause")) is not None
    others: tuple[Json, ...] = ({"user": {"id": "U1", "team_id": "T9"}}, {"view": {"type": "modal"}}, {"actions": []})
    for changes in others:
        assert read(READER, press_payload("pause") | changes) is None, changes


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda one: st.lists(one, max_size=3)
)


@pytest.mark.slow
@given(
    st.sampled_from(["type", "user", "team", "view", "actions", "container", "event", "trigger_id"]),
    ODD | st.dictionaries(st.sampled_from(["id", "type", "value", "action_id", "state", "tab", "user"]), ODD),
)
def test_no_payload_breaks_the_readers_and_none_of_another_organisation_is_taken(field: str, value: object) -> None:
    for payload in (press_payload("pause"), {"type": "view_submission", **press_payload("pause")}):
        for team in ("T1", "T9"):
            odd = {
                **payload,
                "team_id": team,
                "team": {"id": team},
                "user": {"id": "U1", "team_id": team},
                field: value,
            }
            found = read(READER, odd)
            assert team == "T1" or field in ("user", "team") or found is None


def test_a_page_of_any_size_keeps_to_slacks_sizes() -> None:
    button = HomeButton("Forget" * 40, f"forget {'x' * 60}", "Sure? " * 100)
    section = HomeSection("Title " * 60, tuple(HomeItem("<!channel> " * 800, (button,) * 3) for _ in range(12)))
    view = home_view((section,) * 9)
    check_blocks(tuple(view["blocks"]), VIEW_BLOCKS)
    assert "<!channel>" not in str(view)
