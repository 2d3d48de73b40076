"""What surfaces to a reply: by several lanes, never twice at once, and the fact that holds before the old one."""

import dataclasses
import re
from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
from msgspec.structs import replace

from daemon.core.perception import Readers
from daemon.core.ports.vectors import Near, NearQuery
from daemon.core.step import Heard
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.knowledge.records.links import Link, Relation, link
from daemon.memory.knowledge.records.store import change, put
from daemon.memory.knowledge.turn_index import delete_turns, reword_turns, store_turns
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.lanes import keep_surfaced
from daemon.memory.retrieval.rows import read_records, records_about
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing, passage_of
from tests.fake_embedder import WordEmbedder
from tests.fakes import FakeClock
from tests.given import DM, HERE
from tests.store.parts import a_fact, a_visit, room

READERS = Readers(HERE, members_only=True)
NOON = 1_795_262_400_000
DAY = 86_400_000


@pytest.fixture
async def surfacing(database: Database, clock: FakeClock) -> Surfacing:
    await room(database)
    return Surfacing(database, clock)


async def said(
    database: Database, *texts: str, speaker: Speaks = Speaks.PERSON, trace: str = "t", at: int = NOON
) -> None:
    turns = [Turn(speaker, "U1", "Ada", str(place), text) for place, text in enumerate(texts)]
    await database.write(partial(store_turns, turns=turns, conversation=DM, audience=HERE, trace_id=trace, now=at))


async def found(surfacing: Surfacing, *lanes: str, limit: int = 6) -> list[str]:
    return [one.text for one in await surfacing.surface(DM, READERS, lanes, limit, AlreadyShown())]


async def test_thanks_surface_nothing_though_there_were_thanks(database: Database, surfacing: Surfacing) -> None:
    await said(database, "thanks for the kiln", "Thanks a lot, Ben, that helped")
    assert await found(surfacing, "thanks!", "the kiln") == []


@pytest.mark.parametrize("gone", ["deleted", "edited"])
async def test_a_neighbour_that_is_gone_helps_no_more(database: Database, surfacing: Surfacing, gone: str) -> None:
    await said(database, "who has the signing key of the shop?", "Beatrix, second floor", "good to know")
    assert "Beatrix, second floor" in await found(surfacing, "the signing key of the shop")
    change_it = (
        partial(delete_turns, conversation=str(DM), ts="0", now=1)
        if gone == "deleted"
        else partial(reword_turns, conversation=str(DM), ts="0", text="never mind", now=1)
    )
    await database.write(change_it)
    assert await found(surfacing, "the signing key of the shop") == []
    [place] = await database.rows("SELECT before, after FROM turn_places WHERE seq = 2")
    assert (place["before"], place["after"]) == ((None, 3) if gone == "deleted" else (1, 3))


async def test_each_lane_has_seats_and_the_newest_words_have_half(database: Database, surfacing: Surfacing) -> None:
    await said(database, *(f"the kiln has crack number{number}" for number in range(6)))
    await said(database, *(f"the parrot sang song number{number}" for number in range(6)), at=NOON + 10**8)
    texts = await found(surfacing, "which crack has the kiln?", "what the parrot sang", limit=4)
    assert [sum(word in text for text in texts) for word in ("kiln", "parrot")] == [2, 2]


async def test_nothing_comes_again_within_three_replies(database: Database, surfacing: Surfacing) -> None:
    await said(database, "the kraken sleeps in the vault")
    asked = "where does the kraken sleep?"
    [hit] = (await surfacing.find(DM, READERS, [asked], 5)).hits
    await database.write(
        partial(keep_surfaced, trace_id="r0", found=[("m1", passage_of(hit, DM, asked))], known=["sem_1"], now=NOON)
    )
    for number in range(4):
        await said(database, "well", speaker=Speaks.SOUL, trace=f"r{number}")
        assert bool(await found(surfacing, asked)) == (number == 3), number


async def test_a_superseded_fact_follows_the_one_that_holds(database: Database, surfacing: Surfacing) -> None:
    async def unit(transaction: Transaction) -> None:
        old = await put(transaction, _fact("Ada lives in Turin", NOON), NOON)
        await put(transaction, _fact("Ada lives in Porto", NOON + 1), NOON, [Link("", Relation.SUPERSEDES, old.id)])
        await change(transaction, old.id, NOON, valid_until_ms=NOON + 1, why_ended="superseded")

    await database.write(unit)
    hits = (await surfacing.find(DM, READERS, ["is it Turin where Ada lives?"], 5)).hits
    assert [(one.text, one.ended) for one in hits] == [("Ada lives in Porto", False), ("Ada lives in Turin", True)]
    current, old = hits
    for shown, left in (({current.id}, [old.id]), ({old.id}, [current.id]), ({current.id, old.id}, [])):
        known = AlreadyShown(ids=frozenset(shown))
        hits = (await surfacing.find(DM, READERS, ["is it Turin where Ada lives?"], 5, known)).hits
        assert [one.id for one in hits] == left, "what the prompt shows by its id doesn't surface beside it"
    await database.run("UPDATE facts SET why_ended = 'wrong' WHERE valid_until_ms IS NOT NULL")
    await database.run("DELETE FROM links")
    assert await found(surfacing, "is it Turin?") == [], "a fact that was wrong never surfaces"


class Fixed:
    """Vectors by which one memory is near; implements `VectorIndex`."""

    def __init__(self, near: Sequence[str]) -> None:
        self.near_ids = near

    async def near(self, partitions: object, queries: Sequence[NearQuery], most: int) -> list[Near]:
        del partitions, most
        return [Near(dict.fromkeys(self.near_ids, 0.6), mean=0.1, deviation=0.1, kind="exact") for _ in queries]


async def test_what_means_the_same_surfaces_without_a_word_in_common_to_its_readers_alone(
    database: Database, clock: FakeClock
) -> None:
    await room(database)
    await said(database, "I carve little wooden birds", "the tax is due in May", "lunch at noon")
    embedder = WordEmbedder()
    surfacing = Surfacing(database, clock, Meaning(embedder, Fixed(["TU_1"])))
    surfaced = await surfacing.find(DM, READERS, ["how does he relax after a stressful day?"], 5)
    assert [one.text for one in surfaced.hits][:1] == ["I carve little wooden birds"]
    assert surfaced.vectors == "exact"
    embedder.down = OSError("no model")
    surfaced = await surfacing.find(DM, READERS, ["who carves birds?"], 5)
    assert surfaced.hits[0].text == "I carve little wooden birds", "words serve without an embedder"
    assert surfaced.vectors == "none"
    await database.run("UPDATE conversations SET audience = 'channel:G9'")
    surfacing = Surfacing(database, clock, Meaning(WordEmbedder(), Fixed(["TU_1", "TU_99", "sem_0", "nonsense"])))
    assert (await surfacing.find(DM, READERS, ["how does he relax after a stressful day?"], 5)).hits == ()


async def test_a_turn_shows_its_feeling_and_weighs_as_its_episode(database: Database, surfacing: Surfacing) -> None:
    worried = Turn(Speaks.PERSON, "U1", "Ada", "1", "the kiln has a crack").heard_as(Heard("worried", ("kiln",)))
    await database.write(partial(store_turns, turns=[worried], conversation=DM, audience=HERE, trace_id="t", now=NOON))
    await said(database, "the kiln has a crack, or two of them", at=NOON - 86_400_000)

    async def unit(transaction: Transaction) -> None:
        visit = a_visit("lunch with Ben", at_ms=NOON, significance=9)
        await put(transaction, visit, NOON, [Link("", Relation.TURN_REFS, "TU_1")])

    await database.write(unit)
    first, second = (await surfacing.find(DM, READERS, ["which crack has the kiln?"], 5)).hits[:2]
    assert (first.id, first.tone, first.significance) == ("TU_1", "worried", 9)
    assert (second.tone, second.significance) == ("", 0)
    assert second.score < first.score < 1.11 * second.score
    shown = passage_of(first, DM, "kiln")
    assert (shown.tone, shown.significance) == ("worried", 9)
    for name, end in (("Ada", ", Ada"), ("U0ADA", ""), ("W012A", "")):
        source = passage_of(dataclasses.replace(first, kind="fact", speaker=name), DM, "kiln").source
        assert re.fullmatch(rf"fact \d{{4}}-\d\d-\d\d{end}", source), "an id says nothing to people"


async def test_a_fact_weighs_one_less_for_every_sixty_days_without_use_and_is_found_behind_one_in_use(
    database: Database, clock: FakeClock, surfacing: Surfacing
) -> None:
    def after_nights(fact: Fact, used: int, now: int) -> int:
        """By nights, each of which takes one from a fact that was in no use for sixty days, nor faded for as long."""
        weight, touched = fact.significance, used
        for night in range(used, now + 1, DAY):
            if weight > 1 and night - touched >= 60 * DAY:
                weight, touched = weight - 1, night
        return weight

    dice, now = Random(), clock.now_ms()
    facts: dict[str, tuple[Fact, int]] = {}
    for number in range(40):
        made = now - dice.randrange(800) * DAY
        said_of = replace(_fact(f"Ada keeps number{number}", now), significance=dice.randint(1, 10))
        fact = await database.write(partial(put, record=said_of, now=made))
        used = dice.randrange(made, now + 1, DAY)
        match number % 3:
            case 0:
                await database.run("UPDATE facts SET used_ms = :used WHERE id = :id", used=used, id=fact.id)
            case 1:
                proof = Link(fact.id, Relation.EVIDENCE, "TU_1")
                await said(database, "I keep it")
                await database.write(partial(link, links=[proof], now=used))
            case _:
                used = made
        facts[fact.id] = fact, used
    expected = {name: after_nights(fact, used, now) for name, (fact, used) in facts.items()}
    read = await database.read(lambda one: read_records(one, (), facts, DM, READERS, now=now))
    assert {one.id: one.significance for one in read} == expected
    about = await database.read(lambda one: records_about(one, ["U1"], DM, 99, now))
    weights = [expected[one.id] for seq in about for one in read if one.seq == seq]
    assert weights == sorted(weights, reverse=True)
    await database.run("UPDATE facts SET used_ms = :now", now=now)
    [used_now] = await database.read(lambda one: read_records(one, (), [fact.id], DM, READERS, now=now))
    assert used_now.significance == fact.significance, "a use gives it all its weight back"


def _fact(text: str, at: int) -> Fact:
    return a_fact(text, at_ms=at, valid_from_ms=at, person="U1", subject="Ada", object=text.rpartition(" ")[2])
