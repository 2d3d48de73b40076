"""What each function of a mind may do by itself, on each level: every cell of the table in docs/MIND.md."""

import asyncio
import json
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from daemon.core.authority import FUNCTION_OF, REPLY_FIELDS, STARTS, Authority, Function, Level
from daemon.core.errors import StoreError
from daemon.memory.admin.initiative_admin import LONGEST_WHY, AuthorityChanges
from daemon.memory.admin.schedule_admin import Agenda
from daemon.memory.mind.allowing import Proposal
from daemon.memory.queues.approvals import Approvals
from daemon.memory.stream.authority import JUDGED, MOST_REFUSED, levels_in_words
from daemon.memory.stream.keeping import NewThought
from daemon.memory.stream.reading import list_thoughts
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.recall import allowed_of, focus_of, held_in, left_out, settled_lines, thoughts_in_mind
from daemon.mind.thought import CognitiveOutput, in_effect
from daemon.mind.thought.cognitive_output import Attention
from daemon.mind.thought_parts import Moment, parts_of
from tests.fakes import FakeClock
from tests.given import DM, thread
from tests.store.parts import WORKER, Stores
from tests.store.thinking import Thinker, members, new_thought

MINE = members("dm:D1")
EVERYBODY = members("workspace:T1")
OPEN = thread("1.0")
CLOCK = FakeClock()
SAMPLES: Mapping[str, object] = {
    "inner_speech": "I wonder.",
    "self_model_updates": {"current_state": "curious"},
    "emotional_state": {"felt_quality": "calm", "valence_shift": 0.1},
    "emotion_signal": "joy",
    "predictions": [{"what": "Ada comes back", "confidence": 0.6}],
    "attention": {"focus_on": ["the log"]},
    "world_model_updates": {"Ada": {"mood": "warm"}},
    "goal_updates": [{"action": "add", "goal": "find the slow query", "why": "it hurts"}],
    "memory_ops": [{"type": "write_semantic", "content": "The import runs at night."}],
    "tool_calls": [{"tool": "files/read", "arguments": {"path": "a"}}],
    "cycle_rate": {"seconds": 30, "why": "soon"},
    "value_updates": [{"action": "adopt", "value": "candour", "meaning": "say it", "why": "it helped"}],
    "identity_update": {"action": "draft", "text": "I am one who asks.", "why": "so it is"},
    "growth_reflection": {"worth_learning": True, "what_to_learn": "ask first"},
}


@pytest.fixture
def soul(stores: Stores) -> Thinker:
    return Thinker(stores)


def holding(name: str, authority: Authority = Authority()) -> NewThought:  # noqa: B008 - a frozen value
    """A thought that holds one field, with the parts by which it takes effect."""
    output = CognitiveOutput.model_validate({"inner_speech": "", name: SAMPLES[name]})
    return replace(
        new_thought(""),
        output=output.model_dump_json(exclude_defaults=True),
        parts=parts_of(Moment(1), in_effect(output, authority)),
        authority=authority,
    )


async def on_level(soul: Thinker, function: Function, level: int) -> None:
    changes = AuthorityChanges(soul.database, CLOCK, "ada")
    await changes.set(DM.soul, function, Level(level), "to see what it does")


async def thinks(soul: Thinker, one: NewThought, words: str = "go on") -> None:
    await soul.thinks(words, OPEN, EVERYBODY, thoughts=[one])


async def newest(soul: Thinker) -> tuple[dict[str, int], list[list[str]]]:
    row = (await soul.database.rows("SELECT did, refused FROM thoughts ORDER BY seq"))[-1]
    return json.loads(row["did"]), json.loads(row["refused"])


async def proposals(soul: Thinker) -> list[str]:
    return [row["id"] for row in await soul.database.rows("SELECT id FROM approvals WHERE tool GLOB 'mind.*'")]


async def proposed(soul: Thinker, field: str) -> str:
    await on_level(soul, FUNCTION_OF[field], 1)
    await thinks(soul, holding(field))
    (name,) = await proposals(soul)
    return name


def agenda(soul: Thinker) -> Agenda:
    return Agenda(soul.database, CLOCK, "ada")


def again(proposal: Proposal) -> tuple[ThoughtPart, ...]:
    return parts_of(Moment(proposal.now_ms, proposal.zone), CognitiveOutput.model_validate_json(proposal.output))


def test_each_field_of_a_thought_belongs_to_one_function_or_to_the_reply() -> None:
    assert set(FUNCTION_OF) | REPLY_FIELDS == set(CognitiveOutput.model_fields)
    assert not set(FUNCTION_OF) & REPLY_FIELDS
    assert set(SAMPLES) == set(FUNCTION_OF)
    assert set(Function) - set(FUNCTION_OF.values()) == {Function.INITIATIVE}
    assert set(STARTS) == set(Function)


@pytest.mark.parametrize("level", [0, 1, 2])
async def test_what_a_function_holds_is_kept_proposed_or_in_effect(soul: Thinker, level: int) -> None:
    effective = level >= Level.CHECKED
    for function in Function:
        await on_level(soul, function, level)
    for number, name in enumerate(sorted(FUNCTION_OF), 1):
        await thinks(soul, holding(name, (await soul.last(OPEN, EVERYBODY)).authority))
        did, refused = await newest(soul)
        last = await soul.last(OPEN, EVERYBODY)
        shown = held_in(last.previous)
        assert shown is not None, name
        assert ([name, "authority"] in refused) is not effective, name
        assert (shown == CognitiveOutput(inner_speech="")) is not effective, name
        assert (left_out(last.previous) == (f"{name}: authority",)) is not effective, name
        assert len(await proposals(soul)) == (number if level == Level.PROPOSED else 0), name
        assert effective or name not in did, name
        kept = await soul.database.one("SELECT output FROM thoughts ORDER BY seq DESC LIMIT 1")
        assert kept is not None, name
        assert json.loads(kept["output"])[name], f"{name} stays in the thought"
    noted = [row["text"] for row in await soul.database.rows("SELECT text FROM records WHERE kind = 'fact'")]
    assert noted == (["The import runs at night."] if effective else [])


async def test_a_level_that_fell_while_it_was_thought_counts(soul: Thinker) -> None:
    one = holding("memory_ops")
    await on_level(soul, Function.MEMORY, 0)
    await thinks(soul, one)
    assert (await newest(soul))[1] == [["memory_ops", "authority"]]
    withheld = holding("memory_ops", Authority({Function.MEMORY: Level.KEPT}))
    await on_level(soul, Function.MEMORY, 2)
    await thinks(soul, withheld)
    assert (await newest(soul))[1] == [["memory_ops", "authority"]], "its parts were left out when it was thought"


async def test_what_an_admin_allows_takes_effect_at_once_and_is_perceived_once(soul: Thinker) -> None:
    name = await proposed(soul, "memory_ops")
    assert await agenda(soul).approve(name, again) == ("memory_ops", [])
    assert len(await soul.database.rows("SELECT id FROM records WHERE kind = 'fact'")) == 1
    last = await soul.last(OPEN, EVERYBODY)
    (line,) = settled_lines(last)
    assert line.startswith("Allowed by an admin: memory_ops")
    assert line in thoughts_in_mind(last, 0)[-1]
    await thinks(soul, replace(new_thought("I see"), saw_thoughts=last.ids))
    assert (await soul.last(OPEN, EVERYBODY)).settled == ()
    with pytest.raises(StoreError, match="used already"):
        await agenda(soul).approve(name, again)
    assert await soul.database.one("SELECT 1 FROM audit WHERE act = 'approval.approved' AND object = :id", id=name)


async def test_what_is_allowed_later_rests_on_the_message_that_it_answered(soul: Thinker) -> None:
    await on_level(soul, Function.MEMORY, 1)
    await thinks(soul, holding("memory_ops"), "the import is slow at night")
    await thinks(soul, new_thought("so it is"), "and now for something else")
    (name,) = await proposals(soul)
    await agenda(soul).approve(name, again)
    (source,) = await soul.database.rows(
        "SELECT t.body FROM links l JOIN turns t ON l.target = 'TU_' || t.seq WHERE l.relation = 'sources'"
    )
    assert source["body"] == "the import is slow at night"


async def test_a_row_that_can_not_be_read_stops_no_conversation(soul: Thinker) -> None:
    newest_refused = "UPDATE thoughts SET refused = '{}' WHERE seq = (SELECT max(seq) FROM thoughts)"
    spoilt = (
        *(newest_refused.format(held) for held in ("gone", "[3, [1], {}]")),
        "UPDATE thoughts SET did = 'gone'",
        "UPDATE approvals SET arguments = 'gone'",
        "UPDATE approvals SET arguments = '[]'",
    )
    for number, statement in enumerate(spoilt, 1):
        await thinks(soul, holding("value_updates"))
        waiting = await soul.database.one("SELECT id FROM approvals WHERE state = 'waiting'")
        assert waiting is not None, statement
        await agenda(soul).refuse(waiting["id"])
        await soul.database.run(statement)
        last = await soul.last(OPEN, EVERYBODY)
        assert last.previous is not None, statement
        assert left_out(last.previous) == () or "refused" not in statement, statement
        await thinks(soul, replace(new_thought("I go on"), saw_thoughts=last.ids))
        assert max(one["seq"] for one in await list_thoughts(soul.database, DM.soul, "", 99)) == 2 * number, statement


async def test_two_that_approve_at_once_have_it_take_effect_once(soul: Thinker) -> None:
    name = await proposed(soul, "memory_ops")
    outcomes: list[str] = []

    async def approve() -> None:
        try:
            await agenda(soul).approve(name, again)
        except StoreError:
            outcomes.append("refused")
        else:
            outcomes.append("approved")

    async with asyncio.TaskGroup() as both:
        both.create_task(approve())
        both.create_task(approve())
    assert sorted(outcomes) == ["approved", "refused"]


async def test_what_was_allowed_to_be_looked_for_is_looked_for_at_the_next_message(soul: Thinker) -> None:
    name = await proposed(soul, "attention")
    assert focus_of(await soul.last(OPEN, EVERYBODY)) == ""
    await agenda(soul).approve(name, again)
    last = await soul.last(OPEN, EVERYBODY)
    assert focus_of(last) == "the log"
    assert allowed_of(last).attention.focus_on == ("the log",)


async def test_what_is_of_another_form_by_now_takes_nothing_else_along(soul: Thinker) -> None:
    for function in (Function.ATTENTION, Function.TOOLS):
        await on_level(soul, function, 1)
    await thinks(soul, holding("attention"))
    await thinks(soul, holding("tool_calls"))
    for name in await proposals(soul):
        await agenda(soul).approve(name, again)
    spoilt = "UPDATE thoughts SET output = json_set(output, '$.tool_calls', json('[{\"tool\": 3}]')) WHERE seq = 2"
    await soul.database.write(lambda transaction: transaction.run(spoilt))
    last = await soul.last(OPEN, EVERYBODY)
    assert len(last.settled) == 2
    assert allowed_of(last) == CognitiveOutput(inner_speech="", attention=Attention(focus_on=("the log",)))


async def test_what_an_admin_declines_has_no_effect_and_the_soul_perceives_it(soul: Thinker) -> None:
    name = await proposed(soul, "value_updates")
    await agenda(soul).refuse(name)
    last = await soul.last(OPEN, EVERYBODY)
    assert settled_lines(last)[0].startswith("Declined by an admin: value_updates")
    assert allowed_of(last) == CognitiveOutput(inner_speech="")
    assert not await soul.database.rows("SELECT 1 FROM inbox WHERE modality = 'decision'"), "no person is answered"


async def test_a_proposal_that_no_admin_settles_lapses(soul: Thinker, clock: FakeClock) -> None:
    await thinks(soul, holding("value_updates"))
    approvals = Approvals(soul.database, clock, WORKER)
    assert await approvals.expire() == 0
    clock.set_back(-15 * 86_400)
    assert await approvals.expire() == 1
    row = await soul.database.one("SELECT state FROM approvals")
    assert row is not None
    assert row["state"] == "expired"
    assert (await soul.last(OPEN, EVERYBODY)).settled == ()


@pytest.mark.parametrize("name", ["value_updates", "identity_update"])
async def test_what_holds_everywhere_is_changed_by_thoughts_for_everybody_alone(soul: Thinker, name: str) -> None:
    for level in (1, 2):
        await on_level(soul, FUNCTION_OF[name], level)
        await soul.thinks("in private", DM, MINE, thoughts=[holding(name)])
        assert (await newest(soul))[1] == [[name, "private"]]
    assert await proposals(soul) == []


async def test_a_proposal_holds_no_words_and_none_that_are_gone_take_effect(soul: Thinker) -> None:
    await on_level(soul, Function.MEMORY, 1)
    await thinks(soul, holding("memory_ops"))
    row = await soul.database.one("SELECT id, arguments FROM approvals")
    assert row is not None
    assert set(json.loads(row["arguments"])) == {"thought", "field"}
    await soul.database.run("UPDATE thoughts SET input = '', output = '', emptied = 1")
    with pytest.raises(StoreError, match="words of its thought are gone"):
        await agenda(soul).approve(row["id"], again)
    await agenda(soul).refuse(row["id"])
    assert settled_lines(await soul.last(OPEN, EVERYBODY)) == ("Declined by an admin: memory_ops",)


async def test_a_proposal_of_which_nothing_can_take_effect_and_a_tool_are_approved_by_no_admin(soul: Thinker) -> None:
    await on_level(soul, FUNCTION_OF["identity_update"], 1)
    await thinks(soul, holding("identity_update"))
    await soul.database.run("""UPDATE thoughts SET output = replace(output, '"draft"', '"commit"')""")
    (row,) = await soul.database.rows("SELECT id FROM approvals")
    with pytest.raises(StoreError, match="nothing of it can take effect: unknown"):
        await agenda(soul).approve(row["id"], again)
    assert [one["state"] for one in await soul.database.rows("SELECT state FROM approvals")] == ["waiting"]
    await thinks(soul, holding("value_updates"))
    await soul.database.run("UPDATE approvals SET tool = 'files/write'")
    tool = await soul.database.one("SELECT id FROM approvals")
    assert tool is not None
    with pytest.raises(StoreError, match="only those who were asked"):
        await agenda(soul).approve(tool["id"], again)
    with pytest.raises(StoreError, match="no proposal"):
        await agenda(soul).approve("nothing", again)


async def test_a_function_falls_a_level_when_a_quarter_of_its_last_parts_were_refused(soul: Thinker) -> None:
    good, bad = new_thought("well"), replace(new_thought("well"), refused=(("predictions", "unknown"),))
    well = json.dumps({"inner_speech": "", "predictions": [{"what": "rain", "confidence": 0.5}]})
    good = replace(good, output=well)
    for number in range(JUDGED - 1):
        await thinks(soul, bad if number < MOST_REFUSED else good)
    assert (await levels_in_words(soul.database, DM.soul))[3]["level"] == Level.CHECKED
    await thinks(soul, good)
    fallen = {one["function"]: one for one in await levels_in_words(soul.database, DM.soul)}["predictions"]
    assert (fallen["level"], fallen["by"], fallen["parts"]) == (Level.PROPOSED, "house", 0)
    assert fallen["why"] == f"{MOST_REFUSED} of its last {JUDGED} parts were refused"
    waiting = await soul.database.rows("SELECT conversation, sense, words, n FROM readings")
    words = "too many parts were refused: predictions is on level 1 now, proposed"
    assert [tuple(row) for row in waiting] == [(str(OPEN), "authority", words, 1)]
    history = await soul.database.rows("SELECT function, level_before, level, decided_by FROM mind_authority_history")
    assert [tuple(row) for row in history] == [("predictions", 2, 1, "house")]
    for _ in range(JUDGED):
        await thinks(soul, good)
    assert (await levels_in_words(soul.database, DM.soul))[3]["level"] == Level.PROPOSED, "it never rises by itself"


async def test_what_was_refused_for_lack_of_authority_or_not_to_be_remembered_counts_not(soul: Thinker) -> None:
    for _ in range(JUDGED):
        await thinks(soul, holding("value_updates"))
    await on_level(soul, Function.MEMORY, 2)
    for _ in range(JUDGED):
        await soul.thinks("go on", DM, MINE, thoughts=[holding("memory_ops")], passing=True)
    found = {one["function"]: one for one in await levels_in_words(soul.database, DM.soul)}
    assert (found["values"]["level"], found["values"]["refused"]) == (Level.PROPOSED, 0)
    assert (found["memory"]["level"], found["memory"]["parts"]) == (Level.CHECKED, 0)


async def test_a_level_is_set_with_a_reason_that_stays_on_record(soul: Thinker) -> None:
    changes = AuthorityChanges(soul.database, CLOCK, "ada")
    assert await changes.set(DM.soul, Function.GOALS, Level.PROPOSED, " it keeps them well ") == Level.CHECKED
    found = {one["function"]: one for one in await levels_in_words(soul.database, DM.soul)}
    assert (found["goals"]["level"], found["goals"]["why"], found["goals"]["by"]) == (1, "it keeps them well", "ada")
    assert found["memory"]["level"] == Level.CHECKED
    for why in (" ", "x" * (LONGEST_WHY + 1)):
        with pytest.raises(StoreError):
            await changes.set(DM.soul, Function.GOALS, Level.KEPT, why)
    assert len(await soul.database.rows("SELECT seq FROM mind_authority_history")) == 1
    assert {one["level"] for one in await levels_in_words(soul.database, "another") if one["function"] == "goals"} == {
        2
    }
