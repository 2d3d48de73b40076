"""What was learned in public channels is for no more people than its words are, once one of them is made private."""

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.knowledge.learning import Learned, Proved, TurnRange
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.store import put, select
from daemon.memory.queues.person_rooms import PersonRoomsStore
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM
from tests.store.parts import Stores, a_fact, met, spoken

EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
ONE, OTHER = (ConversationKey(SOUL, TEAM, channel, "1.0") for channel in ("C1", "C2"))
MEMBERS = Audience(AudienceKind.CHANNEL, "C1")
LINE = "weaves"


async def _learned(stores: Stores, where: ConversationKey, *lines: str, whispers: str = "", version: int = -1) -> bool:
    """Whether it was stored that Ann said these lines in a channel."""
    await met(stores.database, audience=EVERYBODY)
    turn = await spoken(stores.database, "; ".join(lines), key=where, audience=EVERYBODY)
    model = await stores.user_models.model("U1", EVERYBODY)
    assert model is not None
    return await stores.learning.revise(
        "U1",
        EVERYBODY,
        Learned(added=tuple(Proved(line, turn, line) for line in lines), whispers=whispers),
        expected_version=model.version if version < 0 else version,
        source=TurnRange(where, turn, turn),
        most_lost=1.0,
        trace_id="t",
    )


async def _make_private(database: Database) -> None:
    await database.write(lambda transaction: make_private(transaction, TEAM, "C1", MEMBERS, 5))


async def _facts(database: Database) -> list[tuple[str, str]]:
    async def unit(transaction: Transaction) -> list[tuple[str, str]]:
        return [(str(one.audience), one.channel) for one in await select(transaction, Fact, "true")]

    return await database.read(unit)


async def test_guests_of_one_channel_do_not_learn_what_was_said_in_another_too(stores: Stores) -> None:
    assert await _learned(stores, ONE, LINE)
    assert await _learned(stores, OTHER, LINE)
    assert await _facts(stores.database) == [(str(EVERYBODY), "")], "the second time confirmed it"
    await _make_private(stores.database)
    assert await _facts(stores.database) == [(str(MEMBERS), "")]
    await met(stores.database, audience=MEMBERS)
    for members_only, notes in ((True, (LINE,)), (False, ())):
        readers = Readers(MEMBERS, members_only=members_only)
        (model, *_) = await stores.user_models.known("U1", readers, ONE)
        assert model.notes == notes


async def test_guesses_that_were_made_there_are_forgotten_and_others_stay(stores: Stores, database: Database) -> None:
    for where, whispers in ((OTHER, "likes looms"), (ONE, "likes looms, hides a loss")):
        assert await _learned(stores, where, where.channel, whispers=whispers)
    await _make_private(database)
    model = await stores.user_models.model("U1", EVERYBODY)
    assert model is not None
    assert (model.whispers, model.notes) == ("", ("C2",))
    rows = await database.rows("SELECT whispers FROM user_model_history ORDER BY version")
    assert [row["whispers"] for row in rows] == ["likes looms", "", ""]


async def test_what_was_learned_while_it_was_open_follows_though_others_were_let_in_before(stores: Stores) -> None:
    rooms = PersonRoomsStore(stores.database, FakeClock())
    assert await _learned(stores, ONE, LINE, whispers="likes looms")
    assert await rooms.open_rooms(TEAM) == {"C1"}
    await stores.database.run(
        "UPDATE conversations SET audience = :members WHERE id = :id", members=str(MEMBERS), id=str(ONE)
    )  # as a message in a channel that is shared does
    assert await rooms.open_rooms(TEAM) == {"C1"}
    for _ in range(2):
        await _make_private(stores.database)
        model = await stores.user_models.model("U1", EVERYBODY)
        assert model is not None
        assert model.whispers == ""
        assert await _facts(stores.database) == [(str(MEMBERS), "C1")]
        assert [row["times"] for row in await stores.database.rows("SELECT times FROM narrowings")] == [1]
        assert await rooms.open_rooms(TEAM) == frozenset()


async def test_guesses_from_other_channels_stay(stores: Stores, database: Database) -> None:
    await spoken(database, "hello", key=ONE, audience=EVERYBODY)
    assert await _learned(stores, OTHER, LINE, whispers="likes looms")
    await _make_private(database)
    model = await stores.user_models.model("U1", EVERYBODY)
    assert model is not None
    assert model.whispers == "likes looms"


async def test_what_was_being_learned_from_it_is_not_stored(stores: Stores, database: Database) -> None:
    assert await _learned(stores, ONE, LINE)
    model = await stores.user_models.model("U1", EVERYBODY)
    assert model is not None
    await _make_private(database)
    assert not await _learned(stores, OTHER, whispers="hides a loss", version=model.version)


async def test_an_old_note_without_sources_follows_its_channel(stores: Stores, database: Database) -> None:
    await spoken(database, "hello", key=ONE, audience=EVERYBODY)
    note = a_fact(LINE, audience=EVERYBODY, channel="C1", trust=Trust.NOTED, person="U1")
    await database.write(lambda transaction: put(transaction, note, 1))
    await _make_private(database)
    assert await _facts(database) == [(str(MEMBERS), "C1")]


async def test_a_fact_that_can_not_be_read_keeps_no_channel_from_being_made_private(stores: Stores) -> None:
    assert await _learned(stores, ONE, LINE, "sings")
    await stores.database.run("UPDATE records SET extra = '{' WHERE text = 'sings'")
    await _make_private(stores.database)
    assert await _facts(stores.database) == [(str(MEMBERS), "C1")]
    assert await stores.database.rows("SELECT 1 FROM records WHERE text = 'sings'") == []
