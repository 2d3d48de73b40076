"""A promise ends in words whoever reads by then: its person has read that they will come."""

from collections.abc import Awaitable, Callable

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.promising import HOUR, posts, promised, promising, quiet_after, said_after
from tests.journeys.souls import write_soul
from tests.journeys.thinking import thought
from tests.journeys.ticking import COUNTS, DAY, NEVER_QUIET, after, counted

ITS_OWN = "I said that I'd come back to “import”. I couldn't look at it in time; ask me again later."
WORDLESS = "I said that I'd come back to “…”. I couldn't look at it in time; ask me again later."


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**NEVER_QUIET)
    return empty_house


async def known_in_private(house: House) -> None:
    """Ada reads in a private channel in which the soul was spoken to, so that it may have that in mind in her DMs."""
    room = await house.people.add_channel("plans", kind="group", members=["Ada", "Ben"])
    house.model.replies.append(thought("Hello."))
    await house.answered("Ada", str(room["id"]), "@soul hello there")


async def promised_in_thread(house: House) -> str:
    """Ada is promised something in a thread of a public channel; gives the channel's id."""
    room = str((await house.people.add_channel("works", members=["Ada", "Ben"]))["id"])
    house.model.replies.append(thought("I will look.", goal_updates=[promising("import")]))
    assert "I'll come back" in await house.answered("Ada", room, "@soul the import, please")
    return room


async def held(house: House) -> list[tuple[str, int, bool]]:
    """Each goal with its words, whether it is a promise, and whether that is kept."""
    rows = await house.rows("SELECT goal, follow_up, kept_ms IS NOT NULL AS kept FROM goals ORDER BY seq")
    return [(row["goal"], row["follow_up"], bool(row["kept"])) for row in rows]


async def test_who_is_let_in_no_more_is_waited_for_for_two_weeks_and_no_longer(thinker: House) -> None:
    await promised(thinker, "import")
    await thinker.noticed(thinker.people.change_standing("Ada", "deactivated"))
    await after(thinker, 2 * HOUR + 1, 1)
    await after(thinker, 15 * DAY, 2)
    assert await counted(thinker) == {"not_invited": 2}
    await thinker.noticed(thinker.people.change_standing("Ada", "member"))
    thinker.model.default = thought("Here it is.")
    thinker.clock.turn(2 * DAY)
    await thinker.idle()
    goal = await thinker.one("SELECT state, kept_ms FROM goals")
    assert tuple(goal) == ("abandoned", None)
    assert await counted(thinker) == {"not_invited": 2}


async def test_who_left_a_private_room_is_answered_by_the_house(thinker: House) -> None:
    await known_in_private(thinker)
    await promised(thinker, "import")
    await promised(thinker, "roof", "in 4h")
    await thinker.noticed(thinker.people.leave("Ada", "plans"))
    await thinker.command("mind", "goals", "drop", "G2", env={"SOUL_NAME": "tess"})
    thinker.model.replies.append(thought("Here it is.", inner_speech="it came"))
    await said_after(thinker, 2 * HOUR + 1, ITS_OWN)
    await thinker.idle()
    assert "your goal G1" not in shown(thinker.prompts[-1])
    assert await held(thinker) == [("import", 1, True), ("roof", 1, False)]
    thinker.model.default = thought(None, inner_speech="nothing")
    calls = len(thinker.prompts)
    for _ in range(3):
        await quiet_after(thinker, 12 * HOUR)
    assert len(thinker.prompts) == calls, "it thinks no more about what its prompt can't show"


async def guest_joins(house: House) -> None:
    await house.people.add_person("Gus", standing="guest")
    await house.people.join("Gus", "works")


async def made_private(house: House) -> None:
    await house.people.convert("Ada", "works", "group")


async def private_and_public_again(house: House) -> None:
    await made_private(house)
    await house.acknowledged()
    await house.people.convert("Ada", "works", "channel")


@pytest.mark.parametrize(
    "change",
    [
        guest_joins,
        pytest.param(made_private, marks=pytest.mark.slow),
        pytest.param(private_and_public_again, marks=pytest.mark.slow),
    ],
)
async def test_in_a_thread_the_house_keeps_it_where_others_read_by_then(
    thinker: House, change: Callable[[House], Awaitable[None]]
) -> None:
    room = await promised_in_thread(thinker)
    await change(thinker)
    await thinker.acknowledged()
    thinker.model.default = thought("Here it is.", inner_speech="it came")
    await said_after(thinker, 2 * HOUR + 1, ITS_OWN, room)
    await quiet_after(thinker, 12 * HOUR)
    assert [goal for goal in await held(thinker) if goal[2]] == [("import", 1, True)]


async def test_it_waits_a_minute_while_slack_does_not_say_in_which_private_rooms_its_person_is(thinker: House) -> None:
    await known_in_private(thinker)
    await promised(thinker, "import")
    await thinker.people.fault("users.conversations", status=503, times=1_000)
    before = await posts(thinker)
    thinker.model.replies.append(thought("It ran.", inner_speech="it ran"))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.row(COUNTS)
    assert await posts(thinker) == before
    await thinker.people.clear_faults()
    await said_after(thinker, 61, "It ran.")
    assert (await counted(thinker))["breaker"] == 1


async def test_in_a_thread_it_waits_a_minute_while_slack_does_not_say_who_reads(thinker: House) -> None:
    room = await promised_in_thread(thinker)
    await thinker.people.fault("conversations.members", status=503, times=1_000)
    before = await posts(thinker)
    thinker.model.replies.append(thought("It ran.", inner_speech="it ran"))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.row(COUNTS)
    assert await posts(thinker) == before
    await thinker.people.clear_faults()
    await said_after(thinker, 61, "It ran.", room)


async def test_when_the_words_it_rests_on_are_edited_it_is_kept_without_them(thinker: House) -> None:
    thinker.model.replies.append(thought("Hello."))
    ts = await thinker.say("Ada", "dm", "helo there")
    await thinker.reply("D0ADA", "Hello.")
    await promised(thinker, "import")
    await thinker.noticed(thinker.people.edit("Ada", "D0ADA", ts, "hello there"))
    await thinker.idle()
    assert await held(thinker) == [("", 1, False)]
    thinker.model.replies.append(thought("I am here.", goal_updates=[]))
    await thinker.answered("Ada", "dm", "are you there?")
    assert "your goal G1" not in shown(thinker.prompts[-1])
    thinker.model.default = thought(None, inner_speech="nothing")
    await said_after(thinker, 2 * HOUR + 1, WORDLESS)
    assert await held(thinker) == []


async def test_when_a_person_whom_its_words_name_is_forgotten_it_is_kept_without_them(thinker: House) -> None:
    thinker.model.replies.append(thought("Hello."))
    await thinker.answered("Ada", "dm", "hello there")
    await promised(thinker, "ask U0ADA", person="Ben")
    await thinker.answered("Ada", "dm", "forget me")
    assert (await thinker.answered("Ada", "dm", "yes, forget me")).startswith("Forgotten:")
    assert await held(thinker) == [("", 1, False)]
    thinker.model.default = thought(None, inner_speech="nothing")
    await said_after(thinker, 2 * HOUR + 1, WORDLESS, "D0BEN")


async def test_what_a_reply_that_is_taken_back_promised_is_promised_no_more(thinker: House) -> None:
    await promised(thinker, "import")
    post = await thinker.reply("D0ADA", "I'll come back")
    await thinker.noticed(thinker.people.react("Ada", "D0ADA", str(post["ts"]), "x"))
    await thinker.idle()
    assert await held(thinker) == []
    await quiet_after(thinker, 3 * HOUR)


async def test_a_promise_of_which_no_post_ever_spoke_takes_none_of_the_three_places(thinker: House) -> None:
    for number in range(3):
        await promised(thinker, f"plan {number}", "in 4h")
    await thinker.change("UPDATE outbox SET state = 'dead' WHERE id = (SELECT said_in FROM goals WHERE id = 'G1')")
    assert "I'll come back to “plan 3”" in await promised(thinker, "plan 3", "in 4h")
