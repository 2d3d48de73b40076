"""A question with a few short answers has buttons; a click is heard as its person's own words, once."""

import pytest

from daemon.core.phrases import short_answers_in
from daemon.local_slack.model import Json
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.own_memory import forget
from tests.journeys.presses import forge, offered, pick
from tests.journeys.problems import PROBLEM, goes_on, parked, script, solver
from tests.journeys.surfaces import shown
from tests.unit.ism_parts import chosen

PICKED = "SELECT author, body, conversation, state FROM inbox WHERE params LIKE '%below%'"
_DAY = 24 * 3_600


def offering(reply: str, answers: str) -> str:
    """An answer in elements whose reply asks, with these answers."""
    return f"{tagged(reply)}\n<short_answers>{answers}</short_answers>"


async def asks(house: House, room: str = "general", answers: str = "Postgres | SQLite | neither yet") -> Json:
    """The soul asks Ada in a room; gives its message."""
    house.model.steps["respond"].append(offering("Which one is it?", answers))
    await house.answered("Ada", room, "hello" if room == "dm" else "@soul hello")
    return (await house.people.posts_by_bot("D0ADA" if room == "dm" else room))[-1]


async def _shows(house: House, ts: str, room: str = "C0GENERAL") -> Json:
    return next(one for one in await house.people.posts_by_bot(room) if one["ts"] == ts)


async def test_a_click_is_heard_as_the_answer_in_that_thread_and_the_buttons_give_way(house: House) -> None:
    question = await asks(house)
    assert offered(question) == ["Postgres", "SQLite", "neither yet"]
    assert said(question) == "Which one is it?"
    assert await pick(house, "Ada", "general", question["ts"], 1) == "accepted"
    answer = await house.reply("general", "Echo: SQLite")
    assert answer["thread_ts"] == question["thread_ts"]
    await house.idle()
    after = await _shows(house, question["ts"])
    assert said(after) == "Which one is it?\n\n\u2713 SQLite"
    assert offered(after) == []
    assert any(block["type"] == "context_actions" for block in after["blocks"]), "it still can be judged"
    [row] = await house.rows(PICKED)
    assert tuple(row)[:2] == ("U0ADA", "SQLite")
    assert (row["conversation"], row["state"]) == (f"minoan/T0LOCAL/C0GENERAL/{question['thread_ts']}", "answered")
    [turn] = await house.rows("SELECT author, speaker FROM turns WHERE body = 'SQLite'")
    assert tuple(turn) == ("U0ADA", "person")


async def test_in_direct_messages_an_answer_stands_below_and_what_is_offered_goes_with_its_person(house: House) -> None:
    question = await asks(house, "dm")
    await pick(house, "Ada", "dm", question["ts"], 0)
    answer = await house.reply("D0ADA", "Echo: Postgres")
    assert answer["thread_ts"] == question["thread_ts"]
    house.model.steps["respond"].append(offering("Which mill is it?", "the old one | the new one"))
    await house.answered("Ada", "dm", "hello")
    assert await house.rows("SELECT 1 FROM outbox WHERE answers <> ''")
    await forget(house)
    await house.idle()
    assert await house.rows("SELECT 1 FROM outbox WHERE answers <> ''") == []


async def test_only_the_person_asked_answers_by_a_button_and_others_are_told_so_alone(house: House) -> None:
    mine = await house.say("Ben", "general", "nothing for the soul")
    question = await asks(house)
    assert await pick(house, "Ben", "general", question["ts"], 0) == "ignored"
    assert "had no effect" in await shown(house, "Ben", "C0GENERAL")
    await house.answered("Ben", "general", "@soul I'd say the second", thread=question["thread_ts"])
    await house.idle()
    assert offered(await _shows(house, question["ts"])) == ["Postgres", "SQLite", "neither yet"]
    for person, ts, action, room in (
        ("Ada", mine, "soul_answer_0", "C0GENERAL"),
        ("Ada", question["ts"], "soul_answer_0", "D0ADA"),
        ("Gus", question["ts"], "soul_answer_0", "C0GENERAL"),
        ("Ada", "1.000000", "soul_answer_0", "C0GENERAL"),
    ):
        assert await forge(house, person, ts, action, room) == "ignored", (person, ts, room)
    await house.idle()
    assert await house.rows(PICKED) == []
    assert await forge(house, "Ada", question["ts"], "soul_answer_4") == "ignored"
    await house.idle()
    assert await house.rows(PICKED) == []
    assert len(await house.replies("general")) == 2


async def test_two_clicks_and_a_restart_make_one_answer(house: House) -> None:
    question = await asks(house)
    assert await pick(house, "Ada", "general", question["ts"], 0) == "accepted"
    assert await forge(house, "Ada", question["ts"], "soul_answer_1") == "ignored"
    await house.reply("general", "Echo: Postgres")
    await house.idle()
    await house.restart()
    assert await forge(house, "Ada", question["ts"], "soul_answer_0") == "ignored"
    await house.idle()
    assert [row["body"] for row in await house.rows(PICKED)] == ["Postgres"]
    assert len(await house.replies("general")) == 2


@pytest.mark.slow
async def test_of_two_daemons_one_hears_the_answer(house: House) -> None:
    question = await asks(house)
    await house.start()
    before = await house.people.calls("chat.postMessage")
    assert await house.people.click("Ada", "general", question["ts"], "soul_answer_0")
    await house.row(PICKED)
    await house.reply("general", "Echo: Postgres")
    await house.idle()
    assert [row["body"] for row in await house.rows(PICKED)] == ["Postgres"]
    assert len(await house.replies("general")) == 2
    assert len(await house.people.calls("chat.postMessage")) - len(before) <= 1


async def test_an_answer_in_words_closes_the_buttons_and_after_a_day_nothing_is_offered_any_more(house: House) -> None:
    question = await asks(house)
    await house.answered("Ada", "general", "the one with the elephant", thread=question["thread_ts"])
    await house.idle()
    after = await _shows(house, question["ts"])
    assert (said(after), offered(after)) == ("Which one is it?", [])
    assert await forge(house, "Ada", question["ts"], "soul_answer_0") == "ignored"
    await house.idle()
    assert await house.rows(PICKED) == []
    question = await asks(house)
    house.clock.turn(_DAY)
    assert await pick(house, "Ada", "general", question["ts"], 0) == "ignored"

    async def gone() -> bool | None:
        return not offered(await _shows(house, question["ts"])) or None

    await house.until(gone)
    assert await house.rows(PICKED) == []


async def test_a_problem_that_waits_for_an_answer_goes_on_with_a_click(empty_house: House) -> None:
    await solver(empty_house)
    script(empty_house, chosen(("Ask", "which kiln | the big one | the small one")), external_dialog="Which kiln?")
    await empty_house.say("Ada", "dm", PROBLEM)
    question = await empty_house.reply("D0ADA", "Which kiln?")
    await empty_house.idle()
    assert offered(question) == ["the big one", "the small one"]
    assert await parked(empty_house)
    goes_on(empty_house)
    script(empty_house, chosen("Respond"), enters=False, external_dialog="Then it cools too fast.")
    assert await pick(empty_house, "Ada", "dm", question["ts"], 0) == "accepted"
    answer = await empty_house.reply("D0ADA", "Then it cools too fast.")
    assert answer["thread_ts"] == question["thread_ts"]
    await empty_house.idle()
    assert not await parked(empty_house)
    assert "the big one" in empty_house.last_prompt()


def test_labels_that_are_odd_are_no_buttons_and_equal_answers_are_one() -> None:
    odd = (
        "only one",
        "a|b|c|d|e|f",
        "yes | <@U0BEN> decides",
        "yes | <!channel>",
        "yes | @here all",
        "yes | https://evil.example",
        "yes | **no**",
        "yes | forget me",
        "yes | Not now",
        "yes | !stop",
        "yes | stop",
        "yes | /soul forget",
        "yes | " + "n" * 61,
        "yes | n\u202eo",
        "yes | n\u200bo\u200b",
        "yes | \U000e0041",
        "yes | ...",
        "|".join(["yes"] * 400),
        "Yes | yes | YES",
        "",
        "|||||",
    )
    assert {one: short_answers_in(one) for one in odd} == dict.fromkeys(odd, ())
    assert short_answers_in(" Yes | yes |No|  later  on | ") == ("Yes", "No", "later on")


async def test_where_slack_takes_no_blocks_the_answers_stand_in_words(house: House) -> None:
    refusal = {"ok": False, "error": "invalid_blocks"}
    for method in ("chat.stopStream", "chat.update", "chat.postMessage"):
        await house.people.fault(method, body=refusal, times=2)
    house.model.steps["respond"].append(offering("Which one is it?", "Postgres | SQLite"))
    await house.say("Ada", "general", "@soul hello")
    question = await house.reply("general", "SQLite")
    assert str(question["text"]).startswith("Which one is it?")
    assert "Postgres" in str(question["text"])
