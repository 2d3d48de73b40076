"""A thread that is handed to another soul: in one commit, with what is known of it; nothing counts twice."""

import asyncio

import pytest
from msgspec.structs import replace

from daemon.core.perception import ConversationKey
from daemon.core.ports.arrivals import Acceptance, Decision, Feedback, Source
from daemon.core.value import Value
from daemon.memory.admin.binding import Handing
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.handoffs import Handoff, HandoffRefused
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import ProcessState, VisitState
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, deleted, edited, effect, new_message
from tests.store.handing import BENS, EVERYBODY, ROOM, TO_ADA, TO_BEN, hand, host, said, summary, where
from tests.store.parts import Stores, intend, later


async def test_the_new_soul_gets_what_was_known_of_the_thread(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    claim = await ada.claim()
    state = ProcessState("problem_solving", "engaged", 2, {"a": 1}, {"problem": "the kiln"})
    whole = replace(effect(claim, "I see."), handoff=TO_BEN, state=state, visit_state=VisitState(3, 2, 1_000))
    await ada.database.run(
        "INSERT INTO conversation_topics VALUES (:id, :audience, 1, 'kilns', 'find the crack', 1)",
        id=str(ROOM),
        audience=str(EVERYBODY),
    )
    for channel, audience in (("C1", EVERYBODY), ("C2", EVERYBODY)):
        await ada.database.run(
            "INSERT INTO standing_questions VALUES ('ada', 'T1', :channel, :audience, 'why glaze?', 1)",
            channel=channel,
            audience=str(audience),
        )
    await ada.commits.commit(whole)
    await ada.inbox.accept(said("101.0"))
    theirs = await ben.claim()
    assert (theirs.state, theirs.visit_state, theirs.audience) == (state, VisitState(3, 2, 1_000), EVERYBODY)
    assert await summary(ada.database) == "Ben: the kiln is cold\nAda: I see."
    [topic] = await ada.database.rows("SELECT * FROM conversation_topics WHERE conversation = :id", id=str(BENS))
    assert (topic["topic"], topic["task"]) == ("kilns", "find the crack")
    questions = await ada.database.rows("SELECT channel, question FROM standing_questions WHERE soul = 'ben'")
    assert [tuple(row) for row in questions] == [("C1", "why glaze?")]


async def test_what_was_not_to_be_remembered_or_said_before_other_readers_is_not_passed_on(ada: Stores) -> None:
    await ada.inbox.accept(said())
    await ada.database.run("INSERT INTO standing_questions VALUES ('ada', 'T1', 'C1', 'channel:C1', 'a secret?', 1)")
    claim = await ada.claim()
    whole = replace(effect(claim, "I see."), handoff=TO_BEN)
    await ada.commits.commit(replace(whole, turns=tuple(replace(one, passing=True) for one in whole.turns)))
    assert await summary(ada.database) == ""
    assert await ada.database.rows("SELECT * FROM standing_questions WHERE soul = 'ben'") == []


async def test_what_is_said_from_then_on_is_the_new_souls_and_both_say_so_once(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    rows = await ada.database.rows("SELECT * FROM outbox WHERE note = 1 ORDER BY not_before")
    assert [(row["soul"], row["body"], row["reply_to"], row["recipient"]) for row in rows] == [
        ("ada", "From now on ben answers here; what was said is passed on.", "100.000001", "U1"),
        ("ben", "From now on I answer here in place of ada, and I know what was said.", "100.000001", "U1"),
    ]
    assert rows[0]["not_before"] < rows[1]["not_before"]
    assert await ada.inbox.accept(said("101.0", "and now?", addressed=False)) is Acceptance.ACCEPTED
    assert await where(ada.database, "100.000001") == [str(ROOM)]
    assert await where(ada.database, "101.0") == [str(BENS)]
    assert await ada.conversations.claim_next() is None
    [heard] = (await ben.claim()).messages
    assert (heard.perception.content, heard.perception.conversation) == ("and now?", BENS)


async def test_intentions_go_along(ada: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    quiet = replace(later(clock, "quiet"), cue="silence")
    assert await intend(ada.database, clock, later(clock), quiet, later(clock, "idle"), key=ROOM) == ()
    await hand(ada)
    rows = await ada.database.rows("SELECT slot, soul, conversation FROM intentions ORDER BY slot")
    assert {row["slot"]: row["conversation"] for row in rows} == {
        "idle": str(BENS),
        "look": str(BENS),
        "quiet": str(BENS),
    }
    assert all(row["conversation"].startswith(row["soul"]) for row in rows)


async def test_what_waits_for_an_answer_is_answered_by_the_new_soul_alone(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    claim = await ada.claim()
    await ada.inbox.accept(said("101.0", "and the glaze?"))
    whole = replace(effect(claim, "I see."), handoff=TO_BEN)
    await ada.commits.commit(whole)
    assert await ada.conversations.claim_next() is None
    assert [one.perception.content for one in (await ben.claim()).messages] == ["and the glaze?"]
    assert await where(ada.database, "101.0") == [str(BENS)]


async def test_an_event_that_comes_again_is_answered_once_on_either_side(ada: Stores, ben: Stores) -> None:
    before, between, after = said(), said("101.0"), said("102.0")
    await ada.inbox.accept(before)
    await hand(ada)
    await ada.inbox.accept(between)
    await hand(ben, TO_ADA)
    await ada.inbox.accept(after)
    for message in (before, between, after):
        assert await ada.inbox.accept(message) is Acceptance.DUPLICATE
        for source in Source:
            twin = replace(message, event_id=f"twin of {message.event_id} by {source}", source=source)
            assert await ada.inbox.accept(twin) is Acceptance.DUPLICATE, source
    found = [await where(ada.database, ts) for ts in ("100.000001", "101.0", "102.0")]
    assert found == [[str(ROOM)], [str(BENS)], [str(ROOM)]]
    assert await ben.conversations.claim_next() is None
    [heard] = (await ada.claim()).messages
    assert heard.perception.ts == "102.0"


async def test_the_whole_of_a_message_reaches_the_soul_that_has_its_first_half(ada: Stores) -> None:
    await ada.inbox.accept(replace(said(words="look at"), incomplete=True))
    await hand(ada)
    assert await ada.inbox.accept(said(words="look at this file", event="twin")) is Acceptance.ACCEPTED
    rows = await ada.database.rows("SELECT conversation, body FROM inbox WHERE modality = 'words'")
    assert [tuple(row) for row in rows] == [(str(ROOM), "look at this file")]


async def test_a_soul_hands_on_what_it_was_handed(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    await ada.inbox.accept(said("101.0"))
    await hand(ben, Handoff("cleo", "U1", ""))
    await ada.inbox.accept(said("102.0"))
    assert await where(ada.database, "102.0") == ["cleo/T1/C1/100.000001"]
    rows = await ada.database.rows("SELECT soul, handed_to FROM conversations ORDER BY soul")
    assert [tuple(row) for row in rows] == [("ada", "cleo"), ("ben", "cleo"), ("cleo", "")]


class KilledThere(Value):
    """An act that fails, as a daemon does that is killed in the middle of a commit."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        raise RuntimeError("killed")


async def test_a_daemon_killed_in_the_commit_handed_nothing_over(ada: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    await ada.inbox.accept(said())
    claim = await ada.claim()
    whole = replace(effect(claim, "I see."), handoff=TO_BEN)
    killed = replace(whole, acts=(KilledThere(),), asker=Asker("U1", ROOM, EVERYBODY, "100.000001"))
    with pytest.raises(RuntimeError, match="killed"):
        await ada.commits.commit(killed)
    with pytest.raises(HandoffRefused):  # the last thing that the transaction does
        await ada.commits.commit(replace(whole, handoff=TO_ADA))
    assert await ada.database.rows("SELECT 1 FROM conversations WHERE soul = 'ben' OR handed_to <> ''") == []
    assert await ada.database.rows("SELECT 1 FROM outbox") == []
    await ada.commits.commit(whole)
    assert len(await ada.database.rows("SELECT 1 FROM outbox WHERE note = 1")) == 2


async def test_a_deleted_message_leaves_nothing_with_either_soul(ada: Stores, ben: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said(words="my secret"))
    ask = replace(later(clock), params={"heard": ["100.000001"]}, content="the secret")
    await intend(ada.database, clock, ask, key=ROOM)
    await ada.inbox.accept(said("100.5", "go on"))
    claim = await ada.claim()
    keeps = ProcessState("engaged", process_memory={"matter": "the secret"})
    await ada.commits.commit(replace(effect(claim, "I see."), handoff=TO_BEN, state=keeps))
    await ada.database.run(
        "INSERT INTO standing_questions VALUES ('ben', 'T1', 'C1', :audience, 'what secret?', 1)",
        audience=str(EVERYBODY),
    )
    assert "secret" in await summary(ada.database)
    await ada.inbox.accept(said("101.0", "well?"))
    theirs = await ben.claim()
    await ada.inbox.accept(deleted("100.000001", conversation=ROOM))
    dump = [
        tuple(row)
        for table in ("working_memory", "conversations", "intentions", "turns", "inbox", "standing_questions")
        for row in await ada.database.rows(f"SELECT * FROM {table}")
    ]
    assert "secret" not in str(dump)
    [row] = await ada.database.rows("SELECT forgotten FROM conversations WHERE soul = 'ben'")
    assert row["forgotten"] != theirs.forgotten, "a cycle that read it can't be committed"


async def test_an_edit_reaches_what_was_handed_on_and_so_does_a_deletion_that_comes_first(ada: Stores) -> None:
    await ada.inbox.accept(said(words="the old words"))
    await hand(ada)
    await ada.inbox.accept(edited("100.000001", "new ones", conversation=ROOM))
    assert await summary(ada.database) == ""
    await ada.inbox.accept(said("101.0", "first"))
    await ada.inbox.accept(edited("101.0", "second", conversation=ROOM))
    [row] = await ada.database.rows("SELECT body, conversation FROM inbox WHERE ts = '101.0'")
    assert tuple(row) == ("second", str(BENS))
    await ada.inbox.accept(deleted("102.0", conversation=ROOM))
    assert await ada.inbox.accept(said("102.0")) is Acceptance.IGNORED
    assert await where(ada.database, "102.0") == []


async def test_while_no_daemon_hosts_the_new_soul_the_first_one_answers(ada: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    await host(ada.database, clock, SOUL)
    await ada.inbox.accept(said("101.0"))
    await host(ada.database, clock, SOUL, "ben")
    await ada.inbox.accept(said("102.0"))
    assert [await where(ada.database, ts) for ts in ("101.0", "102.0")] == [[str(ROOM)], [str(BENS)]]


async def test_threads_that_begin_in_handed_direct_messages_are_the_new_souls(ada: Stores, ben: Stores) -> None:
    old = ConversationKey(SOUL, TEAM, "D1", "90.0")
    await ada.inbox.accept(new_message("91.0", conversation=old))
    await ada.answer()
    await ada.inbox.accept(new_message())
    await hand(ada, Handoff("ben", "U1", ""))
    new = replace(old, thread="100.000001")
    await ada.inbox.accept(new_message("101.0", conversation=new))
    await ada.inbox.accept(new_message("102.0", conversation=old))
    assert await where(ada.database, "101.0") == ["ben/T1/D1/100.000001"]
    assert await where(ada.database, "102.0") == [str(old)], "a thread that was there is a talk of its own"
    await ada.inbox.accept(new_message("103.0"))
    await hand(ben, TO_ADA)
    await hand(ben, TO_ADA)
    await ada.inbox.accept(new_message("104.0", conversation=new))
    assert await where(ada.database, "104.0") == [str(new)]


async def test_what_a_soul_waits_to_be_allowed_it_does_itself(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    claim = await ada.claim()
    asks = NewApproval("ask-1", "shelf", {}, ("U1",), 2**50)
    parked = ProcessState("problem_solving", process_memory={"waits": "ask-1"})
    await ada.commits.commit(replace(effect(claim, "May I?"), handoff=TO_BEN, approval=asks, state=parked))
    await ada.inbox.accept(said("101.0"))
    assert (await ben.claim()).state == ProcessState()
    [row] = await ada.database.rows(
        "SELECT conversation, process FROM approvals a JOIN conversations c ON c.id = conversation"
    )
    assert tuple(row) == (str(ROOM), "problem_solving")


async def test_the_new_souls_posts_are_judged_and_its_questions_decided(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    await ada.inbox.accept(said("101.0"))
    claim = await ben.claim()
    asks = NewApproval("ask-1", "shelf", {}, ("U1",), 2**50)
    delivery = await ben.commits.commit(replace(effect(claim, "May I?"), approval=asks))
    if delivery is None:  # its own words on the handoff go first
        await ada.database.run("UPDATE outbox SET platform_ts = '101.5', state = 'sent' WHERE approval = 'ask-1'")
    pressed = (SOUL, TEAM, "C1", "101.5", "U1")
    assert await ada.inbox.accept(Feedback("F1", *pressed, "good")) is Acceptance.ACCEPTED
    assert await ada.inbox.accept(Decision("E1", *pressed, "ask-1", approves=True)) is Acceptance.ACCEPTED
    [row] = await ada.database.rows("SELECT soul FROM inbox WHERE modality = 'decision'")
    assert row["soul"] == "ben"


def handing(database: Database, clock: FakeClock) -> Handing:
    return Handing(database, clock, "root")


async def test_of_two_handoffs_at_once_the_first_wins_and_none_goes_to_oneself(ada: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    await ada.answer()
    with pytest.raises(HandoffRefused, match="can't be handed"):
        await handing(ada.database, clock).hand_over(str(ROOM), SOUL)
    assert await ada.database.rows("SELECT 1 FROM conversations WHERE handed_to <> ''") == []
    both = await asyncio.gather(
        *(handing(ada.database, clock).hand_over(str(ROOM), to) for to in ("ben", "cleo")), return_exceptions=True
    )
    assert [type(one).__name__ for one in both] == ["HandedOver", "HandoffRefused"]
    rows = await ada.database.rows("SELECT soul, handed_to FROM conversations ORDER BY soul")
    assert [tuple(row) for row in rows] == [("ada", "ben"), ("ben", "")]
    assert len(await ada.database.rows("SELECT 1 FROM outbox WHERE note = 1")) == 2
    with pytest.raises(HandoffRefused, match="was handed to ben before") as refused:
        await handing(ada.database, clock).hand_over(str(ROOM), "cleo")
    assert refused.value.hint == f"hand over {BENS}"


async def test_an_admin_waits_for_a_reply_and_ends_a_hung_cycle(ada: Stores, ben: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    claim = await ada.claim()
    with pytest.raises(HandoffRefused, match="ada is answering"):
        await handing(ada.database, clock).hand_over(str(ROOM), "ben")
    await clock.sleep(61)
    await handing(ada.database, clock).hand_over(str(ROOM), "ben")
    with pytest.raises(Exception, match="no longer holds"):
        await ada.commits.commit(effect(claim, "too late"))
    assert [one.perception.content for one in (await ben.claim()).messages] == ["the kiln is cold"]
    assert await ada.conversations.claim_next() is None
