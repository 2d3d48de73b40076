"""From a reply back to what surfaced to it: as it is now, and to whom it may be shown."""

from functools import partial

import pytest

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place, Readers
from daemon.core.ports.library import Passage
from daemon.memory.database import Database
from daemon.memory.knowledge.records.kinds import Core, Episode, Fact, Record, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import change, put
from daemon.memory.knowledge.turn_index import delete_turns, store_turns
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.memory.retrieval.lanes import keep_surfaced, lately_surfaced
from daemon.memory.retrieval.reasons import Ear, Reasons, WhySaid
from tests.fakes import FakeClock
from tests.given import DM, HERE, SOUL, TEAM, new_message
from tests.store.parts import Stores, room

MINE = Ear(DM, Readers(HERE, members_only=True))
NOON = 1_795_262_400_000
BEES = "I keep bees on the roof"


@pytest.fixture
async def reasons(database: Database) -> Reasons:
    """Ada said what is in BEES in her direct messages."""
    await room(database)
    await say(database, BEES, "0.1")
    return Reasons(database)


async def say(
    database: Database,
    text: str,
    ts: str,
    *,
    speaker: Speaks = Speaks.PERSON,
    trace: str = "t",
    where: ConversationKey = DM,
    audience: Audience = HERE,
    kind: TurnKind = TurnKind.REPLY,
) -> str:
    turn = Turn(speaker, "U1", "Ada" if speaker is Speaks.PERSON else "Kothar", ts, text, kind=kind)
    store = partial(store_turns, turns=[turn], conversation=where, audience=audience, trace_id=trace, now=NOON)
    [seq] = await database.write(store)
    return f"{'TU' if speaker is Speaks.PERSON else 'TL'}_{seq}"


async def reply(database: Database, text: str, *surfaced: tuple[str, str], trace: str = "r") -> str:
    """The soul says something to which these surfaced: pairs of a mark, '' for a known fact, and an id."""
    found = [(mark, Passage("s", "", id=name)) for mark, name in surfaced if mark]
    known = [name for mark, name in surfaced if not mark]
    await database.write(partial(keep_surfaced, trace_id=trace, found=found, known=known, now=NOON))
    return await say(database, text, "0.2", speaker=Speaks.SOUL, trace=trace)


def about(kind: type[Record], text: str, **fields: object) -> Record:
    made = {"soul": SOUL, "workspace": TEAM, "audience": HERE, "channel": DM.channel, "at_ms": NOON, "text": text}
    return kind(**made | {"person": "U1", "trust": Trust.OWN} | fields)  # type: ignore[arg-type]  # fields by name


async def keep(database: Database, record: Record, *links: Link) -> str:
    return (await database.write(lambda transaction: put(transaction, record, NOON, list(links)))).id


async def fact(database: Database, text: str = "keeps bees") -> str:
    made = about(Fact, text, subject="U1", predicate="keeps", object="bees", valid_from_ms=NOON)
    return await keep(database, made, Link("", Relation.EVIDENCE, "TU_1", "keep bees"))


async def why(reasons: Reasons, name: str, *ears: Ear) -> WhySaid:
    found = await reasons.why(name, list(ears) or [MINE])
    assert found is not None
    return found


async def test_a_fact_in_the_prompt_bears_a_sentence_and_is_not_surfaced(database: Database, reasons: Reasons) -> None:
    said = await reply(database, "You keep bees. So be it.", ("", name := await fact(database)))
    bees, rest = (await why(reasons, said)).sentences
    [reason] = bees.reasons
    assert (reason.id, reason.kind, [(one.id, one.quote, one.ts) for one in reason.evidence]) == (
        name,
        "fact",
        [("TU_1", "keep bees", "0.1")],
    )
    assert (rest.reasons, rest.hidden, rest.gone) == ((), False, False)
    assert await database.read(lambda transaction: lately_surfaced(transaction, DM)) == frozenset()


async def test_what_surfaced_twice_has_both_marks(database: Database, reasons: Reasons) -> None:
    said = await reply(database, "So [m1]. And so [3].", ("m1", "TU_1"), ("3", "TU_1"))
    found = await why(reasons, said)
    assert [[one.id for one in sentence.reasons] for sentence in found.sentences] == [["TU_1"], ["TU_1"]]
    assert await database.rows("SELECT * FROM surfaced")
    await database.run("DELETE FROM turns WHERE speaker = 'soul'")
    assert not await database.rows("SELECT * FROM surfaced"), "it goes with its reply"


async def test_what_was_distilled_leads_through_visits_to_the_messages(database: Database, reasons: Reasons) -> None:
    episode = await keep(database, about(Episode, "Ada spoke of bees"), Link("", Relation.TURN_REFS, "TU_1"))
    core = await keep(database, about(Core, "Ada lives with bees"), Link("", Relation.SOURCES, episode))
    said = await reply(database, "You have lived with bees for long [m1].", ("m1", core))
    [sentence] = (await why(reasons, said)).sentences
    assert [(one.id, one.quote) for one in sentence.reasons[0].evidence] == [("TU_1", "")]


async def test_a_corrected_fact_is_gone_and_so_is_a_deleted_message(database: Database, reasons: Reasons) -> None:
    wrong, other = await fact(database), await say(database, "the kiln cracks", "0.15")
    said = await reply(database, "You keep bees [m1]. The kiln cracks.", ("m1", wrong), ("m2", other))
    ended = {"valid_until_ms": NOON, "why_ended": "wrong"}
    await database.write(lambda transaction: change(transaction, wrong, NOON, **ended))
    await database.write(partial(delete_turns, conversation=str(DM), ts="0.15", now=NOON))
    found = await why(reasons, said)
    assert found.gone == 2
    assert [(one.reasons, one.gone) for one in found.sentences] == [((), True), ((), False)]


async def test_a_memory_of_another_room_is_hidden_and_so_is_its_message(database: Database, reasons: Reasons) -> None:
    said = await reply(database, "You keep bees [m1].", ("m1", await fact(database)))
    chloe = ConversationKey(SOUL, TEAM, "D9")
    stranger = Ear(chloe, Readers(Audience(AudienceKind.DM, "D9"), members_only=True))
    [sentence] = (await why(reasons, said, stranger)).sentences
    assert (sentence.reasons, sentence.hidden) == ((), True)
    [sentence] = (await why(reasons, said, stranger, MINE)).sentences
    assert len(sentence.reasons) == 1, "one of the ears hears it"
    admin = await reasons.why(said, None)
    assert admin is not None
    assert len(admin.sentences[0].reasons) == 1


async def test_a_guest_hears_what_was_said_in_the_same_channel_alone(database: Database, reasons: Reasons) -> None:
    everybody = Audience(AudienceKind.WORKSPACE, TEAM)
    general, other = ConversationKey(SOUL, TEAM, "C1", "1.0"), ConversationKey(SOUL, TEAM, "C2", "1.0")
    for where in (general, other):
        await database.write(
            partial(open_conversation, key=where, place=Place.PUBLIC_CHANNEL, audience=everybody, now=1)
        )
    here = await say(database, "the kiln cracks", "1.0", where=general, audience=everybody)
    there = await say(database, "the loom squeaks", "1.0", where=other, audience=everybody)
    said = await reply(database, "It cracks [m1]. It squeaks [m2].", ("m1", here), ("m2", there))
    guests = Ear(general, Readers(everybody, members_only=False))
    cracks, squeaks = (await why(reasons, said, guests)).sentences
    assert ([one.id for one in cracks.reasons], cracks.hidden) == ([here], False)
    assert ([one.id for one in squeaks.reasons], squeaks.hidden) == ([], True)


async def test_the_last_reply_is_no_apology_and_what_is_no_reply_is_none(database: Database, reasons: Reasons) -> None:
    assert await reasons.last_reply(DM) == ""
    said = await reply(database, "You keep bees.")
    await say(database, "I'm sorry.", "0.3", speaker=Speaks.SOUL, kind=TurnKind.APOLOGY)
    assert await reasons.last_reply(DM) == said
    for name in ("TU_1", "TL_404", "sem_1", "", "TL_1; --"):
        assert await reasons.why(name, None) is None
    assert await reasons.reply_posted(SOUL, "404.0") == ""


async def test_a_message_of_a_room_now_private_proves_nothing_to_others(database: Database, reasons: Reasons) -> None:
    everybody, open_room = Audience(AudienceKind.WORKSPACE, TEAM), ConversationKey(SOUL, TEAM, "C2", "1.0")
    where = partial(open_conversation, key=open_room, place=Place.PUBLIC_CHANNEL, audience=everybody, now=1)
    await database.write(where)
    turn = await say(database, BEES, "1.0", where=open_room, audience=everybody)
    made = about(
        Fact, "keeps bees", audience=everybody, channel="C2", subject="U1", predicate="", object="", valid_from_ms=NOON
    )
    said = await reply(
        database, "You keep bees.", ("", await keep(database, made, Link("", Relation.EVIDENCE, turn, BEES)))
    )
    [reason] = (await why(reasons, said)).sentences[0].reasons
    assert [one.quote for one in reason.evidence] == [BEES]
    await database.run("UPDATE conversations SET audience = 'channel:C2' WHERE channel = 'C2'")
    [reason] = (await why(reasons, said)).sentences[0].reasons
    assert reason.evidence == ()


async def test_each_part_of_a_long_reply_leads_to_it(database: Database, reasons: Reasons, clock: FakeClock) -> None:
    stores = Stores.of(database, clock)
    await stores.inbox.accept(new_message("5.0", text="tell me all"))
    first = await stores.answer("You keep bees. ", "They sleep.")
    await stores.outbox.sent(first, "6.1")
    second = await stores.outbox.claim_next(str(DM))
    assert second is not None
    await stores.outbox.sent(second, "6.2")
    said = await reasons.last_reply(DM)
    assert [await reasons.reply_posted(SOUL, ts, DM.channel) for ts in ("6.1", "6.2")] == [said, said]
    assert await reasons.reply_posted(SOUL, "6.1", "C9") == ""
    assert await reasons.reply_posted("another", "6.1") == ""
    assert (await why(reasons, said)).ts == "6.1"
