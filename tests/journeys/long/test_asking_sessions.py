"""*ask ada-api: …*: the owner's click, the session's own hook, and the answer in the thread, word for word and once."""

import asyncio
from pathlib import Path

from daemon.core.questions import LATE_MS, LONGEST_ANSWER, MOST_WAITING, OVER_MS
from daemon.core.sessions import Visibility
from tests.journeys.asking import MAY, WORDS, AskedSession, allowed, asks, door, forgotten, new_key, question, states
from tests.journeys.house import House, said
from tests.journeys.problems import NO, buttons, forged, press
from tests.journeys.souls import write_soul

ASKED = "I ask Ada Lovelace in a direct message whether `ada-api` may have that. Either way I say so here."
ALLOWED = "It is allowed: `ada-api` reads it as soon as it is free. Its answer comes here."
REFUSED = "It was not allowed: `ada-api` gets nothing of it."


HEAD = "*Ada Lovelace's session `ada-api`:*"


async def test_a_question_is_allowed_answered_and_stands_in_the_thread(house: House, session: AskedSession) -> None:
    ts = await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
    assert said(await house.reply("general", count=1)) == ASKED
    asked = await house.settled("D0ADA", MAY)
    assert f"Ben (`{await house.person('Ben')}`)" in said(asked)
    assert "in a channel:" in said(asked)
    assert f"```\n{WORDS}\n```" in said(asked)
    assert "All who are there read its answer." in said(asked)
    assert len(buttons(asked)) == 2
    assert (await session.ends_turn()).context == "", "nothing goes to the session before the click"
    assert await press(house, "Ada", "D0ADA", asked["ts"]) == "accepted"
    await house.reply("general", ALLOWED)
    read = (await session.ends_turn("p2")).context
    assert WORDS in read
    assert read.startswith("Ben asks this session something")
    assert "Ben is not your user" in read
    assert "change nothing for it" in read
    assert (await session.goes_on("It is 0042_tenants.", "p2")).context == ""
    answer = await house.settled("general", "0042_tenants")
    assert (said(answer), answer["thread_ts"]) == (f"{HEAD}\n\nIt is 0042_tenants.", ts)
    assert house.prompts == [], "no model is called"
    assert await states(house) == ["answered"]
    await session.goes_on("And again.", "p2")
    await house.answered("Ben", "general", "@soul so which one was it?", thread=ts)
    assert await house.replies("general") == [ASKED, ALLOWED, said(answer), (await house.replies("general"))[-1]]
    assert "It is 0042_tenants." in house.last_prompt()
    assert [
        row["author"][:8] for row in await house.rows("SELECT author FROM turns WHERE body LIKE 'It is 0042%'")
    ] == ["session."]
    people = {row["person"] for row in await house.rows("SELECT person FROM user_models")}
    assert not any(one.startswith("session.") for one in people), "it is no evidence about people"


async def test_the_owners_own_words_need_no_leave_also_in_german(house: House, session: AskedSession) -> None:
    assert await asks(house, "Ada", "dm") == "`ada-api` reads it as soon as it is free. Its answer comes here."
    assert await house.rows("SELECT * FROM approvals") == []
    read = (await session.ends_turn()).context
    assert read.startswith("Your user, Ada")
    assert "It is a question" in read
    await session.goes_on("0042.")
    assert said(await house.reply("D0ADA", "0042."))
    await house.answered("Ada", "dm", "bitte gib `ada-api`: räum den Ordner auf")
    assert "It is a task" in (await session.ends_turn("p2")).context
    await session.goes_on("done", "p2")
    await house.reply("D0ADA", "done")
    await house.answered("Ada", "dm", "Frag ada-api: wie viele Tests gibt es?")
    assert "It is a question" in (await session.ends_turn("p3")).context


async def test_a_click_counts_whichever_soul_asks_the_owner(empty_house: House, tmp_path: Path) -> None:
    write_soul(empty_house.settings.home, more="subprocesses = []\n")
    write_soul(empty_house.settings.home, "rolf", 'subprocesses = []\nchannels = ["C0GENERAL"]\n', shown="Rolf")
    await empty_house.start(name="tess", souls=("rolf",))
    async with door(empty_house) as url:
        session = await AskedSession.begun(empty_house, tmp_path, url)
        await empty_house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
        ts = str((await empty_house.settled("D0ADA", MAY))["ts"])
        name = (await empty_house.one("SELECT id FROM approvals WHERE soul = 'rolf'"))["id"]
        assert await forged(empty_house, "Ben", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
        assert await states(empty_house) == ["held"]
        assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
        await empty_house.reply("general", "It is allowed")
        assert WORDS in (await session.ends_turn()).context
        await session.goes_on("0042.")
        assert (await empty_house.reply("general", "0042."))["username"] == "Rolf"


async def test_a_wrong_click_lets_nothing_through_and_a_refusal_is_said(house: House, session: AskedSession) -> None:
    assert await asks(house) == ASKED
    ts = await question(house)
    name = (await house.one("SELECT id FROM approvals"))["id"]
    assert await forged(house, "Ben", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
    assert await forged(house, "Ada", "C0GENERAL", ts=ts, value=f"approve:{name}") != "accepted"
    assert await states(house) == ["held"]
    assert (await session.ends_turn()).context == ""
    assert await press(house, "Ada", "D0ADA", ts, NO) == "accepted"
    assert said(await house.settled("general", "not allowed")) == REFUSED
    assert await forged(house, "Ada", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
    await house.idle()
    assert (await session.ends_turn("p2")).context == ""
    assert (await states(house), await house.replies("general")) == (["refused"], [ASKED, REFUSED])


async def test_what_no_one_decides_expires_and_a_late_click_is_void(house: House, session: AskedSession) -> None:
    """So it is with a task, and with a session that asks no permission, which need a click each time."""
    await session.client.report("UserPromptSubmit", permission_mode="bypassPermissions")
    for _ in range(2):
        assert await asks(house, how="hand", words="clean up") == ASKED
    await house.reply("D0ADA", "May I hand a task to your session `ada-api`?", count=2)
    asked = await house.settled("D0ADA", "asks no permission for what it does", count=2)
    assert await states(house) == ["held", "held"]
    name = (await house.one("SELECT id FROM approvals ORDER BY created_ms DESC"))["id"]
    house.clock.turn(OVER_MS / 1000)
    assert "not allowed in time" in said(await house.settled("general", "not allowed", count=2))
    assert await forged(house, "Ada", "D0ADA", ts=asked["ts"], value=f"approve:{name}") != "accepted"
    assert await states(house) == ["expired", "expired"]
    assert (await session.ends_turn()).context == ""


async def test_no_answer_is_said_once_and_the_question_ends_after_a_day(house: House, session: AskedSession) -> None:
    await asks(house)
    await allowed(house)
    house.clock.turn(LATE_MS / 1000 + 1)
    await house.settled("general", "has not answered yet")
    house.clock.turn(LATE_MS / 1000)
    await house.idle()
    await session.ends_turn()
    house.clock.turn(OVER_MS / 1000)
    await house.settled("general", "the question is over")
    await session.goes_on("too late")
    await house.idle()
    replies = await house.replies("general")
    assert [one for one in replies if "not answered yet" in one or "gone" in one] == [replies[2]]
    assert (len(replies), await states(house)) == (4, ["expired"])


async def test_a_session_that_ends_is_said_once_and_what_it_had_read_or_not_is_answered_when_it_is_back(
    house: House, session: AskedSession
) -> None:
    await asks(house)
    await allowed(house)
    assert WORDS in (await session.ends_turn()).context
    await asks(house, "Ada", "dm", "and its index?")
    await session.client.report("SessionEnd", reason="other")
    house.clock.turn(3)
    assert "If it comes back within a day" in said(await house.reply("general", "is gone"))
    assert "`ada-api` is gone and has not answered." in said(await house.reply("D0ADA", "is gone"))
    house.clock.turn(LATE_MS / 1000)
    await house.idle()
    assert len(await house.replies("general")) == 3
    await session.client.report("SessionStart", source="resume")
    assert WORDS in (await session.ends_turn("p3")).context
    await session.goes_on("0042.", "p3")
    assert said(await house.reply("general", "0042.")) == f"{HEAD}\n\n0042."
    assert "and its index?" in (await session.ends_turn("p4")).context
    assert await states(house) == ["answered", "delivered"]


async def test_hostile_answers_are_inert_redacted_cut_and_in_order(house: House, session: AskedSession) -> None:
    await asks(house)
    await allowed(house)
    await session.ends_turn()
    key = "sk-" + "a" * 40
    hostile = (
        f"\x00<!channel> <@U0ADA> [click](https://evil.example/x) {key} @everyone\x1b[31m\ud800 " + "word " * 20_000
    )
    await session.goes_on(hostile)
    await house.settled("general", "session `ada-api`:")
    parts = (await house.replies("general"))[2:]
    whole = "".join(parts)
    assert len(parts) > 1
    assert len(whole) < LONGEST_ANSWER + 500
    assert key not in whole
    posts = [call["args"] for call in await house.posting_calls()]
    for wrong in ("<!channel>", "<@U0ADA>", "(https://evil.example", "@everyone", "\x00", "\x1b"):
        assert wrong not in str(posts[-len(parts) :]), wrong


async def test_a_poll_ends_with_a_note_which_its_own_key_answers_once(house: House, session: AskedSession) -> None:
    poll = asyncio.create_task(session.ask("GET", "/api/sessions/s1/notes?wait=25"))
    await asks(house)
    await allowed(house)
    (note,) = (await poll).json
    assert (note["kind"], note["sender"]) == ("question", "Ben")
    assert WORDS in note["text"]
    assert (await session.ends_turn()).context == "", "it was fetched already"
    assert tuple(await house.one("SELECT how, state FROM shared_messages")) == ("fetch", "delivered")
    path = f"/api/sessions/s1/notes/{note['id']}/answer"
    for key in (await new_key(house, "U0BEN"), await new_key(house), await new_key(house, "")):
        assert (await session.ask("GET", "/api/sessions/s1/notes", key)).status == 404
        assert (await session.ask("POST", path, key, json={"text": "stolen"})).status == 404
    assert (await session.ask("GET", "/api/sessions/s1/notes?wait=26")).status == 422
    got = await asyncio.gather(*(session.ask("POST", path, json={"text": f"0042 ({n})"}) for n in range(4)))
    assert sorted(one.status for one in got) == [204, 409, 409, 409]
    await session.goes_on("0043")
    await house.settled("general", "0042 (")
    assert len(await house.replies("general")) == 3
    assert (await session.ask("GET", "/api/sessions/s1/notes")).json == []
    for bad in ("", "x" * (LONGEST_ANSWER + 1), "a\x00b"):
        assert (await session.ask("POST", path, json={"text": bad})).status == 422


async def test_a_wrong_name_gets_the_nearest_and_hidden_ones_are_not_there(house: House, session: AskedSession) -> None:
    assert await house.answered("Ben", "general", f"@soul ask ada-apy: {WORDS}") == (
        "I know of no session `ada-apy` that could be asked. Did you mean `ada-api`?"
    )
    assert "Did you mean `ada-api`?" in await house.answered("Ben", "general", "@soul ask ada-web: which one?")
    assert house.prompts == []
    words = "ask Anne-Marie: what do you think?"
    assert await house.answered("Ben", "general", f"@soul {words}") == f"Echo: {words}"
    session.client.env["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    await session.client.report("UserPromptSubmit")
    thought = f"Echo: ask ada-api: {WORDS}"
    assert await asks(house) == thought, "no session is near: they are words like any other"
    session.client.env |= {
        "CLAUDE_CODE_SESSION_ATTENDED": "1",
        "SOUL_KEY": await new_key(house, visibility=Visibility.HIDDEN),
    }
    await session.client.report("UserPromptSubmit")
    assert await asks(house) == thought
    assert await house.rows("SELECT * FROM shared_messages") == []


async def test_where_a_guest_reads_by_now_no_answer_is_shown_or_asked_for(house: House, session: AskedSession) -> None:
    await asks(house)
    await allowed(house)
    await session.ends_turn()
    await house.guest()
    await session.goes_on("SECRET")
    await house.settled("general", "others can read here now")
    assert "SECRET" not in str(await house.posting_calls())
    assert await house.rows("SELECT * FROM turns WHERE body LIKE '%SECRET%'") == []
    assert "all readers are full members" in await asks(house)
    assert len(await states(house)) == 1


async def test_a_lost_hand_out_is_made_again_and_ten_are_the_most(house: House, session: AskedSession) -> None:
    await asks(house, "Ada", "dm")
    now = house.clock.now_ms()
    hook = {"session_id": "s1", "hook_event_name": "Stop", "prompt_id": "p1"}
    body = {"id": "e1", "sent_ms": now, "hook": hook}
    assert (await session.ask("POST", "/api/sessions/events", json=body)).json["note"] is not None
    assert (await session.ask("POST", "/api/sessions/events", json=body | {"now_ms": now + 900})).json["note"] is None
    assert await states(house) == ["waiting"]
    assert WORDS in (await session.ends_turn("p2")).context
    for number in range(1, MOST_WAITING):
        assert "reads it as soon as" in await asks(house, "Ada", "dm", f"number {number}?")
    assert "can't be asked more for now" in await asks(house, "Ada", "dm", "one more?")
    assert len(await states(house)) == MOST_WAITING


async def test_forgetting_leaves_no_word_of_the_question_or_of_the_answer(house: House, session: AskedSession) -> None:
    await asks(house, words="BENS-WORDS")
    await allowed(house)
    await session.ends_turn()
    await session.goes_on("ADAS-ANSWER")
    await house.settled("general", "ADAS-ANSWER")

    async def left() -> str:
        tables = ("shared_messages", "outbox", "inbox", "turns", "approvals")
        return str([tuple(row) for table in tables for row in await house.rows(f"SELECT * FROM {table}")])

    await forgotten(house, "Ada")
    assert "ADAS-ANSWER" not in await left()
    assert "BENS-WORDS" in await left(), "what Ben asked is Ben's"
    await forgotten(house, "Ben")
    assert "BENS-WORDS" not in await left()
