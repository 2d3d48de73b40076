"""When a soul has something to think about next: of all that is due the first, or of promises alone."""

import pytest

from daemon.memory.database import Database
from daemon.memory.queues.ticks import Ticks
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, new_message
from tests.store.parts import WORKER, Stores

GOAL = """
    INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words, priority, state,
                       follow_up, said_in, due_ms, woken_ms, created_ms, touched_ms, why, thought, changed_by)
    VALUES (:soul, :id, :team, :where, 'dm:D1', '{}', 'U1', :id, :id, 0.5, 'open', :promised, :said_in, :due, :woken,
            1, 1, '', '', '')
    """
TICK = """
    INSERT INTO ticks (soul, workspace, conversation, kind, about, due_ms)
    VALUES (:soul, :team, :where, :kind, :about, :due)
    """
HERE = {"soul": SOUL, "team": TEAM, "where": str(DM)}


@pytest.fixture
def ticks(database: Database, clock: FakeClock, stores: Stores) -> Ticks:
    return Ticks(database, clock, WORKER, stores.conversations)


async def goal(database: Database, name: str, due: int, *, promised: bool = False, woken: bool = False) -> None:
    """A goal with a time; of one that is `woken` a tick is there, or was."""
    said = {"promised": int(promised), "said_in": "a post" if promised else ""}
    await database.run(GOAL, **HERE, **said, id=name, due=due, woken=due if woken else 0)


async def test_the_first_of_all_or_of_promises_is_next_and_none_while_words_wait(stores: Stores, ticks: Ticks) -> None:
    assert [await ticks.next_due_ms(owed_alone=alone) for alone in (False, True)] == [None, None]
    await goal(stores.database, "G1", 300)
    await goal(stores.database, "G2", 700, promised=True)
    await goal(stores.database, "G3", 600, promised=True)
    assert [await ticks.next_due_ms(owed_alone=alone) for alone in (False, True)] == [300, 600]
    await stores.database.run(TICK, **HERE, kind="wake", about="", due=200)
    assert [await ticks.next_due_ms(owed_alone=alone) for alone in (False, True)] == [200, 600]
    await stores.inbox.accept(new_message("1.000001", "hello", conversation=DM))
    assert [await ticks.next_due_ms(owed_alone=alone) for alone in (False, True)] == [None, None]


async def test_a_promise_that_waits_as_a_tick_is_next_and_one_kept_is_not(database: Database, ticks: Ticks) -> None:
    await goal(database, "G1", 100, woken=True)
    await goal(database, "G2", 100, promised=True, woken=True)
    for about, due in (("G1", 400), ("G2", 500)):
        await database.run(TICK, **HERE, kind="due", about=about, due=due)
    assert [await ticks.next_due_ms(owed_alone=alone) for alone in (False, True)] == [400, 500]
    await database.run("UPDATE goals SET kept_ms = 450")
    assert [await ticks.next_due_ms(owed_alone=alone) for alone in (False, True)] == [400, None]
