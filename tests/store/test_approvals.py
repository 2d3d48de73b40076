"""A permission is given once, in time, by a user who was asked, under the question's message; it is used once."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.arrivals import Acceptance, Decision
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, open_database
from daemon.memory.queues.approvals import Approval, Approvals, NewApproval, decide, store_approval
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM
from tests.store.parts import WORKER, Stores, look, poke, room

ASKED, OPEN_FOR_MS = ("U1", "U2"), 900_000
CLICK = Decision("P1", SOUL, TEAM, "D1", "5.0", "U1", "a1", approves=True)
KEY = f"{DM}@3#0"


async def ask(database: Database, clock: Clock, *, state: str = "sent", ts: str | None = "5.0") -> None:
    """Store a question under a post in this state."""
    await room(database)
    new = NewApproval("a1", "files/write", {"path": "notes.md"}, ASKED, clock.now_ms() + OPEN_FOR_MS)
    audience = Audience(AudienceKind.DM, "D1")
    await database.write(
        lambda it: store_approval(it, new, conversation=DM, turn=3, audience=audience, now=clock.now_ms())
    )
    await _post(database, clock, KEY, approval="a1", state=state, ts=ts)
    await _post(database, clock, f"{DM}@2#0", approval=None, state="sent", ts="4.0")


async def _post(
    database: Database, clock: Clock, key: str, *, approval: str | None, state: str, ts: str | None
) -> None:
    await database.write(
        lambda transaction: transaction.run(
            """
            INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient,
                                newer_than_ts, audience, state, platform_ts, created_ms, approval)
            VALUES (:key, :conversation, :soul, :workspace, 0, 1, 'May I?', '1.0', 'U1', '1.0', 'dm:D1', :state,
                    :ts, :now, :approval)
            """,
            key=key,
            conversation=str(DM),
            soul=SOUL,
            workspace=TEAM,
            state=state,
            ts=ts,
            now=clock.now_ms(),
            approval=approval,
        )
    )


async def click(database: Database, clock: Clock, decision: Decision = CLICK) -> tuple[Acceptance, str]:
    return await database.write(lambda transaction: decide(transaction, decision, clock.now_ms()))


@pytest.fixture
def approvals(database: Database, clock: FakeClock) -> Approvals:
    return Approvals(database, clock, WORKER)


@pytest.fixture
async def asked(database: Database, clock: FakeClock, approvals: Approvals) -> Approvals:
    """A question is posted."""
    await ask(database, clock)
    return approvals


async def _status(approvals: Approvals) -> Approval:
    found = await approvals.status("a1")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("approves", "state", "words"), [(True, "approved", "Allowed."), (False, "refused", "Refused.")]
)
async def test_a_click_in_time_by_a_user_who_was_asked_decides(
    *, database: Database, clock: FakeClock, asked: Approvals, approves: bool, state: str, words: str
) -> None:
    await clock.advance(60)
    decision = replace(CLICK, author="U2", approves=approves)
    assert await click(database, clock, decision) == (Acceptance.ACCEPTED, state)
    found = await _status(asked)
    assert (found.state, found.decided_by, found.decided_ms) == (state, "U2", clock.now_ms())
    assert look(
        database.path, "SELECT id, author, place, audience, body, source, state, modality, process FROM inbox"
    ) == [("ada/T1/D1/decision:a1", "U2", "dm", "dm:D1", f"files/write: {words}", "live", "new", "decision", None)]
    params = json.loads(str(look(database.path, "SELECT params FROM inbox")[0][0]))
    assert params == {"approval": "a1", "approved": approves, "by": "U2", "expired": False, "answer": ""}
    assert look(
        database.path,
        "SELECT id, body, revises, approval, state, conversation, reply_to, recipient, newer_than_ts, audience,"
        " platform_ts FROM outbox WHERE revises IS NOT NULL",
    ) == [
        (f"{KEY}!decided", f"May I?\n\n_{words}_", "5.0", None, "pending", str(DM), "1.0", "U1", "1.0", "dm:D1", None)
    ]
    assert look(database.path, "SELECT actor, act, object FROM audit") == [("U2", f"approval.{state}", "a1")]


WRONG = {
    "by another user": replace(CLICK, author="U9"),
    "in another channel": replace(CLICK, channel="D2"),
    "in another workspace": replace(CLICK, workspace="T2"),
    "of another soul": replace(CLICK, soul="bo"),
    "under another message of the soul": replace(CLICK, ts="4.0"),
    "under an unknown message": replace(CLICK, ts="6.0"),
    "with an invented id": replace(CLICK, approval="a2' OR '1'='1" * 50),
}


async def test_a_wrong_click_changes_nothing_and_goes_into_the_audit_log(stores: Stores, asked: Approvals) -> None:
    clicks = [(how, replace(wrong, approves=approves)) for how, wrong in WRONG.items() for approves in (True, False)]
    for number, (how, wrong) in enumerate(clicks, 1):
        acceptance, reason = await click(stores.database, stores.clock, wrong)
        assert acceptance is not Acceptance.ACCEPTED, how
        assert reason, how
        assert look(stores.path, "SELECT count(*) FROM audit WHERE act = 'approval.ignored'") == [(number,)], how
        assert (await _status(asked)).state == "waiting", how
        assert look(stores.path, "SELECT count(*) FROM inbox") == [(0,)], how
        assert look(stores.path, "SELECT count(*) FROM outbox") == [(2,)], how
    assert await asked.begin_use("a1") is None
    assert (await click(stores.database, stores.clock))[0] is Acceptance.ACCEPTED  # the right click still counts


async def test_simultaneous_and_later_clicks_decide_once(stores: Stores, asked: Approvals, others: Stores) -> None:
    answers: list[Acceptance] = []

    async def one(where: Database, decision: Decision) -> None:
        answers.append((await click(where, stores.clock, decision))[0])

    async with asyncio.TaskGroup() as group:
        for where in (stores.database, others.database):
            for author in ASKED:
                group.create_task(one(where, replace(CLICK, author=author, approves=author == "U1")))
    assert answers.count(Acceptance.ACCEPTED) == 1
    assert look(stores.path, "SELECT count(*) FROM inbox") == [(1,)]
    decided = (await _status(asked)).state
    for where in (stores.database, others.database):
        for again in (CLICK, replace(CLICK, approves=False), replace(CLICK, author="U2")):
            assert (await click(where, stores.clock, again))[0] is not Acceptance.ACCEPTED, again
    assert (await _status(asked)).state == decided
    assert look(stores.path, "SELECT count(*) FROM inbox") == [(1,)]
    assert look(stores.path, "SELECT count(*) FROM outbox WHERE revises IS NOT NULL") == [(1,)]


async def test_a_late_click_expires_the_question(stores: Stores, asked: Approvals, path: Path) -> None:
    await stores.clock.advance(OPEN_FOR_MS / 1000)
    assert await click(stores.database, stores.clock) == (Acceptance.IGNORED, "too late")
    assert (await _status(asked)).state == "expired"
    assert await asked.expire() == 0  # it has expired already
    assert look(path, "SELECT author FROM inbox") == [("U1",)]
    params = json.loads(str(look(path, "SELECT params FROM inbox")[0][0]))
    assert params == {"approval": "a1", "approved": False, "by": "", "expired": True, "answer": ""}
    assert look(path, "SELECT body FROM outbox WHERE revises = '5.0'") == [("May I?\n\n_Expired, nothing was done._",)]
    assert await asked.begin_use("a1") is None


async def test_a_question_expires_once_at_its_deadline(stores: Stores, asked: Approvals, others: Stores) -> None:
    assert await asked.next_due_ms() == stores.clock.now_ms() + OPEN_FOR_MS
    assert await asked.expire() == 0
    await stores.clock.advance(OPEN_FOR_MS / 1000)
    async with asyncio.TaskGroup() as group:
        rivals = (asked, Approvals(others.database, stores.clock, WORKER))
        tasks = [group.create_task(one.expire()) for one in rivals]
    assert sum(task.result() for task in tasks) == 1
    assert await asked.next_due_ms() is None
    assert look(stores.path, "SELECT count(*) FROM inbox WHERE modality = 'decision'") == [(1,)]


async def test_a_question_in_the_middle_of_its_post_expires_once_posted(stores: Stores, approvals: Approvals) -> None:
    await ask(stores.database, stores.clock, state="sending", ts=None)
    assert (await click(stores.database, stores.clock))[0] is Acceptance.IGNORED
    await stores.clock.advance(OPEN_FOR_MS / 1000)
    assert await approvals.next_due_ms() is None
    assert await approvals.expire() == 0
    poke(stores.path, "UPDATE outbox SET state = 'sent', platform_ts = '5.0' WHERE id = ?", KEY)
    assert await approvals.expire() == 1
    assert look(stores.path, "SELECT revises FROM outbox WHERE id = ?", f"{KEY}!decided") == [("5.0",)]


@pytest.mark.parametrize("state", ["pending", "dead"])
async def test_a_question_that_expires_before_its_post_has_no_buttons(
    stores: Stores, approvals: Approvals, state: str
) -> None:
    await ask(stores.database, stores.clock, state=state, ts=None)
    await stores.clock.advance(OPEN_FOR_MS / 1000)
    assert await approvals.expire() == 1
    if state == "pending":
        expired = ("May I?\n\n_Expired, nothing was done._", None, "pending")
        assert look(stores.path, "SELECT body, approval, state FROM outbox WHERE id = ?", KEY) == [expired]
    assert look(stores.path, "SELECT count(*) FROM outbox") == [(2,)]
    assert look(stores.path, "SELECT count(*) FROM inbox") == [(1,)]


async def test_a_permission_is_used_once_by_the_first_worker(stores: Stores, asked: Approvals, others: Stores) -> None:
    assert await asked.begin_use("a1") is None
    await click(stores.database, stores.clock)
    rival = Approvals(others.database, stores.clock, replace(WORKER, workspace="T2"))
    assert await rival.begin_use("a1") is None
    taken = await asked.begin_use("a1")
    assert taken is not None
    assert (taken.tool, taken.arguments, taken.asked) == ("files/write", {"path": "notes.md"}, ASKED)
    await asked.finish_use("a1", "used")
    assert (await _status(asked)).state == "used"
    assert await asked.begin_use("a1") is None
    await asked.finish_use("a1", "failed")
    assert (await _status(asked)).state == "used"


async def test_a_use_interrupted_by_a_crash_is_unknown_and_never_repeated(stores: Stores, asked: Approvals) -> None:
    await click(stores.database, stores.clock)
    assert await asked.begin_use("a1") is not None
    async with open_database(stores.path, stores.clock) as restarted:
        later = Approvals(restarted, stores.clock, replace(WORKER, id="worker-2"))
        assert await later.begin_use("a1") is None
        assert (await _status(later)).state == "unknown"
        assert await later.begin_use("a1") is None
    await asked.finish_use("a1", "used")  # the first worker is alive after all and knows the outcome
    assert (await _status(asked)).state == "used"


async def test_a_permission_expires(database: Database, clock: FakeClock, approvals: Approvals) -> None:
    assert await approvals.status("a1") is None, "an unknown question"
    assert await approvals.begin_use("a1") is None
    await ask(database, clock)
    await clock.advance(10)
    await click(database, clock)
    await clock.advance(OPEN_FOR_MS / 1000 + 1)
    assert await approvals.begin_use("a1") is None
    assert (await _status(approvals)).state == "expired"


def test_a_question_without_users_to_ask_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one user"):
        NewApproval("a1", "files/write", {}, (), 1)
