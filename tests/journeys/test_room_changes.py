"""What changes in a room changes what is said there: in the middle of a reply, on resuming, and for what is stored."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.local_slack.model import ChannelKind
from tests.given import CLOSING, OPENING, shown
from tests.journeys.house import House, said
from tests.journeys.problems import PROBLEM, goes_on, indexed, parked, script, solver
from tests.unit.ism_parts import chosen

CANARY = "heliotrope"
RESEARCH, RESPOND = chosen(("Research", "kiln cracks")), chosen("Respond")
ASKS = chosen(("Ask", "which kiln"))


def _prompts_since(house: House, number: int) -> str:
    return "\n".join(map(shown, house.prompts[number:]))


async def _make_private_unheard(house: House, channel: str) -> None:
    """The channel is private from now on, and no event says so."""
    rooms = house.workspace.workspace.state.channels
    rooms[channel] = replace(rooms[channel], kind=ChannelKind.PRIVATE)


async def _mention_alone(house: House, channel: str, words: str) -> str:
    """A mention of Ada's whose twin, which would name the kind of the channel, never comes."""
    ts = house.ts()
    text = f"<@{house.workspace.bot_user.id}> {words}"
    await house.people.emit({"type": "app_mention", "user": "U0ADA", "text": text, "ts": ts, "channel": channel})
    return ts


async def test_words_in_a_channel_made_private_are_known_there_alone_in_a_public_one_to_all(empty_house: House) -> None:
    await solver(empty_house)
    await empty_house.people.add_channel("plans", members=["Ada"])
    await empty_house.answered("Ada", "plans", "@soul hello")
    await _make_private_unheard(empty_house, "C0PLANS")
    empty_house.clock.turn(601)
    ts = await _mention_alone(empty_house, "C0PLANS", f"the kiln cracks because of the {CANARY} glaze")
    assert await empty_house.final_state(ts) == "answered"
    await empty_house.idle()
    for table in ("inbox", "turns"):
        row = await empty_house.one(f"SELECT audience FROM {table} WHERE ts = ? AND body LIKE ?", ts, f"%{CANARY}%")
        assert row["audience"] == "channel:C0PLANS"
    before = len(empty_house.prompts)
    script(empty_house, RESEARCH, RESPOND, external_dialog="I don't know.")
    await empty_house.answered("Chloe", "dm", PROBLEM)
    assert CANARY not in _prompts_since(empty_house, before)
    await empty_house.people.add_channel("posts", members=["Ada"])
    await empty_house.answered("Ada", "posts", "@soul hello")
    empty_house.clock.turn(601)
    ts = await _mention_alone(empty_house, "C0POSTS", f"the kiln cracks because of the {CANARY} glaze")
    assert await empty_house.final_state(ts) == "answered"
    await empty_house.idle()
    before = len(empty_house.prompts)
    script(empty_house, RESEARCH, RESPOND, external_dialog="I see.")
    await empty_house.answered("Chloe", "dm", PROBLEM)
    assert CANARY in _prompts_since(empty_house, before)


@pytest.mark.parametrize("change", ["joins", "private"])
async def test_a_reply_under_way_is_begun_anew_when_its_readers_change(empty_house: House, change: str) -> None:
    await empty_house.start()
    await empty_house.people.add_channel("studio", members=["Ada", "Ben"])
    flow = empty_house.flow()
    await empty_house.say("Ada", "studio", "@soul what do you know?")
    await flow.asked.wait()
    if change == "joins":
        await empty_house.people.join("Gus", "studio")
    else:
        await empty_house.people.convert("Ben", "studio", "group")
    await empty_house.acknowledged()
    flow.end(f"{OPENING}I know of {CANARY}.", CLOSING)
    post = await empty_house.reply("studio")
    await empty_house.idle()
    if change == "joins":
        assert len(empty_house.prompts) == 2
        assert CANARY not in said(post)
    assert len(await empty_house.replies("studio")) == 1
    turns = await empty_house.rows("SELECT audience FROM turns")
    assert {row["audience"] for row in turns} == {"workspace:T0LOCAL" if change == "joins" else "channel:C0STUDIO"}


@pytest.mark.slow
async def test_a_parked_problem_is_resumed_without_what_a_guest_may_not_know(empty_house: House) -> None:
    await solver(empty_house, allow_guests=True)
    await empty_house.people.add_channel("kilns", members=["Ada"])
    await empty_house.answered("Ada", "kilns", f"@soul the kiln cracks because of the {CANARY} glaze")
    await empty_house.people.add_channel("studio", members=["Ada"])
    script(empty_house, RESEARCH, ASKS, external_dialog="Which kiln?")
    root = await empty_house.heard("Ada", "studio", f"@soul {PROBLEM}")
    assert CANARY in _prompts_since(empty_house, 0)
    assert await parked(empty_house, "C0STUDIO")
    before, calls = len(empty_house.prompts), len(await empty_house.people.calls())
    await empty_house.people.join("Gus", "studio")
    await empty_house.acknowledged()
    goes_on(empty_house)
    script(empty_house, RESEARCH, RESPOND, enters=False, external_dialog="The big one [1].")
    await empty_house.say("Gus", "studio", "the big one", thread=root)
    assert said(await empty_house.reply("studio", "The big one")).startswith("The big one")
    await empty_house.idle()
    assert len(empty_house.prompts) > before
    assert CANARY not in _prompts_since(empty_house, before)
    assert CANARY not in str([one["args"] for one in (await empty_house.people.calls())[calls:]])


async def test_guests_are_answered_from_open_folders_of_the_library_alone(empty_house: House, tmp_path: Path) -> None:
    house, closed, opened = empty_house, tmp_path / "handbook", tmp_path / "visitors"
    for folder, words in (
        (closed, f"Salaries: kiln masters who crack get {CANARY}."),
        (opened, "Kilns crack: see Ben."),
    ):
        folder.mkdir()
        (folder / "kilns.md").write_text(words)
    await solver(house, allow_guests=True, library=(closed,), library_public=(opened,))
    await indexed(house, 2)
    found = {}
    for person in ("Ada", "Gus"):
        before = len(house.prompts)
        script(house, RESEARCH, RESPOND, external_dialog="I see.")
        await house.answered(person, "dm", PROBLEM)
        found[person] = [word for word in (CANARY, "see Ben") if word in _prompts_since(house, before)]
    assert found == {"Ada": [CANARY, "see Ben"], "Gus": ["see Ben"]}


async def test_notes_and_mood_of_the_workspace_are_not_for_a_public_channel_with_a_guest(house: House) -> None:
    common = "soul, workspace, audience, version, updated_ms"
    values = "'minoan', 'T0LOCAL', 'workspace:T0LOCAL', 1, 0"
    await house.change(f"INSERT INTO user_models ({common}, person, name) VALUES ({values}, 'U0ADA', 'Ada')")
    await house.change(
        "INSERT INTO records (id, kind, soul, workspace, audience, channel, person, trust, significance, text, at_ms,"
        " created_ms, updated_ms) VALUES ('sem_1', 'fact', 'minoan', 'T0LOCAL', 'workspace:T0LOCAL', 'C0GENERAL',"
        " 'U0ADA', 'own', 5, ?, 0, 0, 0)",
        CANARY,
    )
    await house.change(
        "INSERT INTO facts (id, subject, predicate, object, topic, confidence, valid_from_ms)"
        " VALUES ('sem_1', 'U0ADA', '', '', 'other', 0.9, 0)"
    )
    await house.change(
        "INSERT INTO soul_state (soul, workspace, audience, version, updated_ms, emotional_state, felt_ms)"
        f" VALUES ({values}, 'delighted', ?)",
        house.clock.now_ms(),
    )
    for room, guests, known in (("studio", [], True), ("lobby", ["Gus"], False)):
        await house.people.add_channel(room, members=["Ada", *guests])
        await house.answered("Ada", room, "@soul what shall I weave?")
        assert (CANARY in house.last_prompt()) is known
        assert ("Your mood: delighted" in house.last_prompt()) is known
