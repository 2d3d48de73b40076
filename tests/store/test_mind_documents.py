"""The documents of a mind: what a thought says of its soul and world is in force before the same readers, and no other.

Each change is a patch to what is in force by then; what came of a thought goes with its words.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from daemon.core.authority import Function, Level
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.admin.initiative_admin import AuthorityChanges
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.mind.at_hand import AtHand, Minds
from daemon.memory.mind.documents import MindDocument
from daemon.memory.mind.self_model import (
    IdentityAct,
    IdentityPatch,
    SelfModelPatch,
    SoulValue,
    ValueChange,
    ValuesPatch,
    values_in_force,
)
from daemon.memory.mind.world_model import FADES_MS, MOST_ENTITIES, WorldModelPatch
from daemon.memory.people.retention import prune
from daemon.memory.thought_parts import ThoughtPart
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, deleted
from tests.store.parts import Stores
from tests.store.thinking import Thinker, members, new_thought, outsiders

MINE = members("dm:D1")
EVERYBODY = members(f"workspace:{TEAM}")
ROOM = ConversationKey(SOUL, TEAM, "C1", "1.000001")
OTHER_ROOM = ConversationKey(SOUL, TEAM, "C2", "1.000001")
OTHER_DM = ConversationKey(SOUL, TEAM, "D2")
THEIRS = members("dm:D2")
DAY_MS = 24 * 3_600_000


@dataclass
class Holder:
    """One soul whose thoughts write into its documents."""

    thinker: Thinker
    clock: FakeClock

    async def writes(
        self,
        *parts: ThoughtPart,
        where: ConversationKey = DM,
        readers: Readers = MINE,
        author: str = "U1",
        saw: Sequence[str] = (),
        passing: bool = False,
    ) -> tuple[dict[str, int], list[tuple[str, str]]]:
        thought = replace(new_thought("hm", saw=saw), parts=parts)
        await self.thinker.thinks("go on", where, readers, author=author, thoughts=[thought], passing=passing)
        row = (await self.rows("SELECT did, refused FROM thoughts ORDER BY seq"))[-1]
        return json.loads(str(row["did"])), [tuple(one) for one in json.loads(str(row["refused"]))]

    async def rows(self, sql: str) -> list[Mapping[str, object]]:
        found = await self.thinker.database.rows(sql)
        return [{name: row[name] for name in row.keys()} for row in found]  # noqa: SIM118 - a row is no mapping

    async def at_hand(
        self, where: ConversationKey = DM, readers: Readers = MINE, speaking: Sequence[str] = ("U1",)
    ) -> AtHand:
        return await Minds(self.thinker.database, self.clock).at_hand(where, readers, speaking)

    async def words(
        self, where: ConversationKey = DM, readers: Readers = MINE, speaking: Sequence[str] = ("U1",)
    ) -> list[str]:
        found = await self.at_hand(where, readers, speaking)
        return [one.words for one in found.documents.held]

    async def values(self, *seeds: str) -> dict[str, SoulValue]:
        found = await self.at_hand()
        return {one.name: one for one in values_in_force(seeds, found.documents.values)}


@pytest.fixture
async def holder(stores: Stores, clock: FakeClock) -> Holder:
    for function in (Function.VALUES, Function.IDENTITY):
        await AuthorityChanges(stores.database, clock, "ada").set(SOUL, function, Level.CHECKED, "to see them changed")
    return Holder(Thinker(stores), clock)


def world(**said: str) -> WorldModelPatch:
    """Attributes of the import, unless a name says another entity: `Name__attribute`."""
    entities = dict[str, dict[str, str]]()
    for name, words in said.items():
        entity, _, attribute = name.rpartition("__")
        entities.setdefault(entity or "import", {})[attribute] = words
    return WorldModelPatch(entities)


async def test_what_it_says_of_itself_holds_until_it_says_otherwise_and_all_of_it_is_history(holder: Holder) -> None:
    said = await holder.writes(SelfModelPatch("calm", "patience", "too sure", "is Ada well?"))
    assert said == ({"self_model_updates": 4}, [])
    await holder.writes(SelfModelPatch("curious"))
    assert await holder.words() == ["patience", "too sure", "is Ada well?", "curious"]
    history = await holder.rows("SELECT words, newest FROM mind_documents WHERE part = 'current_state' ORDER BY seq")
    assert history == [{"words": "calm", "newest": 0}, {"words": "curious", "newest": 1}]


async def test_a_sixth_uncertainty_is_refused_and_a_resolved_one_makes_room(holder: Holder) -> None:
    for number in range(5):
        await holder.writes(SelfModelPatch(new_uncertainty=f"is it {number}?"))
    assert (await holder.writes(SelfModelPatch(new_uncertainty="is it 6?")))[1] == [("self_model_updates", "too_many")]
    assert (await holder.writes(SelfModelPatch(new_uncertainty="IS it 2")))[1] == [("self_model_updates", "duplicate")]
    unknown = await holder.writes(SelfModelPatch(resolved_uncertainty="is it 7?"))
    assert unknown == ({}, [("self_model_updates", "unknown")])
    swapped = await holder.writes(SelfModelPatch(new_uncertainty="is it 6?", resolved_uncertainty="Is it 2"))
    assert swapped == ({"self_model_updates": 2}, [])
    assert await holder.words() == ["is it 0?", "is it 1?", "is it 3?", "is it 4?", "is it 6?"]
    again = await holder.writes(SelfModelPatch(resolved_uncertainty="is it 2?"))
    assert again[1] == [("self_model_updates", "unknown")]


async def test_two_audiences_never_mix_and_the_workspace_reads_only_its_own(holder: Holder) -> None:
    await holder.writes(SelfModelPatch("open"), where=ROOM, readers=EVERYBODY)
    await holder.writes(SelfModelPatch("mine"), world(state="slow"))
    await holder.writes(SelfModelPatch("theirs"), where=OTHER_DM, readers=THEIRS, author="U2")
    assert await holder.words() == ["open", "mine", "slow"]
    assert await holder.words(OTHER_DM, THEIRS) == ["open", "theirs"]
    assert await holder.words(OTHER_ROOM, EVERYBODY) == ["open"]


async def test_before_outsiders_it_holds_only_what_came_of_this_conversation(holder: Holder) -> None:
    guests = outsiders(f"workspace:{TEAM}")
    await holder.writes(SelfModelPatch("elsewhere"), where=OTHER_ROOM, readers=EVERYBODY)
    await holder.writes(world(state="slow"), where=ROOM, readers=guests)
    assert await holder.words(ROOM, guests) == ["slow"]
    assert await holder.words(OTHER_ROOM, guests) == []
    in_mind = members("dm:D1", rooms=["C9"])
    await holder.writes(SelfModelPatch("of the room"), readers=in_mind)
    assert await holder.words(readers=in_mind) == ["elsewhere", "slow", "of the room"]
    assert await holder.words() == ["elsewhere", "slow"], "who left the room is not shown it"


async def test_a_belief_is_about_someone_who_is_there_and_fades(holder: Holder) -> None:
    said = await holder.writes(world(ben__mood="warm", Bob__mood="cold", Bob__habit="late", BEN__role="x"))
    assert said == ({"world_model_updates": 2}, [("world_model_updates", "not_present")] * 2)
    (row,) = await holder.rows("SELECT part, attribute, words, person FROM mind_documents")
    assert row == {"part": "Ben", "attribute": "mood", "words": "warm", "person": "U1"}
    assert await holder.words() == ["warm"]
    assert await holder.words(speaking=[]) == ["warm"], "she spoke lately"
    await holder.clock.advance(FADES_MS / 1000 - 1)
    assert await holder.words() == ["warm"]
    assert await holder.words(speaking=[]) == [], "nobody is there"
    await holder.clock.advance(2)
    assert await holder.words() == []
    await prune(holder.thinker.database, holder.clock, {})
    assert await holder.rows("SELECT * FROM mind_documents") == []


async def test_what_lasts_about_a_known_person_is_not_held_here(holder: Holder, stores: Stores) -> None:
    await stores.database.run(
        "INSERT INTO user_models (soul, workspace, person, audience, version, name, seen_ms, updated_ms)"
        f" VALUES ('{SOUL}', '{TEAM}', 'U2', 'workspace:{TEAM}', 1, 'Bob Byrne', 1, 1)"
    )
    named = WorldModelPatch({"<@U2>": {"pay": "low"}, "u2": {"pay": "low"}, "<@U1>": {"pay": "low"}})
    said = await holder.writes(world(bob__role="boss", carol__role="boss"), named)
    assert said == ({"world_model_updates": 2}, [("world_model_updates", "not_present")] * 3)
    assert await holder.words() == ["boss"], "a person is known by their id, too"
    surroundings = await holder.writes(world(environment__safety="high", Environment__mood="dark"))
    assert surroundings == ({"world_model_updates": 1}, [("world_model_updates", "unknown")])


async def test_what_was_untouched_for_two_weeks_gives_way_to_what_is_new(holder: Holder) -> None:
    for number in range(MOST_ENTITIES):
        await holder.writes(WorldModelPatch({f"thing {number}": {"state": "new", "owner": "x"}}))
    for number in range(5):
        await holder.writes(SelfModelPatch(new_uncertainty=f"is it {number}?"))
    full = await holder.writes(WorldModelPatch({"one more": {"state": "new"}, "THING 5": {"state": "old"}}))
    assert full == ({"world_model_updates": 1}, [("world_model_updates", "too_many")])
    assert await holder.rows("SELECT part FROM mind_documents WHERE words = 'old'") == [{"part": "thing 5"}]
    elsewhere = await holder.writes(WorldModelPatch({"one": {"state": "x"}}), where=ROOM, readers=EVERYBODY)
    assert elsewhere == ({"world_model_updates": 1}, [])
    await holder.writes(WorldModelPatch({"thing 3": {f"attribute {number}": "x" for number in range(6)}}))
    more = SelfModelPatch(new_uncertainty="is it more?"), WorldModelPatch({"more": {"state": "x"}})
    of_one = WorldModelPatch({"thing 3": {"colour": "red"}})
    await holder.clock.advance(13 * 86_400)
    await holder.writes(WorldModelPatch({"thing 0": {"state": "old"}}))
    assert len((await holder.writes(*more, of_one))[1]) == 3, "all of it was said within two weeks"
    await holder.clock.advance(86_400)
    assert await holder.writes(*more, of_one) == ({"self_model_updates": 1, "world_model_updates": 2}, [])
    held = (await holder.at_hand()).documents.held
    things = {one.part for one in held if one.document is MindDocument.WORLD_MODEL}
    assert things == {"more", "one", *(f"thing {number}" for number in range(MOST_ENTITIES) if number != 1)}
    assert {one.attribute for one in held if one.part == "thing 3"} == {
        *("owner", "colour"),
        *(f"attribute_{number}" for number in range(6)),
    }
    doubts = [one.words for one in held if one.part == "uncertainties"]
    assert doubts == [*(f"is it {number}?" for number in range(1, 5)), "is it more?"]


async def test_values_are_adopted_reinterpreted_and_deactivated_but_never_deleted(holder: Holder) -> None:
    async def change(*changes: tuple[str, ...]) -> tuple[dict[str, int], list[tuple[str, str]]]:
        made = tuple(ValueChange(action, value, meaning, "so") for action, value, meaning in changes)  # type: ignore[arg-type]
        return await holder.writes(ValuesPatch(made, ("honesty", "care")), where=ROOM, readers=EVERYBODY)

    first = await change(("adopt", "Play", "to try"), ("adopt", "HONESTY", ""), ("deactivate", "care", ""))
    assert first == ({"value_updates": 2}, [("value_updates", "duplicate")])
    second = await change(
        ("reinterpret", "play", "to try twice"),
        ("reinterpret", "care", "late"),
        ("deactivate", "greed", ""),
        ("reinterpret", "play", ""),
    )
    assert second[1] == [("value_updates", reason) for reason in ("unknown", "unknown", "empty")]
    held = await holder.values("honesty", "care")
    assert [(one.name, one.meaning, one.active) for one in held.values()] == [
        ("honesty", "", True),
        ("care", "", False),
        ("Play", "to try twice", True),
    ]
    again = await change(*(("adopt", f"v{number}", "") for number in range(19)))
    assert again[1] == [("value_updates", "too_many")], "twenty at once"
    assert len(await holder.values("honesty", "care")) == 21


async def test_the_text_about_itself_is_drafted_put_in_force_revised_and_taken_back(holder: Holder) -> None:
    async def does(action: IdentityAct, text: str = "") -> str:
        patch = IdentityPatch(action, text, "so")
        refused = (await holder.writes(patch, where=ROOM, readers=EVERYBODY))[1]
        own = (await holder.at_hand()).documents.own
        return refused[0][1] if refused else f"{own.text}/{own.draft}"

    assert [await does("commit"), await does("revise", "x"), await does("withdraw")] == ["unknown"] * 3
    assert await does("draft") == "empty"
    assert await does("draft", "I mend.") == "/I mend."
    assert await does("draft", "I weave.") == "/I weave."
    assert await does("commit") == "I weave./"
    assert await does("draft", "I rest.") == "I weave./I rest."
    assert await does("revise", "I weave well.") == "I weave well./I rest."
    assert await does("withdraw") == "/I rest."
    assert await does("withdraw") == "/"
    assert len(await holder.rows("SELECT * FROM mind_documents")) == 7


async def test_what_not_the_whole_workspace_may_know_changes_no_value(holder: Holder) -> None:
    patches = ValuesPatch((ValueChange("adopt", "play", "", "so"),)), IdentityPatch("draft", "I mend.", "so")
    for where, readers in ((DM, MINE), (ROOM, outsiders(f"workspace:{TEAM}"))):
        said = await holder.writes(*patches, where=where, readers=readers)
        assert said == ({}, [("value_updates", "private"), ("identity_update", "private")]), where


async def test_what_a_thought_wrote_goes_with_its_words_and_what_was_before_is_in_force_again(holder: Holder) -> None:
    thinks, inbox = holder.thinker.thinks, holder.thinker.stores.inbox
    await holder.writes(SelfModelPatch("calm", new_uncertainty="is it so?"))
    held = await holder.at_hand()
    parts = (SelfModelPatch("sad", resolved_uncertainty="is it so?"), world(state="broken"))
    thought = replace(new_thought("hm"), parts=parts, saw_thoughts=held.thoughts)
    ts = await thinks("no", DM, MINE, thoughts=[thought])
    assert await holder.words() == ["sad", "broken"]
    await inbox.accept(deleted(ts))
    assert await holder.words() == ["calm", "is it so?"]
    assert await holder.rows("SELECT words FROM mind_documents WHERE words IN ('sad', 'broken')") == []

    drafts = replace(new_thought("hm"), parts=(IdentityPatch("draft", "I mend.", "so"),))
    ts = await thinks("write", ROOM, EVERYBODY, thoughts=[drafts])
    await holder.writes(IdentityPatch("commit", "", "so"), where=OTHER_ROOM, readers=EVERYBODY)
    assert (await holder.at_hand()).documents.own.text == "I mend."
    await inbox.accept(replace(deleted(ts), channel="C1"))
    assert (await holder.at_hand()).documents.own.text == "", "it was the text of the draft"


async def test_a_channel_that_is_made_private_takes_what_was_held_there_along(holder: Holder) -> None:
    patches = SelfModelPatch("of the room"), ValuesPatch((ValueChange("adopt", "play", "", "so"),))
    await holder.writes(*patches, where=ROOM, readers=EVERYBODY)
    await holder.writes(SelfModelPatch(recent_growth="elsewhere"), where=OTHER_ROOM, readers=EVERYBODY)
    private = Audience.parse("channel:C1")
    await holder.thinker.database.write(lambda transaction: make_private(transaction, TEAM, "C1", private, 1))
    assert await holder.words(OTHER_ROOM, EVERYBODY) == ["elsewhere"]
    assert await holder.values() == {}


async def test_it_is_kept_for_as_long_as_turns_are_but_values_for_good(holder: Holder) -> None:
    patches = SelfModelPatch("calm"), IdentityPatch("draft", "I mend.", "so")
    await holder.writes(*patches, where=ROOM, readers=EVERYBODY)
    await holder.clock.advance(3 * 86_400)
    await holder.writes(SelfModelPatch(recent_growth="patience"), where=ROOM, readers=EVERYBODY)
    await holder.thinker.database.run("UPDATE turns SET said_ms = :now", now=holder.clock.now_ms())
    await prune(holder.thinker.database, holder.clock, {"turn_days": 2})
    held = (await holder.at_hand()).documents
    assert ([one.words for one in held.held], held.own.draft) == (["patience"], "I mend.")
