"""Notes of souls among themselves: perceived once, answered, used only where they may be, and within budgets."""

import json
from typing import Any

from tests.given import shown, tagged, wanting
from tests.journeys.house import House
from tests.journeys.own_memory import files_with
from tests.journeys.problems import PROBLEM
from tests.journeys.souls import write_soul
from tests.unit.ism_parts import chosen

ACTS = "subprocesses = []\n[ism]\nenabled = true\n"
ROLF_THERE = "You are Rolf, a sailor."


async def two(house: House, **settings: Any) -> None:  # noqa: ANN401  # any setting
    """Start Tess and Rolf, who solve problems and have no background jobs."""
    write_soul(house.settings.home, more=ACTS)
    write_soul(house.settings.home, "rolf", ACTS, shown="Rolf", personality=ROLF_THERE)
    await house.start(name="tess", souls=("rolf",), **settings)


def tells(house: House, *notes: str, then: str) -> None:
    """Script an answer that calls for research, in which notes are sent, and what is said then."""
    house.model.steps["respond"].append(wanting("research"))
    house.model.steps["choose_actions"] += [chosen(*(("Tell", note) for note in notes)), chosen(("Respond", "x"))]
    house.model.steps["external_dialog"].append(then)


async def ledger(house: House) -> list[dict[str, Any]]:
    """The notes as `soul queue notes list` prints them, oldest first."""
    found: list[dict[str, Any]] = json.loads(await house.command("queue", "notes", "list", "--json"))
    return found[::-1]


def heard_by(house: House, who: str, words: str) -> list[str]:
    """The prompts of a soul that hold these words."""
    return [text for text in map(shown, house.prompts) if who in text and words in text]


async def test_a_soul_asks_another_and_says_in_its_own_words_what_came_of_it(empty_house: House) -> None:
    await two(empty_house)
    tells(empty_house, "rolf: which way does the wind blow?", then="I asked Rolf.")
    empty_house.model.steps["respond"] += [tagged("From the north."), tagged("Rolf says north.")]
    ts = await empty_house.say("Ada", "general", f"@soul {PROBLEM}")
    last = await empty_house.settled("general", "Rolf says north.")
    assert last["thread_ts"] == ts
    assert await empty_house.replies("general") == ["I asked Rolf.", "Rolf says north."]
    assert len(heard_by(empty_house, ROLF_THERE, "which way does the wind blow?")) == 1
    assert len(heard_by(empty_house, "You are Tess", "From the north.")) == 1
    note, answer = await ledger(empty_house)
    place = (await empty_house.one("SELECT id FROM conversations WHERE channel = 'C0GENERAL'"))["id"]
    assert (note["kind"], note["sender"], note["addressee"], note["state"]) == ("note", "tess", "rolf", "answered")
    assert (note["conversation"], note["how"]) == (place, "inbox")
    assert (answer["kind"], answer["sender"], answer["addressee"], answer["state"]) == (
        "answer",
        "rolf",
        "tess",
        "delivered",
    )
    heard = await empty_house.one("SELECT modality, conversation FROM inbox WHERE conversation LIKE 'rolf/%'")
    assert tuple(heard) == ("note", "rolf/T0LOCAL/soul/tess")


async def test_what_is_refused_is_observed_by_the_soul_that_sent_it(empty_house: House) -> None:
    await two(empty_house, pair_hourly=0)
    tells(empty_house, "rolf: CANARY", "cleo: hello", "rolf: ", then="I could not.")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "I could not."
    observed = "\n".join(shown(one) for one in empty_house.prompts if one.step == "choose_actions")
    assert "The note is refused: 0 notes an hour are the most between tess and rolf" in observed
    assert "There is no such soul here now. Give one of Rolf" in observed
    assert "Nothing was sent: the note is empty" in observed
    [refused] = await ledger(empty_house)
    assert (refused["state"], refused["delivered_ms"]) == ("refused", None)
    assert heard_by(empty_house, ROLF_THERE, "CANARY") == []
    await empty_house.answered("Ada", "dm", "and now?")
    assert 'about="your note to rolf of' in empty_house.last_prompt()


async def test_forget_me_takes_the_notes_that_the_persons_words_led_to(empty_house: House) -> None:
    await two(empty_house)
    for room, canary in (("dm", "quincunx"), ("general", "quaggaherd")):
        tells(empty_house, f"rolf: what is a {canary}?", then="I asked.")
        empty_house.model.steps["respond"] += [tagged(f"A {canary} is five."), tagged("He says it is five.")]
        await empty_house.say("Ada", room, PROBLEM if room == "dm" else f"@soul {PROBLEM}")
        await empty_house.settled("D0ADA" if room == "dm" else room, "He says it is five.")
    await empty_house.answered("Ada", "dm", "forget me")
    assert (await empty_house.answered("Ada", "dm", "yes, forget me")).startswith("Forgotten:")
    await empty_house.idle()
    assert await ledger(empty_house) == []
    assert files_with(empty_house.settings.home, "quincunx", "quaggaherd") == []
