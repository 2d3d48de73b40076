"""Turns stay for ever unless their author deletes them, and no summary outlives the messages it was made from."""

import pytest

from daemon.core.ports.arrivals import Deletion, Edit
from tests.given import DM, deleted, edited, effect, new_message, thread
from tests.store.parts import Stores, look


async def _talk(stores: Stores, *times: str) -> None:
    for ts in times:
        await stores.inbox.accept(new_message(ts, f"words of {ts}"))
        await stores.outbox.sent(await stores.answer(f"answer to {ts}"), f"{ts}5")


async def test_a_transcript_holds_the_newest_turns_in_order(stores: Stores) -> None:
    await _talk(stores, "1.0", "2.0")
    assert [turn.body for turn in (await stores.turns.transcript(DM, 3)).turns] == [
        "answer to 1.0",
        "words of 2.0",
        "answer to 2.0",
    ]
    turn = (await stores.turns.transcript(DM, 1)).turns[0]
    assert (turn.speaker, turn.thought, turn.ts) == ("soul", {"why": "asked"}, "2.0")
    unknown = await stores.turns.transcript(thread("404.0"), 9)
    assert (unknown.summary, unknown.summarized_to, unknown.turns, unknown.aside) == ("", 0, (), ())


async def test_a_summary_replaces_the_turns_it_covers_and_is_made_from_the_one_in_force(stores: Stores) -> None:
    await _talk(stores, "1.0", "2.0")
    turns = (await stores.turns.transcript(DM, 9)).turns
    assert await stores.turns.summarize(DM, "they greeted", turns[1].seq, instead_of=0)
    transcript = await stores.turns.transcript(DM, 9)
    assert (transcript.summary, transcript.turns) == ("they greeted", turns[2:])
    assert not await stores.turns.summarize(DM, "slower", turns[3].seq, instead_of=0)
    assert not await stores.turns.summarize(DM, "of nothing", 999, instead_of=turns[1].seq)
    await stores.inbox.accept(deleted("2.0"))
    assert (await stores.turns.transcript(DM, 9)).summary == "they greeted", "it is of other turns"
    assert await stores.turns.summarize(DM, "they talked", turns[3].seq, instead_of=turns[1].seq)


@pytest.mark.parametrize("arrival", [deleted("1.0"), edited("1.0", "never mind")])
async def test_an_edited_or_deleted_message_leaves_turns_and_summary(stores: Stores, arrival: Deletion | Edit) -> None:
    await _talk(stores, "1.0", "2.0")
    turns = (await stores.turns.transcript(DM, 9)).turns
    await stores.turns.summarize(DM, "words of 1.0 were said", turns[1].seq, instead_of=0)
    await stores.inbox.accept(arrival)
    transcript = await stores.turns.transcript(DM, 9)
    assert transcript.summary == ""
    assert "words of 1.0" not in [turn.body for turn in transcript.turns]
    assert "words of 2.0" in [turn.body for turn in transcript.turns]
    everywhere = look(stores.path, "SELECT body || envelope FROM inbox UNION ALL SELECT summary FROM working_memory")
    assert not any("words of 1.0" in str(text) for (text,) in everywhere)
    assert await stores.turns.summarize(DM, "anew", turns[3].seq, instead_of=transcript.summarized_to)


@pytest.mark.parametrize("covered", [0, 1])
async def test_a_message_changed_during_a_summary_does_not_come_back(stores: Stores, covered: int) -> None:
    await _talk(stores, "1.0", "2.0")
    if covered:
        turns = (await stores.turns.transcript(DM, 9)).turns
        await stores.turns.summarize(DM, "they greeted", turns[1].seq, instead_of=0)
    await stores.inbox.accept(new_message("3.0"))
    await stores.commits.commit(effect(await stores.claim(), "three", jobs=("summarizes",)))
    job = await stores.jobs.claim_next()
    assert job is not None
    seen = await stores.turns.transcript(DM, 9)
    await stores.inbox.accept(edited("2.0", "less"))
    between = await stores.turns.transcript(DM, 9)
    await stores.inbox.accept(deleted("2.0"))
    newest = seen.turns[-1].seq
    assert not await stores.turns.summarize(DM, "words of 2.0", newest, instead_of=seen.summarized_to)
    assert not await stores.turns.summarize(DM, "less", newest, instead_of=between.summarized_to)
    now = await stores.turns.transcript(DM, 9)
    assert await stores.turns.summarize(DM, "three", newest, instead_of=now.summarized_to)
