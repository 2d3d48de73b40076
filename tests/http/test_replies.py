"""Replies found by the message ids of the sending programs, and background jobs queued by programs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports.arrivals import NewMessage
from daemon.core.ports.services import SystemClock
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.memory.database import Database, open_database
from tests.given import SOUL, TEAM, effect
from tests.store.parts import Stores

HERE = ConversationKey(SOUL, TEAM, "http", "here")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A fresh memory.db."""
    async with open_database(tmp_path / "memory.db", SystemClock()) as opened:
        yield opened


@pytest.fixture
def stores(database: Database) -> Stores:
    """One worker's stores on it."""
    return Stores.of(database, SystemClock())


def _said(message_id: str, ts: str = "100.000001", name: str = "", where: ConversationKey = HERE) -> NewMessage:
    who: dict[str, Any] = {"author": "http.here", "audience": Audience(AudienceKind.DM, "http.here"), "name": name}
    said = Perception.of_message(conversation=where, ts=ts, content="hi", place=Place.TERMINAL, **who)
    return NewMessage(event_id=ts, perception=said, addressed=True, message_id=message_id)


async def test_a_message_is_found_by_its_id_only_in_its_conversation(database: Database, stores: Stores) -> None:
    elsewhere = replace(HERE, thread="elsewhere")
    await stores.inbox.accept(_said("m"))
    await stores.inbox.accept(_said("mm", "100.000002"))
    await stores.inbox.accept(_said("m", "100.000003", where=elsewhere))
    replies = StoredReplies(database)
    found = await replies.find(HERE, "m")
    assert found is not None
    assert (found.ts, found.message, found.state, found.settled, found.parts) == ("100.000001", "hi", "new", False, ())
    assert await replies.find(HERE, "other") is None
    there = await replies.find(elsewhere, "m")
    assert there is not None
    assert there.ts == "100.000003"


async def test_replies_to_several_messages_are_not_mixed_up(database: Database, stores: Stores) -> None:
    replies = StoredReplies(database)
    for number in range(12):
        await stores.inbox.accept(_said(f"m{number}", f"100.0000{number:02d}"))
        delivery = await stores.answer(f"answer {number}")
        await stores.outbox.sent(delivery, f"k{number}")
    for number in range(12):
        found = await replies.find(HERE, f"m{number}")
        assert found is not None
        assert found.parts == (f"answer {number}",)
    await stores.inbox.accept(_said("last", "100.000099"))
    await stores.answer("first", "second", "third")
    found = await replies.find(HERE, "last")
    assert found is not None
    assert (found.settled, found.state, found.parts) == (True, "answered", ("first", "second", "third"))


async def test_the_last_name_is_that_of_the_newest_turn(database: Database, stores: Stores) -> None:
    replies = StoredReplies(database)
    await stores.inbox.accept(_said("m", name="Ada"))
    claim = await stores.claim()
    assert claim.messages[0].perception.name == "Ada"
    assert await replies.last_name(HERE) == "", "no turn of the user has been kept yet"
    await stores.commits.commit(effect(claim, "hello"))
    assert await replies.last_name(HERE) == "Ben", "the name of the newest turn"


async def test_jobs_are_queued_once_and_counted(database: Database, stores: Stores) -> None:
    backlog = Backlog(database, SystemClock(), soul=SOUL, workspace=TEAM)
    kinds = ("models_the_visitor", "keeps_its_own_state")
    assert await backlog.enqueue(HERE, kinds) is None
    await stores.inbox.accept(_said("m"))
    assert await backlog.waiting() == {"inbox": 1, "outbox": 0, "jobs": 0, "alarms": 0}
    others = Backlog(database, SystemClock(), soul="minoan", workspace=TEAM)
    assert await others.waiting() == {"inbox": 0, "outbox": 0, "jobs": 0, "alarms": 0}, "of another soul"
    await stores.answer("hello")
    assert await backlog.enqueue(HERE, kinds) == kinds
    assert await backlog.enqueue(HERE, kinds) == kinds
    assert await backlog.waiting() == {"inbox": 0, "outbox": 1, "jobs": 2, "alarms": 0}
    job = await stores.jobs.claim_next()
    assert job is not None
    assert (job.kind, job.turn) == ("models_the_visitor", 1)
