"""Every message is stored once, although the platform repeats, reorders, edits and deletes."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.arrivals import Acceptance, Deletion, Edit, Feedback
from daemon.memory.admin.queue_admin import Admin
from daemon.memory.queues.commits import Superseded
from tests.fakes import FakeClock
from tests.given import CHANNEL, DM, SOUL, TEAM, deleted, edited, effect, new_message, thread
from tests.store.parts import Stores, look

ROOT = thread("50.000001")
ACCEPTED, DUPLICATE, IGNORED = Acceptance.ACCEPTED, Acceptance.DUPLICATE, Acceptance.IGNORED


async def test_twin_events_are_one_message_in_either_order(stores: Stores, path: Path) -> None:
    first, second = "E-message", "E-mention"
    other = ConversationKey(SOUL, TEAM, "D2")
    for message, accepted in (
        (new_message("1.0", event=first), ACCEPTED),
        (new_message("1.0", event=second), DUPLICATE),
        (new_message("2.0", event=f"{second} of 2.0"), ACCEPTED),
        (new_message("2.0", event=f"{first} of 2.0"), DUPLICATE),
        (new_message("1.0", event=first), DUPLICATE),  # delivered again
        (new_message("3.0", event="E1", conversation=ROOT, addressed=False), IGNORED),
        (new_message("3.0", event="E2", conversation=ROOT), ACCEPTED),  # the mention, after its unaddressed twin
        (new_message("1.0", event="E3", conversation=other), ACCEPTED),  # the same ts in another channel
    ):
        assert await stores.inbox.accept(message) is accepted, message.event_id
    assert look(path, "SELECT channel, ts FROM inbox ORDER BY channel, ts") == [
        ("C1", "3.0"),
        ("D1", "1.0"),
        ("D1", "2.0"),
        ("D2", "1.0"),
    ]
    assert stores.events.names.count("inbox.accepted") == 4
    assert stores.events.names.count("inbox.duplicate") == 3


async def test_a_thread_is_followed_while_its_question_waits_and_after_a_reply_there(stores: Stores) -> None:
    async def follows(ts: str, where: ConversationKey = ROOT) -> bool:
        aside = new_message(ts, "between us", conversation=where, addressed=False)
        return await stores.inbox.accept(aside) is ACCEPTED

    assert not await follows("51.0"), "the soul has no part in it"
    assert look(stores.path, "SELECT count(*) FROM inbox UNION ALL SELECT count(*) FROM conversations") == [(0,), (0,)]
    quiet = thread("70.0")
    await stores.commits.commit(effect(await stores.claimed(new_message("71.0", conversation=quiet))))
    assert not await follows("72.0", quiet), "nothing was replied there"
    claim = await stores.claimed(new_message("52.0", conversation=ROOT))
    assert await follows("53.0"), "it belongs to the question"
    await stores.conversations.release(claim)
    await stores.answer()
    assert await follows("54.0")


async def test_a_message_to_others_is_an_aside_until_its_mention_event_arrives(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(new_message("51.0", conversation=ROOT))
    await stores.answer()
    aside = new_message("52.0", "@ben look", event="E1", conversation=ROOT, addressed=False, to_others=True)
    assert await stores.inbox.accept(aside) is IGNORED
    assert look(path, "SELECT state, aside FROM inbox WHERE ts = '52.0'") == [("ignored", 1)]
    assert [one.perception.content for one in (await stores.turns.transcript(ROOT, 10)).aside] == ["@ben look"]
    assert await stores.inbox.accept(new_message("52.0", event="E2", conversation=ROOT)) is ACCEPTED
    assert [one.perception.ts for one in (await stores.claim()).messages] == ["52.0"]


async def test_an_aside_that_an_admin_settles_is_no_longer_read(stores: Stores, clock: FakeClock) -> None:
    await stores.inbox.accept(new_message("51.0", conversation=ROOT))
    await stores.answer()
    for ts in ("52.0", "53.0"):
        await stores.inbox.accept(new_message(ts, "@ben look", conversation=ROOT, addressed=False, to_others=True))
    admin = Admin(stores.database, clock, "ada")
    await admin.drop_message("52.0")
    await admin.retry_message("53.0")
    assert (await stores.turns.transcript(ROOT, 10)).aside == ()


async def test_a_message_is_answered_in_its_newest_text_and_an_edit_without_change_does_nothing(stores: Stores) -> None:
    await stores.inbox.accept(new_message("1.0", "teh"))
    assert await stores.inbox.accept(edited("1.0", "the")) is ACCEPTED
    assert await stores.inbox.accept(edited("1.0", "the")) is DUPLICATE
    claim = await stores.claim()
    assert [one.perception.content for one in claim.messages] == ["the"]
    assert await stores.inbox.accept(edited("1.0", "the", "unfurled")) is IGNORED
    assert await stores.commits.commit(effect(claim, "seen")) is not None


@pytest.mark.parametrize(
    ("arrival", "left"), [(edited("1.0", "new words"), ["new words", "and"]), (deleted("1.0"), ["and"])]
)
async def test_a_message_that_changes_during_its_reply_supersedes_it(
    stores: Stores, path: Path, arrival: Edit | Deletion, left: list[str]
) -> None:
    await stores.inbox.accept(new_message("1.0", "old words"))
    claim = await stores.claimed(new_message("2.0", "and"))
    assert await stores.inbox.accept(arrival) is ACCEPTED
    with pytest.raises(Superseded):
        await stores.commits.commit(effect(claim, "reply"))
    for table in ("outbox", "turns", "jobs", "llm_calls"):
        assert look(path, f"SELECT count(*) FROM {table}") == [(0,)]
    await stores.conversations.release(claim)
    assert [one.perception.content for one in (await stores.claim()).messages] == left


async def test_a_message_deleted_before_its_reply_is_not_answered_and_never_stored_again(stores: Stores) -> None:
    await stores.inbox.accept(new_message("1.0", "secret"))
    assert await stores.inbox.accept(deleted("1.0", "first")) is ACCEPTED
    assert await stores.inbox.accept(deleted("1.0", "second")) is DUPLICATE
    assert await stores.inbox.accept(edited("1.0", "back")) is IGNORED
    assert await stores.conversations.claim_next() is None
    assert await stores.inbox.accept(deleted("2.0")) is IGNORED
    assert await stores.inbox.accept(new_message("2.0", "secret")) is IGNORED, "it arrives after its deletion"
    assert look(stores.path, "SELECT ts, state, body, envelope FROM inbox") == [("1.0", "withdrawn", "", "{}")]


async def test_a_lone_surrogate_is_replaced_and_a_ts_that_is_no_number_blocks_no_message(stores: Stores) -> None:
    await stores.inbox.accept(new_message("later"))
    await stores.inbox.accept(new_message("2.0", "broken \ud83d emoji \U0001f600 \0"))
    assert [(one.perception.ts, one.perception.content) for one in (await stores.claim()).messages] == [
        ("later", "hi"),
        ("2.0", "broken \N{REPLACEMENT CHARACTER} emoji \U0001f600 \0"),
    ]


async def test_a_conversation_has_the_audience_of_its_newest_message(stores: Stores) -> None:
    await stores.inbox.accept(new_message("51.0", conversation=ROOT, audience=Audience(AudienceKind.WORKSPACE, TEAM)))
    await stores.answer()
    narrow = Audience(AudienceKind.CHANNEL, CHANNEL)
    await stores.inbox.accept(new_message("52.0", conversation=ROOT, audience=narrow))
    assert (await stores.claim()).audience == narrow


async def test_feedback_is_stored_with_its_reply(stores: Stores, path: Path) -> None:
    await stores.inbox.accept(new_message("1.0"))
    await stores.outbox.sent(await stores.answer(), "2.0")
    given = Feedback("F1", SOUL, TEAM, "D1", "2.0", "U1", "bad")
    assert await stores.inbox.accept(given) is ACCEPTED
    assert await stores.inbox.accept(Feedback("F2", SOUL, TEAM, "D1", "2.0", "U1", "good")) is ACCEPTED
    assert await stores.inbox.accept(Feedback("F3", SOUL, TEAM, "D1", "9.0", "U1", "good")) is IGNORED
    assert look(path, "SELECT author, value FROM feedback") == [("U1", "good")]


async def test_a_message_that_another_soul_of_the_same_account_has_is_a_duplicate(stores: Stores, path: Path) -> None:
    moved = ConversationKey("bo", TEAM, CHANNEL, "5.000001")
    message = replace(new_message("5.000001", conversation=thread("5.000001")), receiver="U0SOUL")
    again = replace(new_message("5.000001", event="E2", conversation=moved), receiver="U0SOUL")
    other_app = replace(again, event_id="E3", receiver="U0OTHER")
    assert await stores.inbox.accept(message) is ACCEPTED
    assert await stores.inbox.accept(again) is DUPLICATE
    assert await stores.inbox.accept(other_app) is ACCEPTED
    assert look(path, "SELECT soul, receiver FROM inbox ORDER BY soul") == [(SOUL, "U0SOUL"), ("bo", "U0OTHER")]


async def test_the_twin_of_an_incomplete_message_completes_it_once_even_while_it_is_thought_about_but_undoes_no_edit(
    stores: Stores, path: Path
) -> None:
    mention = replace(new_message(text="look", event="E1"), incomplete=True)
    twin = new_message(text="look\n[shared a file: plan.pdf]", event="E2")
    assert await stores.inbox.accept(mention) is ACCEPTED
    claim = await stores.claim()
    assert await stores.inbox.accept(twin) is ACCEPTED
    with pytest.raises(Superseded):
        await stores.commits.commit(effect(claim, "What should I look at?"))
    assert await stores.inbox.accept(replace(twin, event_id="E3")) is DUPLICATE
    assert look(path, "SELECT body, incomplete FROM inbox") == [("look\n[shared a file: plan.pdf]", 0)]
    await stores.inbox.accept(replace(new_message("200.0", "helo", event="E4"), incomplete=True))
    await stores.inbox.accept(edited("200.0", "hello"))
    assert await stores.inbox.accept(new_message("200.0", "helo", event="E5")) is DUPLICATE
    assert look(path, "SELECT body FROM inbox WHERE ts = '200.0'") == [("hello",)]


async def test_two_souls_get_the_same_message_independently(stores: Stores, clock: FakeClock) -> None:
    bo = Stores.of(stores.database, clock, "worker-bo", soul="bo")
    key = ConversationKey("bo", TEAM, DM.channel)
    assert await stores.inbox.accept(new_message(event="E1")) is ACCEPTED
    assert await bo.inbox.accept(new_message(event="E1", conversation=key)) is ACCEPTED
    assert (await bo.claim()).conversation == key
    assert (await stores.claim()).conversation == DM
