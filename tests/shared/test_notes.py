"""Notes between souls in memory.db: each counts once, by budgets, and follows what becomes of it in the inbox."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.notes import NoteBudget, NoteKind, NoteRefused, NoteState, SharedMessage, checked_words
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Readers
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.people.retention import prune
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import Dismissal
from daemon.memory.shared.messages import NewNote, NoteStore, SaidToSoul, SentNote
from daemon.memory.shared.store import AwarenessStore
from daemon.shared.events import SoulNotes, send_as_admin
from tests.fakes import FakeClock
from tests.given import DM, HERE, SOUL, TEAM, effect, new_message
from tests.store.parts import Stores

EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
BUDGET = NoteBudget()
MINUTE, HOUR = 60.0, 3600.0
ROOM = ConversationKey(SOUL, TEAM, "C1", "1.0")
BENS = "ben/T1/soul/ada"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(tmp_path / "memory.db", clock) as opened:
        yield opened


@pytest.fixture
def store(database: Database, clock: FakeClock) -> NoteStore:
    return NoteStore(database, clock, TEAM)


@pytest.fixture
async def ada(database: Database, clock: FakeClock) -> Stores:
    """Ada's stores; she is in a public channel and in a direct message."""
    stores = Stores.of(database, clock)
    await stores.inbox.accept(new_message(conversation=ROOM, audience=EVERYBODY))
    await stores.inbox.accept(new_message("200.0"))
    await stores.answer()
    await stores.answer()
    return stores


def note(
    addressee: str = "ben", sender: str = SOUL, audience: Audience = EVERYBODY, hops: int = 1, words: str = "hello"
) -> NewNote:
    return NewNote(sender, addressee, TEAM, words, audience, hops, conversation=str(ROOM), behalf="U1")


async def states(store: NoteStore) -> list[NoteState]:
    return [one.state for one in await store.newest(100)][::-1]


class KilledHere(Value):
    """An act that fails once, as a daemon does that is killed in the middle of a commit."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        raise RuntimeError("killed")


async def test_a_note_is_put_into_the_inbox_of_its_soul_once_and_heard_apart_where_fewer_may_know_it(
    store: NoteStore, ada: Stores
) -> None:
    sent = await store.send(note(), BUDGET)
    assert (sent.state, sent.heard_in, sent.hops) == (NoteState.WAITING, BENS, 1)
    [row] = await ada.database.rows("SELECT conversation, body, author, audience FROM inbox WHERE modality = 'note'")
    assert tuple(row) == (BENS, "hello", "soul.ada", "workspace:T1")
    assert (await store.send(note(audience=HERE), BUDGET)).heard_in == f"{BENS}:dm:D1"
    assert (await store.send(note("cleo", hops=4), BUDGET)).state is NoteState.WAITING
    assert (await store.send(note("cleo", hops=5), BUDGET)).state is NoteState.REFUSED, "too far from a person's words"


async def test_what_is_over_a_budget_is_refused_and_not_perceived(store: NoteStore, ada: Stores) -> None:
    for budget, said in (
        (NoteBudget(pair_minutely=2), "2 notes a minute are the most between ada and ben; wait a minute"),
        (NoteBudget(pair_hourly=2), "2 notes an hour are the most between ada and ben"),
        (NoteBudget(soul_daily=2), "2 notes a day are the most of ada"),
    ):
        await ada.clock.sleep(24 * HOUR + 1)
        await ada.database.run("DELETE FROM inbox WHERE modality = 'note'")
        for _ in range(2):
            assert await store.why_over(note(), budget, 0) == "", said
            await store.send(note(), budget)
        assert (await store.why_over(note(), budget, 0)).startswith(said)
        refused = await store.send(note(words="kept all the same"), budget)
        assert (refused.state, refused.words) == (NoteState.REFUSED, "kept all the same")
        assert refused.reason.startswith(said)
        assert len(await ada.database.rows("SELECT 1 FROM inbox WHERE modality = 'note'")) == 2


async def test_a_pair_counts_both_ways_and_at_once_and_later_there_is_room_again(store: NoteStore, ada: Stores) -> None:
    budget = NoteBudget(pair_minutely=2, soul_daily=3)
    await store.send(note(), budget)
    await store.send(note(SOUL, sender="ben"), budget)
    assert await store.why_over(note(), budget, 0)
    assert not await store.why_over(note("cleo"), budget, 1)
    assert await store.why_over(note("cleo"), budget, 2), "those that the cycle sends already count, too"
    for budget, seconds in (
        (NoteBudget(pair_minutely=1), MINUTE),
        (NoteBudget(pair_hourly=1), HOUR),
        (NoteBudget(soul_daily=1), 24 * HOUR),
    ):
        await ada.clock.sleep(24 * HOUR + 1)
        await store.send(note(), budget)
        await ada.clock.sleep(seconds - 1)
        assert await store.why_over(note(), budget, 0)
        await ada.clock.sleep(2)
        assert not await store.why_over(note(), budget, 0)


async def test_a_cycle_that_is_killed_in_its_commit_and_made_anew_sends_once(ada: Stores, store: NoteStore) -> None:
    await ada.inbox.accept(new_message("300.0"))
    claim = await ada.claim()
    sends = SentNote("ben", "once", "U1", 1, BUDGET)
    whole = replace(effect(claim, "sent"), acts=(sends,), asker=Asker("U1", DM, HERE, "300.0"))
    with pytest.raises(RuntimeError, match="killed"):
        await ada.commits.commit(replace(whole, acts=(sends, KilledHere())))
    assert await states(store) == []
    await ada.commits.commit(whole)
    [kept] = await store.newest(10)
    assert (kept.words, kept.audience, kept.conversation) == ("once", HERE, str(DM))


async def heard(ada: Stores, *, dismissed: Dismissal | None = None) -> SharedMessage:
    """Let Ben perceive the newest note, and answer it unless it is dismissed; gives the note."""
    ben = Stores.of(ada.database, ada.clock, soul="ben")
    claim = await ben.claim()
    [message] = claim.messages
    name = str(message.perception.params["note"])
    asker = Asker(message.perception.author, claim.conversation, claim.audience, message.perception.ts)
    said = SaidToSoul(name, "hello to you", BUDGET)
    whole = effect(claim, answered=()) if dismissed else effect(claim, "hello to you")
    acts = () if dismissed else (said,)
    gone = {message.id: dismissed} if dismissed else {}
    await ben.commits.commit(replace(whole, turns=(), acts=acts, asker=asker, dismissed=gone))
    found = await NoteStore(ada.database, ada.clock, TEAM).note(name)
    assert found is not None
    return found


async def test_an_answer_is_perceived_where_the_note_was_sent(store: NoteStore, ada: Stores) -> None:
    await store.send(note(), BUDGET)
    asked = await heard(ada)
    answer = (await store.newest(1))[0]
    assert (asked.state, asked.how, asked.reason) == (NoteState.ANSWERED, "inbox", "")
    assert asked.created_ms <= (asked.delivered_ms or 0) <= (asked.answered_ms or 0)
    assert (answer.kind, answer.heard_in, answer.answers, answer.hops) == (NoteKind.ANSWER, str(ROOM), asked.id, 2)
    [row] = await ada.database.rows("SELECT * FROM inbox WHERE modality = 'note' AND conversation = :id", id=str(ROOM))
    assert (row["author"], row["body"], row["place"]) == ("U1", "hello to you", "dm")


async def test_a_note_follows_what_becomes_of_it(store: NoteStore, ada: Stores) -> None:
    for dismissed, state in (
        (Dismissal("too old to answer", stale=True), NoteState.EXPIRED),
        (Dismissal("the note is forgotten"), NoteState.DROPPED),
    ):
        await store.send(note(), BUDGET)
        gone = await heard(ada, dismissed=dismissed)
        assert (gone.state, gone.reason, gone.delivered_ms) == (state, dismissed.reason, None)


async def test_an_answer_to_a_conversation_that_is_gone_is_kept_and_dropped(store: NoteStore, ada: Stores) -> None:
    await store.send(replace(note(), conversation=f"{SOUL}/T1/C9/"), BUDGET)
    await heard(ada)
    answer = (await store.newest(1))[0]
    assert (answer.state, answer.words, answer.reason) == (
        NoteState.DROPPED,
        "hello to you",
        "its conversation is gone",
    )


async def test_a_note_is_used_only_before_those_whom_it_is_for(store: NoteStore, ada: Stores) -> None:
    sent = await store.send(note(audience=HERE), BUDGET)
    souls = SoulNotes(store, ada.clock, "ben", (), BUDGET)
    template = new_message().perception
    heard_now = replace(template, modality=Modality.NOTE, params={"note": sent.id})
    for readers, may in (
        (Readers(HERE, members_only=True), True),
        (Readers(HERE, members_only=False), False),
        (Readers(HERE, members_only=True, apart=True), False),
        (Readers(Audience(AudienceKind.DM, "D2"), members_only=True), False),
        (Readers(EVERYBODY, members_only=True), False),
    ):
        assert (not await souls.why_not_heard(heard_now, readers)) is may, readers
        assert not await souls.why_not_heard(template, readers), "any other perception is none of its business"
        assert await souls.why_not_heard(replace(heard_now, params={"note": "NT_gone"}), readers)


async def test_who_makes_a_channel_private_takes_notes_along(store: NoteStore, ada: Stores) -> None:
    await store.send(note(words="from the channel"), BUDGET)
    await heard(ada)
    souls, where = SoulNotes(store, ada.clock, "ben", (), BUDGET), ConversationKey.parse(BENS)
    assert [one.body for one in await souls.heard_before(where)] == ["from the channel"]
    members = Audience(AudienceKind.CHANNEL, "C1")
    await ada.database.write(lambda transaction: make_private(transaction, TEAM, "C1", members, ada.clock.now_ms()))
    assert [one.audience for one in await store.newest(10)] == [members, members]
    assert await souls.heard_before(where) == ()


async def test_old_notes_are_deleted_with_the_traces_and_those_that_wait_stay(store: NoteStore, ada: Stores) -> None:
    await store.send(note(words="heard"), BUDGET)
    await heard(ada)
    await store.send(note(words="waits"), BUDGET)
    await ada.clock.sleep(91 * 24 * HOUR)
    await prune(ada.database, ada.clock, {"trace_days": 90})
    assert {one.words for one in await store.newest(10)} == {"hello to you", "waits"}, "both are still to be perceived"


async def test_the_admin_hears_the_answer_in_the_ledger(store: NoteStore, ada: Stores) -> None:
    await host(ada, "ben")
    await send_as_admin(store, TEAM, "ben", "how are you?", audience=EVERYBODY, budget=BUDGET)
    asked = await heard(ada)
    answer = (await store.newest(1))[0]
    assert (asked.sender, asked.state) == ("operator", NoteState.ANSWERED)
    assert (answer.addressee, answer.state, answer.words) == ("operator", NoteState.DELIVERED, "hello to you")
    assert len(await ada.database.rows("SELECT 1 FROM inbox WHERE state = 'new'")) == 0


async def host(ada: Stores, soul: str) -> None:
    """Have a living daemon host a soul: this process."""
    store = AwarenessStore(ada.database, ada.clock, TEAM)
    await store.set_soul(soul, store.process, {"doing": "idle"}, ())


async def test_what_is_no_note_is_refused_with_what_to_do(store: NoteStore, ada: Stores) -> None:
    await host(ada, "ben")
    for soul, words, audience, said in (
        ("cleo", "hello", EVERYBODY, "no living daemon hosts a soul 'cleo'"),
        ("../x", "hello", EVERYBODY, "no living daemon hosts a soul '../x'"),
        ("ben", " \n", EVERYBODY, "the note is empty"),
        ("ben", "x" * 8001, EVERYBODY, "the note has 8001 characters; 8000 are the most"),
        ("ben", "a\x00b", EVERYBODY, "a character that is no text"),
        ("ben", "a\ud800b", EVERYBODY, "a character that is no text"),
        ("ben", "hello", Audience(AudienceKind.DM, "../D1"), "is no audience"),
    ):
        with pytest.raises(NoteRefused) as refused:
            await send_as_admin(store, TEAM, soul, words, audience=audience, budget=BUDGET)
        assert said in refused.value.message
        assert refused.value.hint
    assert await states(store) == []
    with pytest.raises(NoteRefused, match="the note was refused: 0 notes an hour"):
        await send_as_admin(store, TEAM, "ben", "hello", audience=EVERYBODY, budget=NoteBudget(pair_hourly=0))
    assert await states(store) == [NoteState.REFUSED], "its words are kept"
    assert checked_words(f" {'x' * 8000} ") == "x" * 8000


async def test_a_soul_that_lost_its_host_is_none_to_write_to(store: NoteStore, ada: Stores) -> None:
    await host(ada, "ben")
    souls = SoulNotes(store, ada.clock, SOUL, (SOUL, "cleo"), BUDGET)
    perception: Perception = new_message().perception
    assert (await souls.correspondence(perception, HERE)).souls == ("ben", "cleo")
    await ada.database.run("DELETE FROM awareness")
    assert (await souls.correspondence(perception, HERE)).souls == ("cleo",)
