"""In any order of events, every accepted message is settled exactly once and every post is made once."""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from daemon.core.errors import LostLease
from daemon.core.perception import ConversationKey
from daemon.core.ports.arrivals import Acceptance
from daemon.memory.database import open_database
from daemon.memory.queues.inbox import Inbox
from daemon.memory.records import Claim, Delivery
from tests import template
from tests.fakes import FakeClock
from tests.given import LEASE, SOUL, TEAM, deleted, edited, effect, new_message
from tests.store.parts import Stores

T = TypeVar("T")

CHANNELS = ("D1", "D2")
times = st.integers(1, 6).map(lambda number: f"{number}.0")
channels = st.sampled_from(CHANNELS)
workers = st.sampled_from([0, 1])


class Ledger(RuleBasedStateMachine):
    """Users, two workers that crash and stall, and a platform that remembers its posts."""

    claims: Bundle[Claim] = Bundle("claims")
    deliveries: Bundle[Delivery] = Bundle("deliveries")

    def __init__(self) -> None:
        super().__init__()
        self.folder = template.folder()
        path = Path(self.folder.name) / "memory.db"
        self.runner = asyncio.Runner()
        self.clock, self.stack = FakeClock(auto=True), AsyncExitStack()
        self.database = self.do(self.stack.enter_async_context(open_database(path, self.clock)))
        self.workers = [Stores.of(self.database, self.clock, f"worker-{number}") for number in range(2)]
        self.words: dict[str, str] = {}  # the current text of each accepted message
        self.gone: set[str] = set()  # deleted before a reply, or before they arrived
        self.answered: Counter[str] = Counter()
        self.ends: set[tuple[str, int]] = set()  # conversation and fence of every commit
        self.fences: dict[str, int] = {}
        self.posted: Counter[str] = Counter()
        self.released: list[Claim] = []
        self.events = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @property
    def inbox(self) -> Inbox:
        return self.workers[0].inbox

    @rule(ts=times, channel=channels, again=st.booleans())
    def a_user_writes(self, ts: str, channel: str, again: bool) -> None:
        self.events += 1
        key, event = ConversationKey(SOUL, TEAM, channel), f"E{channel}{ts}" if again else f"twin-{self.events}"
        row, words = f"{SOUL}/{TEAM}/{channel}/{ts}", f"<{channel} {ts} {self.events}>"
        acceptance = self.do(self.inbox.accept(new_message(ts, words, event=event, conversation=key)))
        if row in self.words or row in self.gone:
            assert acceptance is not Acceptance.ACCEPTED
        else:
            assert acceptance is Acceptance.ACCEPTED
            self.words[row] = words

    @rule(ts=times, channel=channels)
    def a_user_edits(self, ts: str, channel: str) -> None:
        self.events += 1
        row, words = f"{SOUL}/{TEAM}/{channel}/{ts}", f"<{channel} {ts} {self.events}>"
        acceptance = self.do(self.inbox.accept(edited(ts, words, conversation=ConversationKey(SOUL, TEAM, channel))))
        known = row in self.words and row not in self.gone
        assert (acceptance is Acceptance.ACCEPTED) == (known or self.answered[row] > 0)
        if row in self.words:
            self.words[row] = words

    @rule(ts=times, channel=channels)
    def a_user_deletes(self, ts: str, channel: str) -> None:
        self.events += 1
        row = f"{SOUL}/{TEAM}/{channel}/{ts}"
        gone = deleted(ts, f"gone-{self.events}", conversation=ConversationKey(SOUL, TEAM, channel))
        self.do(self.inbox.accept(gone))
        if not self.answered[row]:
            self.gone.add(row)

    @rule(worker=workers, target=claims)
    def a_worker_claims(self, worker: int) -> Claim | MultipleResults[Claim]:
        claim = self.do(self.workers[worker].conversations.claim_next())
        if claim is None:
            return multiple()
        key = str(claim.conversation)
        assert claim.fence > self.fences.get(key, 0)
        self.fences[key] = claim.fence
        assert [one.perception.ts for one in claim.messages] == sorted(one.perception.ts for one in claim.messages)
        waiting = {row for row in self.words if row.startswith(key) and row not in self.gone and not self.answered[row]}
        assert {one.id for one in claim.messages} == waiting
        assert all(one.perception.content == self.words[one.id] for one in claim.messages)
        assert claim.messages or claim.draft
        return claim

    def _hands_of(self, claim: Claim) -> Stores:
        return self.workers[int(claim.owner[-1])]

    @rule(claim=claims)
    def a_worker_drafts(self, claim: Claim) -> None:
        try:
            self.do(
                self._hands_of(claim).conversations.begin_draft(claim, reply_to="", recipient="U", newer_than_ts="0")
            )
        except LostLease:
            assert self._is_lost(claim)

    @rule(claim=claims)
    def a_worker_renews(self, claim: Claim) -> None:
        try:
            self.do(self._hands_of(claim).conversations.renew(claim))
        except LostLease:
            assert self._is_lost(claim)

    @rule(claim=claims, parts=st.integers(0, 2), target=deliveries)
    def a_worker_commits(self, claim: Claim, parts: int) -> Delivery | MultipleResults[Delivery]:
        try:
            delivery = self.do(
                self._hands_of(claim).commits.commit(effect(claim, *(f"part {n}" for n in range(parts))))
            )
        except LostLease:
            return multiple()
        end = (str(claim.conversation), claim.fence)
        assert end not in self.ends
        assert claim.fence == self.fences[end[0]]
        self.ends.add(end)
        for one in claim.messages:
            assert one.id not in self.gone
            assert one.perception.content == self.words[one.id]
            self.answered[one.id] += 1
        return multiple() if delivery is None else delivery

    def _is_lost(self, claim: Claim) -> bool:
        key = str(claim.conversation)
        return claim.fence < self.fences[key] or (key, claim.fence) in self.ends or claim in self.released

    @rule(claim=claims, pause=st.sampled_from([0.0, 30.0]))
    def a_worker_releases(self, claim: Claim, pause: float) -> None:
        self.do(self._hands_of(claim).conversations.release(claim, retry_in=pause, reason="later"))
        self.released.append(claim)

    @rule(seconds=st.sampled_from([1.0, 31.0, LEASE + 1]))
    def time_passes(self, seconds: float) -> None:
        self.do(self.clock.advance(seconds))

    @rule(worker=workers, target=deliveries)
    def a_worker_takes_a_post(self, worker: int) -> Delivery | MultipleResults[Delivery]:
        delivery = self.do(self.workers[worker].outbox.claim_next())
        return multiple() if delivery is None else delivery

    @rule(delivery=consumes(deliveries), harm=st.sampled_from(["none", "died before", "died after", "refused for now"]))
    def a_worker_sends(self, delivery: Delivery, harm: str) -> None:
        """Send as the courier does: it checks the fence first, since a claim lasts only as long as its lease."""
        outbox, key = self.workers[0].outbox, delivery.post.key
        try:
            if harm == "refused for now":
                self.do(outbox.postpone(delivery, 1, doubtful=False, reason="429"))
                return
            self.do(outbox.note_draft(delivery, delivery.post.draft))  # raises when the claim is lost
            state = self.do(self.database.read(lambda t: t.rows("SELECT state FROM outbox WHERE id = :id", id=key)))
            if harm == "died before" or state[0]["state"] != "sending":
                return
            if not (delivery.doubtful and self.posted[key]):
                self.posted[key] += 1
            if harm == "none":
                self.do(outbox.sent(delivery, "9.0"))
        except LostLease:
            pass

    @invariant()
    def no_post_is_made_twice(self) -> None:
        assert all(times <= 1 for times in self.posted.values()), self.posted

    @invariant()
    def every_message_is_answered_at_most_once(self) -> None:
        assert all(times <= 1 for times in self.answered.values())

    @invariant()
    def a_conversation_says_what_waits_in_it(self) -> None:
        wrong = """
          SELECT c.id FROM conversations c LEFT JOIN (
            SELECT conversation, min(since) AS since, max(not_before) AS pause FROM (
              SELECT conversation, received_ms AS since, not_before FROM inbox WHERE state IN ('new', 'claimed')
              UNION ALL SELECT conversation, created_ms, 0 FROM outbox WHERE state = 'drafting') GROUP BY conversation
          ) w ON w.conversation = c.id
          WHERE c.waiting_ms IS NOT w.since OR c.pause_ms <> coalesce(w.pause, 0)
             OR (c.waiting_person = '') <> (w.since IS NULL)
        """
        assert self.do(self.database.read(lambda t: t.rows(wrong))) == []

    @precondition(lambda self: self.gone)
    @invariant()
    def no_text_of_a_deleted_message_is_kept(self) -> None:
        kept = self.do(self.database.read(lambda t: t.rows("SELECT body FROM inbox UNION ALL SELECT body FROM turns")))
        bodies = "".join(row["body"] for row in kept)
        assert not any(self.words[row] in bodies for row in self.gone if row in self.words)

    def teardown(self) -> None:
        try:
            self._run_to_the_end()
        finally:
            self.do(self.stack.aclose())
            self.runner.close()
            self.folder.cleanup()

    def _run_to_the_end(self) -> None:
        stores = self.workers[1]
        self.do(self.clock.advance(LEASE * 10))
        while (claim := self.do(stores.conversations.claim_next())) is not None:
            self.do(stores.commits.commit(effect(claim, "in the end")))
            for one in claim.messages:
                self.answered[one.id] += 1
            self.do(self.clock.advance(LEASE * 10))
        rows = self.do(self.database.read(lambda t: t.rows("SELECT * FROM inbox")))
        for row in rows:
            if row["id"] in self.gone:
                assert (row["state"], row["body"], self.answered[row["id"]]) == ("withdrawn", "", 0)
            else:
                assert (row["state"], self.answered[row["id"]]) == ("answered", 1)
        assert {row["id"] for row in rows} == set(self.words)
        drafts = self.do(self.database.read(lambda t: t.rows("SELECT * FROM outbox WHERE state = 'drafting'")))
        assert drafts == []


TestLedger = Ledger.TestCase
TestLedger.settings = settings(
    max_examples=8, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
