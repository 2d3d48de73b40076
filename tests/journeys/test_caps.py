"""What may be spent in a day is spent: people read it once, with the time, and nothing of theirs is lost."""

from daemon.core.ports.services import Completion
from tests.given import tagged
from tests.journeys.house import House, said
from tests.models import FakeModel

MODEL = "anthropic/claude-sonnet-5-5"
DAY = 86_400.0


def dear() -> FakeModel:
    """A model that costs something."""
    return FakeModel(model=MODEL, usage=Completion(MODEL, tokens_in=1000, tokens_out=1000))


async def spent(house: House) -> dict[tuple[str, str], int]:
    """What each payer has spent in thousandths of a US dollar, on any day."""
    rows = await house.rows("SELECT paid_by, id, sum(nano) AS nano FROM spending GROUP BY paid_by, id")
    return {(row["paid_by"], row["id"]): round(row["nano"] / 1_000_000) for row in rows}


async def test_each_call_is_charged_to_a_soul_a_person_and_a_room(empty_house: House) -> None:
    await empty_house.start(dear(), max_usd_a_day=5.0)
    await empty_house.answered("Ada", "dm", "hello")
    await empty_house.answered("Ben", "general", "@soul hello")
    await empty_house.no_row("SELECT 1 FROM reservations")
    rows = await empty_house.rows("SELECT DISTINCT soul, workspace, person, room FROM llm_calls ORDER BY person")
    assert [tuple(row) for row in rows] == [
        ("minoan", "T0LOCAL", "U0ADA", "D0ADA"),
        ("minoan", "T0LOCAL", "U0BEN", "C0GENERAL"),
    ]
    sums = await spent(empty_house)
    assert sums["soul", "minoan"] == sums["person", "U0ADA"] + sums["person", "U0BEN"]
    assert sums["room", "D0ADA"] == sums["person", "U0ADA"]


async def test_where_a_cap_is_zero_one_sentence_says_so_and_every_message_is_kept(empty_house: House) -> None:
    house, model = empty_house, dear()
    for person, cap in (("Ada", "max_usd_a_day"), ("Ben", "max_usd_a_day_person"), ("Chloe", "max_usd_a_day_room")):
        await house.start(model, **{cap: 0.0})
        assert "not allowed me to spend anything" in await house.answered(person, "dm", "hello"), cap
        ts = await house.say(person, "dm", "are you there?")
        assert await house.final_state(ts) == "answered"
        await house.idle()
        assert len(await house.replies(f"D0{person.upper()}")) == 1, cap
        kept = await house.rows("SELECT body FROM turns WHERE author = ? ORDER BY seq", await house.person(person))
        assert [row["body"] for row in kept] == ["hello", "are you there?"], cap
        await house.stop()
    assert not model.prompts
    await house.start(max_usd_a_day=0.0)
    assert await house.answered("Ada", "general", "@soul hello") == "Echo: hello", "a model that costs nothing answers"
    await house.restart(model=dear(), max_usd_a_day=0.01)
    await house.people.add_person("Dora", locale="de-DE", zone="Europe/Berlin")
    room = await house.people.open_dm("Dora")
    await house.say("Dora", "dm", "hallo")
    answer = said(await house.reply(room, "verbraucht"))
    assert "(Europe/Berlin)" in answer
    assert "02:00" in answer or "01:00" in answer  # UTC's midnight, in summer or winter


async def test_on_the_next_day_it_has_read_what_was_said_when_nothing_could_be_spent(empty_house: House) -> None:
    house = empty_house
    await house.start(dear(), max_usd_a_day_person=0.15)  # the most that one call can cost, and not of two
    assert await house.answered("Ada", "dm", "one") == "Echo: one"
    while (answer := await house.answered("Ada", "dm", "again")) == "Echo: again":
        pass
    assert "what I may spend on your questions today is used up" in answer
    await house.say("Ada", "dm", "the loom is broken")
    await house.idle()
    before = len(await house.replies("D0ADA"))
    assert await house.answered("Ben", "dm", "and I?") == "Echo: and I?", "another person has a share of their own"
    house.clock.turn(DAY)
    read = await house.answered("Ada", "dm", "good morning")
    assert read == "Echo: again + the loom is broken + good morning"
    assert len(await house.replies("D0ADA")) == before + 1


async def test_work_in_the_background_leaves_a_share_to_answers_and_waits_for_the_next_day(empty_house: House) -> None:
    model = FakeModel(model=MODEL, usage=Completion(MODEL, tokens_in=1000, tokens_out=5000))
    model.replies.append(tagged("Yes.", moved=True))
    await empty_house.start(model, max_usd_a_day=0.15)  # room for a reply's call, and none for more within four fifths
    await empty_house.answered("Ada", "dm", "hello")
    await empty_house.events.until("job.put_off")
    [job] = await empty_house.rows("SELECT state, attempts, not_before, reason FROM jobs WHERE not_before > 0 LIMIT 1")
    assert (job["state"], job["attempts"]) == ("ready", 0)
    assert job["not_before"] > empty_house.clock.now_ms()
    assert "cap" in job["reason"]
