"""A problem and its permissions: numbered passages, sources, what is stored, and actions done once or not at all."""

import dataclasses
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.errors import ChannelRefused, NotDelivered, ToolFailed
from daemon.core.expectations import Spent
from daemon.core.perception import Audience, AudienceKind, Modality, Place
from daemon.core.ports.channel import Room
from daemon.core.ports.library import Passage
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism.permission import (
    POST_ELSEWHERE,
    PermissionRequest,
    ask_permission,
    carry_out,
    plain_sight,
    status_sentence,
    still_open,
)
from daemon.ism.problem import KEPT_BYTES, MOST_FOUND, OBSERVATION_CAP, Problem, with_observation
from daemon.memory.database import Database, open_database
from daemon.memory.queues.approvals import Approval, Approvals, NewApproval
from daemon.memory.queues.internal_events import store_internal_event
from daemon.mind.process import Stay
from daemon.mind.steps.choose_actions import ChosenAction
from tests.fakes import FakeClock
from tests.given import DM, new_message
from tests.store.parts import WORKER, Stores, room
from tests.unit.process_parts import NoApprovals
from tests.unit.solving_parts import FOUND, LIMITS, ActionBench, Shelf, allowed, scene

DUE = 60_000
ACT = PermissionRequest("shelf/write_down", {"text": "a"}, ("UADA",), "I would do this. May I?", '{"text": "a"}', "f1")


def problem(*found: Passage) -> Problem:
    return Problem(WorkingMemory("Tess"), list(found))


def test_passages_are_numbered_once_and_a_reply_gets_those_that_it_cites() -> None:
    one = problem()
    assert one.add([Passage("a.md:1", "clay"), Passage("b.md:2", "fire")]) == "[1] a.md:1\nclay\n\n[2] b.md:2\nfire"
    assert one.add([Passage("b.md:2", "fire"), Passage("c.md:3", "ash")]) == "[2] b.md:2\nfire\n\n[3] c.md:3\nash"
    assert len(one.found) == 3
    one = problem()
    one.add([Passage(f"{number}", "x") for number in range(MOST_FOUND - 1)])
    text = one.add([Passage("last", "x"), Passage("over", "x"), Passage("0", "x")])
    assert text.startswith(f"[{MOST_FOUND}] last\nx\n\n[1] 0\nx\n\n(1 more were found")
    assert len(one.found) == MOST_FOUND
    one = problem()
    one.add([Passage("a`b\n*c*\t" + "d" * 500, "x"), Passage("  ", "y")])
    assert one.found[0].source.startswith("a'b *c* d")
    assert len(one.found[0].source) == 200
    assert one.found[1].source == "somewhere"
    for reply, text in (
        ("It is clay [1].", "It is clay [1].\n\n[1] `a.md:1`"),
        ("Fire [2] and clay [1] and fire [2].", "Fire [2] and clay [1] and fire [2].\n\n[1] `a.md:1`\n[2] `b.md:2`"),
        ("Both [1, 2].", "Both [1, 2].\n\n[1] `a.md:1`\n[2] `b.md:2`"),
        ("Half [2,9].", "Half [2].\n\n[2] `b.md:2`"),
        ("Neither [3].", "Neither."),
        ("Neither [0] nor [007] nor [99, 98].", "Neither nor nor."),
        ("A year [2024].", "A year [2024]."),
        ("A [1](https://x.org) link and [1]: a note.", "A [1](https://x.org) link and [1]: a note."),
        ("Code `a[1]` and ``b`[2]`` stays.", "Code `a[1]` and ``b`[2]`` stays."),
        ("```\nx[1] = y[9]\n```\nis it [1]", "```\nx[1] = y[9]\n```\nis it [1]\n\n[1] `a.md:1`"),
        ("```\nx[9]", "```\nx[9]"),
        ("A lone ` tick [9].", "A lone ` tick."),
        ("", ""),
    ):
        assert problem(*FOUND).with_sources(reply) == text
    hostile = " ".join("`" * (1 + number % 60) for number in range(2_000)) + " [9]"
    assert "`" in problem().with_sources(hostile)


@given(st.text(alphabet="[]12,90 \nx", max_size=60))
def test_no_unknown_number_is_left(reply: str) -> None:
    once = problem(*FOUND).with_sources(reply)
    assert not re.search(r"\[(?:0|9|90|09)\]", once)
    assert ("[1]" in reply) <= ("[1] `a.md:1`" in once)


def test_a_problem_is_stored_whole_and_read_back_and_an_unreadable_one_begins_anew() -> None:
    internal = with_observation(WorkingMemory("Tess"), ChosenAction("Research", "kilns"), "clay")
    one = Problem(internal, list(FOUND), Spent(2, 300, 0.25, 1.5), "UADA", asks=True, approval="a1")
    kept = json.loads(json.dumps(one.to_json()))
    assert Problem.resumed(kept, "Tess") == one
    assert one.waits
    for kept in (
        {},
        {"internal": "[]"},
        {**Problem(WorkingMemory("T")).to_json(), "internal": "no"},
        {**Problem(WorkingMemory("T")).to_json(), "spent": {"loops": -1}},
        {**Problem(WorkingMemory("T")).to_json(), "found": [["one"]]},
        {**Problem(WorkingMemory("T")).to_json(), "more": 1},
    ):
        assert Problem.resumed(kept, "Tess") == Problem(WorkingMemory("Tess"))
        assert not Problem.resumed(kept, "Tess").waits
    long = problem()
    for number in range(60):
        long.internal = with_observation(long.internal, ChosenAction("Research", f"{number}"), "x" * OBSERVATION_CAP)
    back = Problem.resumed(long.to_json(), "Tess").internal
    assert back.at(-1).name == "Research: 59", "the newest entries are stored"
    assert 6 < len(back) < 60


HOSTILE = st.sampled_from(["\\", '"', "\0", "😀", "x", "\ud800", "語\n"])


@given(HOSTILE, HOSTILE)
@settings(max_examples=4)
def test_a_stored_problem_is_bounded(character: str, other: str) -> None:
    one = problem()
    for number in range(70):
        text = f"{number}" + character * 20_000
        one.internal = with_observation(one.internal, ChosenAction("Research", other * 2_000), text)
        one.internal = one.internal.with_memory(Memory(Role.ASSISTANT, other * 9_000, name="é".ljust(80)))
        one.add([Passage(f"{number}{other * 300}", text)])
    written = json.dumps(one.to_json(), ensure_ascii=False).encode("utf-8", "replace")
    assert len(written) <= KEPT_BYTES
    back = Problem.resumed(one.to_json(), "Tess")
    assert 5 <= len(back.found) <= MOST_FOUND
    assert len(back.internal) > 0
    assert (back.internal.at(-1) == one.internal.at(-1)) == (other != "\ud800")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "memory.db", clock) as opened:
        await room(opened)
        yield opened


@dataclass
class Permits:
    database: Database
    clock: FakeClock

    @property
    def approvals(self) -> Approvals:
        return Approvals(self.database, self.clock, WORKER)

    async def allow(self, new: NewApproval, state: str = "approved") -> Approval:
        return await allowed(self.database, self.approvals, self.clock, new, state)

    def stage(self, **capabilities: object) -> ActionBench:
        return scene(clock=self.clock).having(approvals=self.approvals, **capabilities)


@pytest.fixture
def permits(database: Database, clock: FakeClock) -> Permits:
    return Permits(database, clock)


def permission(tool: str = "shelf/write_down", known_as: str = "a1", **arguments: object) -> NewApproval:
    return NewApproval(known_as, tool, arguments or {"text": "a"}, ("UADA",), FakeClock().now_ms() + DUE, "f1")


def unasked(clock: FakeClock, **capabilities: object) -> ActionBench:
    return scene(clock=clock).having(approvals=NoApprovals(), **capabilities)


async def test_a_question_shows_exactly_what_will_be_done_and_parks_the_problem(clock: FakeClock) -> None:
    one, parked = unasked(clock, approval_seconds=90.0), problem()
    assert isinstance(await ask_permission(one.context, parked, one.context.memory, ACT), Stay)
    motor = one.context.motor
    assert motor.reply == 'I would do this. May I?\n\n```\n{"text": "a"}\n```'
    assert motor.approval == NewApproval(
        parked.approval, ACT.tool, ACT.arguments, ("UADA",), clock.now_ms() + 90_000, "f1"
    )
    assert parked.waits
    motor.withdraw_question()
    assert motor.approval is None
    for shown, fence in (("a ``` b", "````"), ("a ````` b", "``````"), ("`a` b", "```")):
        one = unasked(clock)
        await ask_permission(one.context, problem(), one.context.memory, replace(ACT, shown=shown))
        assert one.context.motor.reply.endswith(f"\n\n{fence}\n{shown}\n{fence}")
    assert plain_sight("a\u202eb\u200b\tc\nd é 語") == "a\\u202eb\\u200b\\tc\nd é 語"


async def test_in_the_terminal_or_beyond_its_length_no_permission_is_asked(clock: FakeClock) -> None:
    one = unasked(clock)
    there = replace(one.context, perception=replace(one.context.perception, place=Place.TERMINAL))
    with pytest.raises(ToolFailed, match="only be given in Slack"):
        await ask_permission(there, problem(), there.memory, ACT)
    with pytest.raises(ToolFailed, match="too long"):
        await ask_permission(one.context, problem(), one.context.memory, replace(ACT, shown="x" * 3_001))
    assert one.context.motor.approval is None


async def test_an_open_request_is_not_asked_again(permits: Permits) -> None:
    for state in ("waiting", "refused"):
        await permits.allow(permission(known_as=state), state)
        one, parked = permits.stage(), dataclasses.replace(problem(), approval=state)
        assert (await still_open(one.context, parked) is None) == (state == "refused")
        other = replace(ACT, arguments={"text": "b"})
        await ask_permission(one.context, dataclasses.replace(parked), one.context.memory, other)
        if state == "waiting":
            with pytest.raises(ToolFailed, match="asked for already"):
                await ask_permission(one.context, parked, one.context.memory, ACT)
        else:
            await ask_permission(one.context, parked, one.context.memory, ACT)


async def test_an_approved_action_is_done_once(permits: Permits) -> None:
    await permits.allow(permission())
    shelf = Shelf()
    one = permits.stage(toolbox=shelf)
    first, again = await carry_out(one.context, "a1"), await carry_out(one.context, "a1")
    assert first.sentence == again.sentence == "`shelf/write_down`: done once, as allowed."
    assert first.passages == (Passage("shelf/write_down", "the shelf says so"),)
    assert again.passages == ()
    assert shelf.used == [("shelf/write_down", {"text": "a"})]
    await permits.allow(permission(known_as="a3"))
    for limits in (None, replace(LIMITS, reads_only=True)):
        off = await carry_out(permits.stage(toolbox=shelf, limits=limits).context, "a3")
        assert off.sentence == "`shelf/write_down`: allowed, but not done."
    for one in (unasked(permits.clock, toolbox=shelf), permits.stage(toolbox=shelf)):
        assert "no longer known" in (await carry_out(one.context, "a2")).sentence
    gone = await carry_out(permits.stage().context, "a3")
    assert gone.sentence == "`shelf/write_down`: may not be used here now; nothing was done."
    assert len(shelf.used) == 1


async def test_in_any_other_state_nothing_is_done_and_the_result_says_so(permits: Permits) -> None:
    for state, sentence in (
        ("waiting", "not decided yet; nothing was done."),
        ("refused", "refused; nothing was done."),
        ("expired", "the permission has expired; nothing was done."),
        ("failed", "tried as allowed, but it failed; nothing was done."),
        ("using", "started as allowed, but the result is unknown. It will not be tried again."),
        ("unknown", "started as allowed, but the result is unknown. It will not be tried again."),
    ):
        await permits.allow(permission(known_as=state), state)
        shelf = Shelf()
        done = await carry_out(permits.stage(toolbox=shelf).context, state)
        assert done.sentence == f"`shelf/write_down`: {sentence}", state
        assert shelf.used == [], state
    for uncertain, state, sentence in (
        (False, "failed", "tried as allowed, but it failed; nothing was done."),
        (True, "unknown", "started as allowed, but the result is unknown. It will not be tried again."),
    ):
        await permits.allow(permission(known_as=f"tried {state}"))
        shelf = Shelf(failing=ToolFailed("SAY BOO", uncertain=uncertain))
        done = await carry_out(permits.stage(toolbox=shelf).context, f"tried {state}")
        assert done.sentence == f"`shelf/write_down`: {sentence}"
        assert done.error == "SAY BOO", "a tool's words are no part of the daemon's"
        found = await permits.approvals.status(f"tried {state}")
        assert found is not None
        assert found.state == state


ROOM = Room("C9", Place.PUBLIC_CHANNEL, Audience(AudienceKind.WORKSPACE, "T1"))
LETTER = {"to": "C9", "name": "the potters", "summary": "Mend it."}


async def test_an_approved_message_is_posted_word_for_word(permits: Permits) -> None:
    await permits.allow(permission(POST_ELSEWHERE, **LETTER))

    async def find_room(contact: str) -> Room:
        assert contact == "C9"
        return ROOM

    one = permits.stage(find_room=find_room)
    assert (await carry_out(one.context, "a1")).sentence == "The message to the potters: on its way, word for word."
    cross_post = one.context.motor.cross_post
    assert cross_post is not None
    assert (cross_post.approval, cross_post.conversation.channel, cross_post.body) == ("a1", "C9", "Mend it.")
    assert cross_post.audience == ROOM.audience


async def test_an_unreachable_contact_is_reported(permits: Permits) -> None:
    errors = [NotDelivered("Slack is away"), ChannelRefused("no such room", code="x")]

    async def find_room(_: str) -> Room:
        raise errors.pop()

    for name in ("a1", "a2"):
        await permits.allow(permission(POST_ELSEWHERE, name, **LETTER))
        one = permits.stage(find_room=find_room)
        assert "nothing was sent" in (await carry_out(one.context, name)).sentence
        assert one.context.motor.cross_post is None


async def test_an_expired_or_used_permission_posts_nothing(permits: Permits) -> None:
    found = await permits.allow(permission(POST_ELSEWHERE, **LETTER))
    await permits.clock.advance(DUE / 1000 + 1)
    one = permits.stage()
    assert "has expired" in (await carry_out(one.context, "a1")).sentence
    assert one.context.motor.cross_post is None
    await permits.database.write(lambda it: it.run("UPDATE approvals SET state = 'used'"))
    assert (await carry_out(one.context, "a1")).sentence == "The message to the potters: done once, as allowed."
    assert one.context.motor.cross_post is None
    assert status_sentence(replace(found, arguments={})).startswith("The message to a contact: ")


async def test_a_decision_is_not_absorbed_by_a_reply_in_progress(database: Database, clock: FakeClock) -> None:
    stores = Stores.of(database, clock)
    await stores.inbox.accept(new_message("1.0", conversation=DM))
    claim = await stores.claim()
    await database.write(
        lambda it: store_internal_event(
            it,
            name="decision:a1",
            conversation=DM,
            modality=Modality.DECISION,
            author="UADA",
            place="dm",
            audience="dm:D1",
            params={},
            now=clock.now_ms(),
        )
    )
    assert not await stores.conversations.has_new_messages(DM)
    assert await stores.conversations.absorb_new_messages(claim) == claim
    await stores.inbox.accept(new_message("2.0", conversation=DM))
    assert await stores.conversations.has_new_messages(DM)
    taken = await stores.conversations.absorb_new_messages(claim)
    assert [one.perception.modality for one in taken.messages] == [Modality.WORDS] * 2
    await stores.conversations.release(taken)
    assert len((await stores.claim()).messages) == 3, "it waits for a claim of its own"
