"""Visits over days are distilled by night; what they come to surfaces before those who may hear it, and is theirs."""

import json

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.nights import AT_THREE, night
from tests.journeys.own_memory import KNOWN, content_of, files_with, shared_files
from tests.journeys.silences import HOUR
from tests.journeys.visits import report, visit

GATES = ("north", "south", "east", "west", "upper", "lower", "ancient", "seaward")
CORE = "SELECT r.*, e.* FROM records r JOIN episodes e ON e.id = r.id WHERE r.kind = 'core'"
WELL_KEPT = "Ada led the renewal of the sluices, gate by gate, down to the seaward one."


def distilled(text: str = WELL_KEPT, *notes: int) -> str:
    """What a model makes of the visits."""
    return json.dumps({"claims": [{"text": text, "notes": notes or [1, 8]}], "significance": 8})


async def days(house: House) -> list[str]:
    """Eight visits on as many days, and the ts of their first messages."""
    said = []
    for gate in GATES:
        content = f"Ada renewed the sluice of the {gate} gate."
        told = {"content": content, "key_outcome": "The sluice is renewed.", "future_implication": ""}
        nothing_left: dict[str, object] = {"current_task": "", "completed_items": [], "pending_items": []}
        said.append(await visit(house, f"I am at the {gate} gate", said=report(**told, **nothing_left)))
        house.clock.turn(12 * HOUR)
        await house.idle()
    return said


@pytest.mark.slow
async def test_a_core_is_made_by_night_of_visits_over_days_and_surfaces_in_a_reply(empty_house: House) -> None:
    """Its person sees and gets it, an admin sees it, and it goes with its messages and with its person."""
    await empty_house.start(consolidate=AT_THREE)
    empty_house.model.steps["distil"] += [distilled(), distilled("Ada renewed the sluices.", 1)]
    first, *_ = await days(empty_house)
    await night(empty_house)
    [core] = await empty_house.rows(CORE)
    got = (core["id"], core["text"], core["audience"], core["person"])
    assert got == ("core_001", WELL_KEPT, "dm:D0ADA", "U0ADA")
    [prompt] = [prompt for prompt in empty_house.prompts if prompt.step == "distil"]
    assert all(f"{number}. (" in shown(prompt) for number in range(1, 9))
    assert "EP_" not in shown(prompt)
    [call] = await empty_house.rows("SELECT * FROM llm_calls WHERE step = 'distil'")
    assert call["outcome"] == "ok"
    await empty_house.answered("Ada", "dm", "How did the renewal of the sluices go?")
    [reply] = [one for one in empty_house.prompts if one.step == "respond"][-1:]
    assert WELL_KEPT in shown(reply)
    assert "several visits until" in shown(reply)
    await empty_house.answered("Ben", "dm", "How did the renewal at the seaward gate go?")
    assert WELL_KEPT not in shown([one for one in empty_house.prompts if one.step == "respond"][-1])
    assert "I also keep summaries of our talks (9)" in await empty_house.answered("Ada", "dm", KNOWN)
    assert "summaries of our talks" not in await empty_house.answered("Ben", "dm", KNOWN)
    await empty_house.answered("Ada", "dm", "export my memory")
    [file] = await shared_files(empty_house)
    texts = [one["text"] for one in json.loads(content_of(empty_house, file["id"]))["records"]]
    assert {WELL_KEPT, "Ada renewed the sluice of the north gate."} <= set(texts)
    [listed] = json.loads(await empty_house.command("memory", "episodes", "--kind", "core", "--json"))
    assert (listed["id"], listed["sources"], listed["text"], listed["state"]) == ("core_001", 8, "", "closed")
    assert '"links_broken": 0' in await empty_house.command("memory", "verify", "--json")
    await night(empty_house)
    assert len([prompt for prompt in empty_house.prompts if prompt.step == "distil"]) == 1, "it is made once"
    await empty_house.people.delete("Ada", "dm", first)
    await empty_house.no_row("SELECT 1 FROM records WHERE kind = 'core' AND text <> ''")
    empty_house.clock.turn(HOUR)
    await empty_house.idle()
    await night(empty_house)
    assert [row["text"] for row in await empty_house.rows(CORE)] == ["Ada renewed the sluices."]
    assert "north gate" not in shown([prompt for prompt in empty_house.prompts if prompt.step == "distil"][-1])
    await empty_house.answered("Ada", "dm", "forget me")
    await empty_house.say("Ada", "dm", "yes, forget me")
    await empty_house.reply("D0ADA", "Forgotten:")
    waits = "SELECT 1 FROM tombstones WHERE state <> 'done'"  # while a copy of memory.db is being made
    await empty_house.no_row(f"SELECT 1 FROM records WHERE kind <> 'fact' AND text <> '' UNION {waits}")
    await empty_house.stop()
    assert files_with(empty_house.settings.home, "sluice") == []
