"""A deleted message leaves the notes, their history and any revision under way."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.last_line import FAULTS
from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import Note
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.soul_states import NewState, ProcessMemories, SoulState, SoulStates
from daemon.memory.knowledge.user_models import UserModels, model_history
from daemon.memory.people.retention import erase_passed
from daemon.memory.queues.commits import Superseded
from daemon.memory.queues.memory_acts import Asker, LastForgotten
from daemon.memory.records import Claim, ProcessState
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, deleted, edited, effect, new_message, thread
from tests.store.parts import WORKER, Stores, look, met, poke, revised, room, spoken

HERE, THERE = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.CHANNEL, "C1")
THREAD = thread("5.000000")
KEY = ("U1", HERE)


@pytest.fixture
async def models(stores: Stores) -> UserModels:
    await stores.inbox.accept(new_message())
    await met(stores.database)
    return stores.user_models


async def forget_turn(database: Database, seq: int, person: str = "U1", conversation: str = str(DM)) -> None:
    await database.write(lambda transaction: forget_derived(transaction, conversation, person, seq, 5))


async def notes_of(models: UserModels) -> tuple[tuple[str, ...], str, int]:
    model = await models.model(*KEY)
    assert model is not None
    return model.notes, model.whispers, model.modelled_to


SECRET = "a secret worry"


async def test_notes_derived_from_a_deleted_message_are_gone_everywhere(models: UserModels, stores: Stores) -> None:
    assert await revised(stores, "likes tea", whispers=SECRET)
    assert await revised(stores, "owes money", expected=1, whispers=SECRET)
    assert await revised(stores, "has a cat", expected=2, whispers=SECRET)
    await forget_turn(models._database, 2)
    assert await notes_of(models) == (("likes tea", "has a cat"), "", 1)
    for table in ("records", "facts", "links", "record_words", "user_models", "user_model_history", "ledger"):
        assert "money" not in str(look(stores.path, f"SELECT * FROM {table}"))
    kept = look(stores.path, "SELECT whispers FROM user_model_history ORDER BY version")
    assert kept == [(SECRET,), ("",), ("",), ("",)]
    history = {one.version: one for one in await model_history(models._database, "U1", 9)}
    first, second, third = (history[version] for version in (1, 2, 3))
    assert (first.notes, second.notes, third.notes) == (("likes tea",), ("likes tea",), ("likes tea", "has a cat"))
    assert "scrubbed" in second.change


async def test_what_was_corrected_or_said_again_holds_without_a_quotation(models: UserModels, stores: Stores) -> None:
    assert await revised(stores, "likes tea")
    assert await revised(stores, expected=1, corrected={"likes tea": "likes coffee"})
    await forget_turn(models._database, 2)
    assert (await notes_of(models))[0] == ("likes tea",)
    assert await revised(stores, "likes tea", expected=3)
    await forget_turn(models._database, 1)
    assert (await notes_of(models))[0] == ("likes tea",)
    assert look(stores.path, "SELECT target FROM links") == [("TU_3",)]


async def test_a_deletion_reaches_the_notes_past_an_unreadable_thought(models: UserModels, stores: Stores) -> None:
    await stores.answer("hello")
    await stores.database.run("UPDATE turns SET thought = '{' WHERE speaker = 'soul'")
    asked, said = (turn.seq for turn in (await stores.turns.transcript(DM, 9)).turns)
    assert await revised(stores, "owes money", turns=(asked, said))
    await stores.inbox.accept(deleted("100.000001"))
    assert (await notes_of(models))[0] == ()
    assert look(stores.path, "SELECT thought FROM turns WHERE speaker = 'soul'") == [("{}",)]


async def test_a_deleted_message_outside_the_range_changes_nothing(models: UserModels, stores: Stores) -> None:
    await stores.inbox.accept(new_message("2.0", conversation=thread("1.0")))
    assert await revised(stores, "likes tea", whispers=SECRET)
    for person, conversation in (("U1", DM), ("U2", DM), ("U1", thread("1.0"))):
        await forget_turn(models._database, 9, person, str(conversation))
        assert await notes_of(models) == (("likes tea",), SECRET, 1), (person, conversation)


async def test_a_revision_under_way_is_refused(models: UserModels, stores: Stores) -> None:
    await spoken(stores.database, "a deleted message")
    await forget_turn(models._database, 1)
    assert not await revised(stores, "a deleted message", turns=(1, 1))
    await models.note_modelled(*KEY, conversation=DM, expected_version=0, modelled_to=2)
    assert await notes_of(models) == ((), "", 0)


async def test_the_same_note_can_be_learned_and_forgotten_again(models: UserModels, stores: Stores) -> None:
    for turn, expected in ((1, 0), (2, 2)):
        assert await revised(stores, "likes tea", expected=expected)
        await forget_turn(models._database, turn)
        assert (await notes_of(models))[:2] == ((), "")
    assert len(await model_history(models._database, "U1", 9)) == 4


async def test_topic_task_and_question_are_forgotten_and_the_mood_stays(models: UserModels, clock: FakeClock) -> None:
    states = SoulStates(models._database, clock, WORKER)
    await room(models._database, THREAD)
    new = NewState("weary", topic="money", task="lend some", question="Who lent it first?")
    await states.revise(HERE, DM, new, instead_of=None)
    await states.revise(THERE, THREAD, new, instead_of=None)
    await forget_turn(models._database, 1)
    here, there = await states.known(HERE, DM), await states.known(THERE, THREAD)
    assert here is not None
    assert there is not None
    assert here == SoulState("weary", here.felt_ms, version=2, topic_version=2)
    assert (there.topic, there.question) == ("money", "Who lent it first?")


async def test_a_first_state_under_way_is_refused(models: UserModels, path: Path, clock: FakeClock) -> None:
    states = SoulStates(models._database, clock, WORKER)
    await forget_turn(models._database, 1)
    assert await states.known(HERE, DM) is None
    poke(
        path,
        "INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms) VALUES ('k', ?, ?, ?, 'running', 1)",
        str(DM),
        SOUL,
        TEAM,
    )
    await forget_turn(models._database, 1)
    assert not await states.revise(HERE, DM, NewState("weary", topic="money"), instead_of=None)


ROOM = thread("51.0")


async def _second_cycle(stores: Stores) -> Claim:
    """The claim on a second message of a talk whose first, 51.0, is answered, with an aside before it, 52.0."""
    await stores.inbox.accept(new_message("51.0", "the canary sings", conversation=ROOM))
    await stores.answer()
    aside = new_message("52.0", "@ben and the heron", conversation=ROOM, addressed=False, to_others=True)
    await stores.inbox.accept(aside)
    await stores.inbox.accept(new_message("53.0", "make a poem of it", conversation=ROOM))
    return await stores.claim()


@pytest.mark.parametrize("ts", ["51.0", "52.0"])
@pytest.mark.parametrize("change", ["edit", "deletion"])
async def test_a_cycle_that_has_read_words_now_gone_writes_nothing(stores: Stores, ts: str, change: str) -> None:
    claim = await _second_cycle(stores)
    arrival = deleted(ts, conversation=ROOM) if change == "deletion" else edited(ts, "a wren", conversation=ROOM)
    await stores.inbox.accept(arrival)
    poem = replace(
        effect(claim, "Sing, canary."), state=ProcessState("poetic", process_memory={"poem": "Sing, canary"})
    )
    with pytest.raises(Superseded):
        await stores.commits.commit(poem)
    assert look(stores.path, "SELECT process_memory FROM conversations") == [("{}",)]
    assert look(stores.path, "SELECT count(*) FROM turns WHERE body LIKE 'Sing%'") == [(0,)]
    await stores.conversations.release(claim, text_changed=True)
    await stores.commits.commit(effect(await stores.claim(), "Sing."))
    assert look(stores.path, "SELECT body FROM outbox WHERE id NOT LIKE '%@1#0'") == [("Sing.",)]


async def test_words_that_wait_disturb_no_reply_and_earlier_ones_undo_an_afterthought(stores: Stores) -> None:
    claim = await _second_cycle(stores)
    await stores.inbox.accept(new_message("54.0", "and then", conversation=ROOM))
    await stores.inbox.accept(edited("54.0", "and now", conversation=ROOM))
    await stores.inbox.accept(deleted("54.0", conversation=ROOM))
    await stores.commits.commit(effect(claim, "Sing."))
    assert look(stores.path, "SELECT body FROM outbox WHERE id NOT LIKE '%@1#0'") == [("Sing.",)]
    memories = ProcessMemories(stores.database, stores.clock, WORKER)
    known = await memories.known(ROOM)
    assert known is not None
    await stores.inbox.accept(deleted("51.0", conversation=ROOM))
    assert not await memories.keep(ROOM, {"thought": "the canary"}, instead_of=known)


async def test_what_was_made_of_words_between_users_is_forgotten_with_them(stores: Stores, path: Path) -> None:
    claim = await _second_cycle(stores)
    thinking = replace(effect(claim, "Sing."), state=ProcessState("poetic", process_memory={"poem": "Sing, heron"}))
    private = dict.fromkeys(("monologue", "monologue_verb", "stimulus_verb", "reply_verb", "made_piece"), "A heron!")
    said = replace(thinking.turns[-1], thought={**private, "calls_for": "poem"})
    await stores.commits.commit(replace(thinking, turns=(*thinking.turns[:-1], said)))
    await stores.inbox.accept(deleted("52.0", conversation=ROOM))
    assert "heron" not in str(look(path, "SELECT c.process_memory, t.thought FROM conversations c, turns t"))
    assert "heron" not in str(look(path, "SELECT body FROM inbox"))
    assert "poem" in str(look(path, "SELECT thought FROM turns"))


async def _forgets_last(stores: Stores, clock: FakeClock, *, paused: bool) -> None:
    """What was said last is forgotten: by a command, or since nothing was to be remembered."""
    if paused:
        await stores.database.run("UPDATE turns SET passing = 1")
        await clock.advance(3600)
        assert await erase_passed(stores.database, clock, silence_ms=1000) == 2
    else:
        asker = Asker("U1", DM, HERE, "9.0")
        await stores.database.write(lambda transaction: LastForgotten().perform(transaction, asker, clock.now_ms()))


@pytest.mark.parametrize("paused", [False, True])
async def test_the_reply_to_forgotten_words_leaves_the_queue_however_it_ended(stores: Stores, paused: bool) -> None:
    for number, state in enumerate(("sent", "expired", "dropped", "dead", "unknown"), 1):
        await stores.inbox.accept(new_message(f"{number}.0", SECRET))
        await stores.answer(f"about {SECRET}")
        await stores.database.run("UPDATE outbox SET state = :state, settled_ms = 1 WHERE body <> ''", state=state)
        await _forgets_last(stores, stores.clock, paused=paused)
        assert look(stores.path, "SELECT body, cleared FROM outbox") == [("", 1)] * number, state
        assert SECRET not in str(look(stores.path, "SELECT * FROM inbox")), state


@pytest.mark.parametrize("paused", [False, True])
async def test_a_reply_under_way_loses_its_words_once_it_is_settled(stores: Stores, path: Path, paused: bool) -> None:
    for number, ends in enumerate(("sent", "unforeseen", "given up"), 1):
        await stores.inbox.accept(new_message(f"{number}.0", SECRET))
        delivery = await stores.answer(f"about {SECRET}")
        await _forgets_last(stores, stores.clock, paused=paused)
        assert look(path, "SELECT state FROM outbox WHERE cleared = 0 AND note = 0") == [("sending",)], ends
        if ends == "sent":
            await stores.outbox.sent(delivery, "9.9")
        elif ends == "given up":
            await stores.outbox.give_up(delivery, "dead", "no", Note.DEAD)
        else:
            assert await stores.outbox.count_fault(replace(delivery, faults=FAULTS), 1, "no")
        assert look(path, "SELECT body, cleared FROM outbox WHERE note = 0") == [("", 1)] * number, ends
        await stores.database.run("DELETE FROM outbox WHERE note = 1")  # the note would go before the next reply
    await stores.inbox.accept(new_message("9.0", "hello"))
    await stores.outbox.sent(await stores.answer("good day"), "9.9")
    assert look(path, "SELECT body, cleared FROM outbox WHERE note = 0 AND body <> ''") == [("good day", 0)]


async def test_words_that_can_not_be_erased_in_one_talk_stay_in_no_other(stores: Stores, path: Path) -> None:
    for channel in ("D1", "D2"):
        where = replace(DM, channel=channel)
        await spoken(stores.database, f"said in {channel}", key=where, audience=Audience(AudienceKind.DM, channel))
    await stores.database.run("UPDATE turns SET passing = 1")
    await stores.database.run(
        "CREATE TRIGGER stuck BEFORE DELETE ON turns WHEN OLD.body = 'said in D1' BEGIN SELECT raise(ABORT, 'no'); END"
    )
    await stores.clock.advance(3600)
    with pytest.raises(sqlite3.IntegrityError, match="no"):
        await erase_passed(stores.database, stores.clock, silence_ms=1000)
    assert look(path, "SELECT body FROM turns") == [("said in D1",)]
