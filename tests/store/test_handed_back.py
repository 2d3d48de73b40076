"""A thread that goes back to a soul that had it, and what waits as a thread goes: nothing is lost, nothing twice."""

import pytest
from msgspec.structs import replace

from daemon.core.perception import ConversationKey
from daemon.core.questions import News
from daemon.memory.database import Database
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import Intentions
from daemon.memory.shared.questions import QuestionStore
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, deleted, edited, effect
from tests.store.handing import BENS, ROOM, TO_ADA, TO_BEN, hand, host, said, summary
from tests.store.parts import WORKER, Stores, intend


async def test_it_is_handed_back_with_what_was_said_meanwhile_and_was_not_deleted(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    await ada.inbox.accept(said("101.0", "and the glaze?"))
    await hand(ben, TO_ADA, "It is blue.")
    assert (await summary(ada.database, ROOM)).splitlines() == [
        "Said here while another soul answered:",
        "Ben: and the glaze?",
        "Ada: It is blue.",
    ]
    assert len(await ada.database.rows("SELECT 1 FROM outbox WHERE note = 1")) == 4
    own = ["the kiln is cold", "I see."]
    assert [one.body for one in (await ada.turns.transcript(ROOM, 9)).turns] == own
    await ada.inbox.accept(deleted("101.0", conversation=ROOM))
    assert "glaze" not in await summary(ada.database, ROOM)
    assert [one.body for one in (await ada.turns.transcript(ROOM, 9)).turns] == own


async def test_a_soul_keeps_its_own_summary_where_a_poorer_one_comes_back(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    await ada.commits.commit(effect(await ada.claim(), "I see."))
    (_, newest) = await ada.database.rows("SELECT seq FROM turns ORDER BY seq")
    assert await ada.turns.summarize(ROOM, "THE RICH SUMMARY", newest["seq"], instead_of=0)
    await ada.inbox.accept(said("101.0", "and the glaze? " * 40))
    await hand(ada, reply="THE WHOLE REPLY " * 40)
    await ada.inbox.accept(said("102.0", "which colour?"))
    await ben.commits.commit(effect(await ben.claim(), "Blue."))
    await ada.inbox.accept(edited("101.0", "and the glaze, then?", conversation=ROOM))
    assert await summary(ada.database) == "", "what was handed on holds words that are gone"
    await ada.database.run(
        "UPDATE working_memory SET summary = 'THE RICH SUMMARY', summarized_to = :seq", seq=newest["seq"]
    )
    await ada.inbox.accept(said("103.0", "hand it back"))
    await hand(ben, TO_ADA, "Gladly.")
    known = await ada.turns.transcript(ROOM, 9)
    assert known.summary.startswith("THE RICH SUMMARY\nSaid here while another soul answered:\n")
    assert [line for line in ("Blue.", "Gladly.", "which colour?") if line not in known.summary] == []
    assert known.turns[-1].body == "THE WHOLE REPLY " * 40


@pytest.mark.parametrize("summarized", [False, True])
async def test_what_came_between_outlasts_a_summary_meanwhile(ada: Stores, ben: Stores, *, summarized: bool) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    await ada.inbox.accept(said("101.0"))
    began = await ada.turns.transcript(ROOM, 9)
    if summarized:
        assert await ada.turns.summarize(ROOM, "in short", began.turns[0].seq, instead_of=0)
        began = await ada.turns.transcript(ROOM, 9)
    await ada.database.run(
        """
        INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms)
        VALUES ('summarizes_the_conversation', :id, 'ada', 'T1', 'running', 1)
        """,
        id=str(ROOM),
    )
    await hand(ben, TO_ADA, "It is blue.")
    assert not await ada.turns.summarize(ROOM, "poorer", began.turns[-1].seq, instead_of=began.summarized_to)
    assert "It is blue." in await summary(ada.database, ROOM)


async def test_of_much_that_came_between_the_older_is_told_in_short(ada: Stores, ben: Stores) -> None:
    await ada.inbox.accept(said())
    await hand(ada)
    for number in range(15):
        await ada.inbox.accept(said(f"{101 + number}.0", f"number {number}"))
        await ben.commits.commit(effect(await ben.claim(), "Aye."))
    (row,) = await ada.database.rows("SELECT max(seq) AS seq FROM turns")
    known = await ben.turns.transcript(BENS, 99)
    assert await ben.turns.summarize(BENS, "IN SHORT", row["seq"], instead_of=known.summarized_to)
    await ada.inbox.accept(said("200.0", "hand it back"))
    await hand(ben, TO_ADA, "Gladly.")
    lines = (await summary(ada.database, ROOM)).splitlines()
    assert lines[:2] == ["Said here while another soul answered:", "IN SHORT"]
    assert (len(lines), lines[-1]) == (26, "Ada: Gladly.")


async def asks_session(database: Database, clock: FakeClock) -> None:
    """A question to a session waits, which was asked in the thread with the first soul."""
    where = {"soul": SOUL, "workspace": TEAM, "conversation": str(ROOM)}
    await database.run(
        """
        INSERT INTO shared_messages (id, kind, sender, addressee, workspace, conversation, heard_in, inbox, behalf,
          audience, hops, state, created_ms, words, let_ms)
        VALUES ('NT_q', 'question', :soul, 's1', :workspace, :conversation, '', '', 'U1', 'workspace:T1', 1, 'waiting',
                :now, 'which one?', :now)
        """,
        now=clock.now_ms(),
        **where,
    )


async def told(database: Database) -> list[tuple[str, str]]:
    """The conversations with news of a session, and where the answer counts as heard."""
    rows = await database.rows(
        """
        SELECT i.conversation, m.heard_in FROM inbox i JOIN shared_messages m ON m.inbox = i.id
        WHERE i.modality = 'note' AND i.id LIKE i.soul || '/%'
        """
    )
    return [tuple(row) for row in rows]


async def test_an_answer_that_waits_to_be_said_goes_along(ada: Stores, ben: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    await asks_session(ada.database, clock)
    claim = await ada.claim()
    await QuestionStore(ada.database, clock, TEAM).answer("s1", "NT_q", "0042.")
    assert await told(ada.database) == [(str(ROOM), str(ROOM))]
    await ada.commits.commit(replace(effect(claim, "I see."), handoff=TO_BEN))
    assert await told(ada.database) == [(str(BENS), str(BENS))]
    assert await ada.conversations.claim_next() is None
    await ben.commits.commit(effect(await ben.claim(), "0042."))
    [row] = await ada.database.rows("SELECT state, how FROM shared_messages WHERE kind = 'answer'")
    assert tuple(row) == ("delivered", "inbox")


@pytest.mark.parametrize(("hosted", "holder"), [((SOUL, "ben"), BENS), ((SOUL,), ROOM), (("ben",), BENS), ((), BENS)])
async def test_an_answer_is_for_the_soul_that_has_the_thread_and_is_hosted(
    ada: Stores, clock: FakeClock, hosted: tuple[str, ...], holder: ConversationKey
) -> None:
    await ada.inbox.accept(said())
    await asks_session(ada.database, clock)
    await hand(ada)
    await host(ada.database, clock, *hosted)
    await QuestionStore(ada.database, clock, TEAM).answer("s1", "NT_q", "0042.")
    assert await told(ada.database) == [(str(holder), str(holder))]


async def test_either_soul_looks_after_a_question_of_a_thread_handed_over(ada: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    await asks_session(ada.database, clock)
    await hand(ada)
    questions = QuestionStore(ada.database, clock, TEAM)
    assert [len(await questions.open(soul)) for soul in (SOUL, "ben", "cleo")] == [1, 1, 0]
    (one,) = await questions.open("ben")
    assert [await questions.tell(one, News.LATE) for _ in range(2)] == [True, False]


async def test_a_reminder_due_as_a_thread_goes_is_of_the_new_soul(ada: Stores, ben: Stores, clock: FakeClock) -> None:
    await ada.inbox.accept(said())
    claim = await ada.claim()
    due = NewIntention(slot="look", content="look at the kiln", behalf="U1", due_ms=clock.now_ms() - 1)
    await intend(ada.database, clock, due, key=ROOM)
    assert await Intentions(ada.database, clock, WORKER).fall_due() == 1
    await ada.commits.commit(replace(effect(claim, "I see."), handoff=TO_BEN))
    assert await ada.conversations.claim_next() is None
    assert [one.perception.content for one in (await ben.claim()).messages] == ["look at the kiln"]
