"""No hot query visits more rows when memory.db holds very many: SQLite's steps are counted over many messages."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.services import Clock
from daemon.memory.admin.overview import survey
from daemon.memory.admin.queue_admin import Admin
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.memory.admin.schedule_admin import Agenda
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.soul_states import state_path
from daemon.memory.knowledge.user_models import list_models, model_history
from daemon.memory.mind.at_hand import Minds
from daemon.memory.mind.listing import Which, list_goals
from daemon.memory.mind.present import mind_summary
from daemon.memory.people.retention import erase_turns
from daemon.memory.queues.approvals import Approvals
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.presence import Presence
from daemon.memory.queues.ticks import Ticks
from daemon.memory.retrieval.reasons import Reasons
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing
from daemon.memory.stream.reading import Stream, list_thoughts
from tests import big
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, deleted, edited, effect, new_message
from tests.store.counting import Counter, count_steps
from tests.store.parts import WORKER, Stores, look

FEW = 4_000  # steps; one row takes 5 to 15 of them, so that these are a few hundred rows
SEARCHED = 60_000  # steps of a search for words that every row holds, in two lanes
AT_ONCE = 500_000  # steps; what counts or ranks thousands of rows may take so many in one transaction

DM = ConversationKey(SOUL, TEAM, "D1", "")
Work = Callable[[], Awaitable[object]]


@pytest.fixture(scope="module")
def rows() -> int:
    """How many messages there are: a look at each of them is many times more than any bound below."""
    return 10_000


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, rows: int) -> Path:
    path = tmp_path_factory.mktemp("big") / "memory.db"
    big.fill(path, rows)
    return path


@pytest.fixture
def clock(rows: int) -> FakeClock:
    return FakeClock(auto=True, start_ms=big.last_ms(rows) + 60_000)


@pytest.fixture
async def database(filled: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(filled, clock) as opened:
        yield opened


@pytest.fixture
async def counter(database: Database) -> Counter:
    return await count_steps(database)


class Works:
    """Everything that a daemon or a command asks of memory.db, by name."""

    def __init__(self, database: Database, clock: Clock, rows: int) -> None:
        self.stores = Stores.of(database, clock)
        self._database, self._clock, self._rows = database, clock, rows
        self._ts = f"{clock.now_ms() / 1000 + 1:.6f}"

    def all(self) -> dict[str, tuple[Work, int]]:
        """Each with the steps that it may take."""
        stores, database, now = self.stores, self._database, self._clock.now_ms()
        admin, agenda = Admin(database, self._clock, "ada"), Agenda(database, self._clock, "ada")
        backlog = Backlog(database, self._clock, soul=SOUL, workspace=TEAM)
        reasons = Reasons(database)
        search, replies = Surfacing(database, self._clock), StoredReplies(database)
        intentions, approvals = Intentions(database, self._clock, WORKER), Approvals(database, self._clock, WORKER)
        ticks = Ticks(database, self._clock, WORKER, stores.conversations)
        presence = Presence(database, self._clock, soul=SOUL, workspace=TEAM, kind="slack", version="1", lease=30)
        asked = "six by twenty"  # words of every row, and of every other one
        everybody, dm = Audience(AudienceKind.WORKSPACE, TEAM), Audience(AudienceKind.DM, "D1")
        members, guests = (Readers(everybody, members_only=known) for known in (True, False))
        thread = ConversationKey(SOUL, TEAM, "C1", f"{(big.BEGAN_MS + big.EVERY_MS) / 1000:.6f}")
        old = f"{(big.BEGAN_MS + 1000 * big.EVERY_MS) / 1000:.6f}"
        return {
            "a message, its claim, reply and posts": (self._a_turn, 3 * FEW),
            "an old message is edited": (lambda: stores.inbox.accept(edited(old, "other words")), FEW),
            "an old message is deleted": (lambda: stores.inbox.accept(deleted(old)), FEW),
            "an old message is past its days": (self._past_its_days, FEW),
            "an aside in a long talk": (self._an_aside, FEW),
            "the transcript": (lambda: stores.turns.transcript(DM, 50), FEW),
            "a look for work": (self._a_look, FEW),
            "probes and metrics": (backlog.waiting, FEW),
            "a heartbeat": (lambda: presence.beat("connected", {}), FEW),
            "dead claims": (lambda: presence.release_dead_claims(1), FEW),
            "due intentions": (intentions.fall_due, FEW),
            "the next intention": (intentions.next_due_ms, FEW),
            "room for one more": (lambda: intentions.has_room(100, "U1"), FEW),
            "expired questions": (approvals.expire, FEW),
            "recollection": (lambda: search.search(DM, Readers(dm, members_only=True), asked, 5), SEARCHED),
            "recollection in public": (lambda: search.search(thread, members, asked, 5), SEARCHED),
            "recollection before outsiders": (lambda: search.search(thread, guests, asked, 5), SEARCHED),
            "recollection in a DM before outsiders": (
                lambda: search.search(DM, Readers(dm, members_only=False), asked, 5),
                SEARCHED,
            ),
            "the search before a reply": (
                lambda: search.surface(
                    DM, Readers(dm, members_only=True), [f"{asked} {asked}s or none", "eight"], 5, AlreadyShown()
                ),
                SEARCHED,
            ),
            "the last reply": (lambda: reasons.last_reply(DM), FEW),
            "the reply that was posted": (lambda: reasons.reply_posted(SOUL, f"{old}9", "D1"), FEW),
            "why it was said": (lambda: reasons.why("TL_2002", None), FEW),
            "a stored reply": (lambda: replies.find(DM, "m-1"), FEW),
            "the name of a user": (lambda: replies.last_name(DM), FEW),
            "soul status": (lambda: survey(database, now, now - 86_400_000), 20 * self._rows),
            "soul queue inbox list": (lambda: admin.messages(None, 20), FEW),
            "soul queue inbox list of one state": (lambda: admin.messages("dead", 20), FEW),
            "soul queue inbox show": (lambda: admin.message(f"{SOUL}/{TEAM}/D1/{big.BEGAN_MS / 1000:.6f}"), FEW),
            "soul queue inbox show by its ts": (lambda: admin.message(f"{big.BEGAN_MS / 1000:.6f}"), FEW),
            "soul queue outbox list": (lambda: admin.posts(None, 20), FEW),
            "soul queue outbox show": (lambda: admin.post("5"), FEW),
            "soul schedule list": (lambda: agenda.intentions(None, 20), FEW),
            "soul approvals list": (lambda: agenda.approvals(None, 20), FEW),
            "soul mind trace": (lambda: state_path(database, DM, 20), FEW),
            "soul memory people list": (lambda: list_models(database, 20), FEW),
            "soul memory people show": (lambda: list_models(database, 20, person="P5"), FEW),
            "soul memory people history": (lambda: model_history(database, "P5", 20), FEW),
            "the last thoughts, and whether the soul is to think any": (
                lambda: Stream(database, self._clock).last(DM, Readers(dm, members_only=True)),
                FEW,
            ),
            "what to think about next": (ticks.next_due_ms, FEW),
            "what was promised next": (lambda: ticks.next_due_ms(owed_alone=True), FEW),
            "what is in force": (
                lambda: Minds(database, self._clock).at_hand(DM, Readers(dm, members_only=True), ("U1",)),
                3 * FEW,
            ),
            "soul mind thoughts": (lambda: list_thoughts(database, SOUL, "", 20), FEW),
            "soul mind thoughts of a conversation": (lambda: list_thoughts(database, SOUL, str(DM), 20), FEW),
            "soul mind thoughts goes on": (lambda: list_thoughts(database, SOUL, "", 20, after=1_000), FEW),
            "soul mind goals": (lambda: list_goals(database, Which(SOUL, "", "", 20), now), FEW),
            "the mind of soul status": (
                lambda: database.read(lambda reading: mind_summary(reading, SOUL, now, now - 86_400_000)),
                20 * FEW,  # a day's thoughts are counted
            ),
            "soul mind trace finds its conversation": (lambda: agenda.conversation(str(DM)), FEW),
        }

    async def _a_turn(self) -> None:
        stores = self.stores
        await stores.inbox.accept(new_message(self._ts))
        claim = await stores.claim()
        await stores.conversations.renew(claim)
        await stores.conversations.begin_draft(claim, reply_to="", recipient="U1", newer_than_ts="1")
        await stores.conversations.draft_opened(claim, f"{self._ts}1")
        delivery = await stores.commits.commit(effect(claim, "a", "b", jobs=("summarizes",)))
        assert delivery is not None
        await stores.outbox.sent(delivery, f"{self._ts}2")
        second = await stores.outbox.claim_next(str(claim.conversation))
        assert second is not None
        await stores.outbox.sent(second, f"{self._ts}3")
        job = await stores.jobs.claim_next()
        assert job is not None
        await stores.jobs.finish(job, ())

    async def _past_its_days(self) -> None:
        first = (1, str(DM), "person", f"{big.BEGAN_MS / 1000:.6f}")
        await self._database.write(lambda transaction: erase_turns(transaction, [first], 1, "too old"))

    async def _an_aside(self) -> None:
        await self.stores.inbox.accept(new_message(f"{self._ts}9", addressed=False))

    async def _a_look(self) -> None:
        for queue in (self.stores.conversations, self.stores.outbox, self.stores.jobs):
            await queue.next_due_ms()


async def test_no_query_visits_needless_rows(database: Database, clock: FakeClock, counter: Counter, rows: int) -> None:
    for name, (work, most) in Works(database, clock, rows).all().items():
        counter.steps = counter.longest = 0
        await work()
        print(name, counter.steps, counter.longest)
        assert counter.steps <= most, name
        assert counter.longest <= AT_ONCE, f"{name}: one transaction keeps commits waiting for too long"


async def test_the_count_of_steps_reveals_a_scan(database: Database, counter: Counter, rows: int) -> None:
    await database.rows("SELECT count(*) FROM turns WHERE body = 'nothing'")
    assert counter.steps > 4 * rows > FEW


def test_every_age_and_state_has_its_index(filled: Path, rows: int) -> None:
    """The rows of the file are as they were asked for: without them the counts above mean nothing."""
    for table, least in (("inbox", rows), ("turns", 2 * rows), ("outbox", rows), ("conversations", rows // 2)):
        [(found,)] = look(filled, f"SELECT count(*) FROM {table}")
        assert int(str(found)) >= 0.99 * least, "what is measured here may have deleted a few"
    assert look(filled, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'") == [(0,)]
    newest = look(filled, "SELECT degraded, asked FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert newest == [(1, 1)], "half of the thoughts were asked for; the newest is degraded, its hour is not over"
