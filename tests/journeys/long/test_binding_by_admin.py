"""`soul sessions bind`: the owner of a session is asked in a direct message; one without an owner is bound at once."""

import json
from pathlib import Path

from daemon.core.questions import OVER_MS
from tests.journeys.asking import AskedSession, door, new_key, states
from tests.journeys.binding import BOUND, FOR_ALL, HEAD, put
from tests.journeys.house import House, said
from tests.journeys.problems import NO, buttons, forged, press

MAY = "May I bind your session"


async def begun_thread(house: House) -> str:
    """A thread of Ben's with the soul; gives its ts."""
    ts = await house.say("Ben", "general", "@soul hello")
    await house.settled("general")
    return ts


async def orders(house: House, conversation: str, *options: str, name: str = "ada-api") -> dict[str, object]:
    """The admin binds; gives what the command says."""
    done: dict[str, object] = json.loads(
        await house.command("sessions", "bind", name, conversation, *options, "--json")
    )
    house.clock.turn(3)
    return done


async def asked(house: House) -> str:
    """The ts of the question in Ada's direct messages."""
    post = await house.settled("D0ADA", MAY)
    return str(post["ts"])


async def test_its_owner_is_asked_and_her_click_alone_binds(house: House, session: AskedSession) -> None:
    ts = await begun_thread(house)
    done = await orders(house, ts)
    assert (done["session"], done["everybody"], done["bound"]) == ("ada-api", False, False)
    question = await asked(house)
    post = await house.reply("D0ADA", MAY)
    assert "`ada-api`" in said(post)
    assert "in a channel" in said(post)
    assert len(buttons(post)) == 2
    name = (await house.one("SELECT id FROM approvals"))["id"]
    assert await forged(house, "Ben", "D0ADA", ts=question, value=f"approve:{name}") != "accepted"
    await house.idle()
    assert await house.rows("SELECT * FROM bound_threads") == []
    assert await press(house, "Ada", "D0ADA", question) == "accepted"
    assert said(await house.settled("general", "From now on what")) == BOUND
    await put(house, "Ada", ts, "which migration?")
    assert "which migration?" in (await session.ends_turn()).context
    (row,) = json.loads(await house.command("sessions", "--json"))
    assert (row["bound"], row["waiting"]) == (done["conversation"], 1)
    assert str(done["conversation"]) in await house.command("sessions", "--md")
    assert await forged(house, "Ada", "D0ADA", ts=question, value=f"approve:{name}") != "accepted", "once"
    assert (
        json.loads(await house.command("sessions", "unbind", "ada-api", "--json"))["conversation"]
        == (done["conversation"])
    )
    await house.reply("general", "no longer bound to a session")
    assert await house.rows("SELECT * FROM bound_threads") == []


async def test_what_she_does_not_allow_binds_nothing(house: House, session: AskedSession) -> None:
    ts = await begun_thread(house)
    await orders(house, ts)
    assert await press(house, "Ada", "D0ADA", await asked(house), NO) == "accepted"
    await house.idle()
    await orders(house, ts)
    question = (await house.settled("D0ADA", MAY, count=2))["ts"]
    house.clock.turn(OVER_MS / 1000)
    await house.settled("D0ADA", "Expired")
    name = (await house.rows("SELECT id FROM approvals ORDER BY created_ms DESC"))[0]["id"]
    assert await forged(house, "Ada", "D0ADA", ts=question, value=f"approve:{name}") != "accepted"
    assert await house.rows("SELECT * FROM bound_threads") == []
    assert len(await house.replies("general")) == 1, "nobody there asked for it"


async def test_she_may_allow_it_for_all(house: House, session: AskedSession) -> None:
    ts = await begun_thread(house)
    await orders(house, ts, "--for-everybody")
    post = await house.settled("D0ADA", MAY)
    assert "for everybody" in said(post)
    assert await press(house, "Ada", "D0ADA", post["ts"]) == "accepted"
    assert said(await house.settled("general", "From now on what")) == FOR_ALL
    await put(house, "Ben", ts, "which migration?")
    assert "which migration?" in (await session.ends_turn()).context


async def test_direct_messages_of_another_are_not_bound_and_her_own_are(house: House, session: AskedSession) -> None:
    await house.answered("Ben", "dm", "hello")
    await house.answered("Ada", "dm", "hello")
    bens = await house.people.open_dm("Ben")
    await orders(house, f"{bens}/")
    await house.events.until("threads.not_bound")
    await house.idle()
    assert await house.rows("SELECT * FROM approvals") == []
    await orders(house, "D0ADA/")
    assert await press(house, "Ada", "D0ADA", await asked(house)) == "accepted"
    await house.settled("D0ADA", "From now on what")
    asked_ts = await house.say("Ada", "dm", "which migration?")
    await house.final_state(asked_ts)
    assert "which migration?" in (await session.ends_turn()).context
    await session.goes_on("0042.")
    answer = await house.reply("D0ADA", "0042.")
    assert (said(answer), answer["thread_ts"]) == (f"{HEAD}\n\n0042.", asked_ts)
    await house.say("Ada", "dm", "and in its thread?", thread=asked_ts)
    await house.row("SELECT 1 FROM shared_messages WHERE kind <> 'answer'", count=2)
    assert await states(house) == ["answered", "waiting"], "threads in bound direct messages are bound"


async def test_a_session_without_a_person_is_bound_at_once(house: House, tmp_path: Path) -> None:
    ts = await begun_thread(house)
    async with door(house) as url:
        session = await AskedSession.begun(house, tmp_path, url)
        session.client.env["SOUL_KEY"] = await new_key(house, "")
        await session.client.run({"session_id": "s9", "hook_event_name": "SessionStart", "source": "startup"})
        (name,) = [
            row["name"] for row in json.loads(await house.command("sessions", "--json")) if row["person"] is None
        ]
        done = await orders(house, ts, "--for-everybody", name=str(name))
        assert done["bound"] is True
        await house.reply("general", "My admin has bound this thread")
        await put(house, "Ben", ts, "which migration?")
        stop = {"session_id": "s9", "hook_event_name": "Stop", "prompt_id": "p1", "stop_hook_active": False}
        assert "which migration?" in (await session.client.run(stop)).context
        await session.client.run(stop | {"stop_hook_active": True, "last_assistant_message": "0042."})
        assert said(await house.reply("general", "0042.")) == f"*the admin's session `{name}`:*\n\n0042."
