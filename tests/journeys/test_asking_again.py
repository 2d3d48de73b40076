"""A session that was asked: any soul may have asked, what it had read and lost it reads anew, and its owner forgets."""

import subprocess
from pathlib import Path

from tests.journeys.asking import MAY, WORDS, AskedSession, allowed, asks, door, forgotten, states
from tests.journeys.house import House, said
from tests.journeys.problems import forged, press
from tests.journeys.souls import write_soul


async def test_a_click_counts_whichever_soul_asks_the_owner(empty_house: House, tmp_path: Path) -> None:
    house = empty_house
    write_soul(house.settings.home, more="subprocesses = []\n")
    write_soul(house.settings.home, "rolf", 'subprocesses = []\nchannels = ["C0GENERAL"]\n', shown="Rolf")
    await house.start(name="tess", souls=("rolf",))
    async with door(house) as url:
        session = await AskedSession.begun(house, tmp_path, url)
        await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
        ts = str((await house.reply("D0ADA", MAY))["ts"])
        await house.idle()
        name = (await house.one("SELECT id FROM approvals WHERE soul = 'rolf'"))["id"]
        assert await forged(house, "Ben", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
        assert await states(house) == ["held"]
        assert await press(house, "Ada", "D0ADA", ts) == "accepted"
        await house.reply("general", "It is allowed")
        assert WORDS in (await session.ends_turn()).context
        await session.goes_on("0042.")
        assert (await house.reply("general", "0042."))["username"] == "Rolf"


async def test_a_session_that_was_killed_while_it_answered_reads_the_question_anew(
    house: House, session: AskedSession, program: subprocess.Popen[bytes]
) -> None:
    session.client.env["CLAUDE_PID"] = str(program.pid)
    await session.client.report("SessionStart", source="resume")
    await asks(house)
    await allowed(house)
    assert WORDS in (await session.ends_turn()).context
    program.kill()
    program.wait()
    house.clock.turn(3)
    assert "If it comes back within a day" in said(await house.reply("general", "is gone"))
    del session.client.env["CLAUDE_PID"]
    await session.client.report("SessionStart", source="resume")
    assert WORDS in (await session.ends_turn("p3")).context
    await session.goes_on("0042.", "p3")
    await house.reply("general", "0042.")
    await house.idle()
    assert await states(house) == ["answered"]
    assert len([one for one in await house.replies("general") if "0042." in one]) == 1


async def test_what_the_turn_before_clear_left_open_is_read_anew(house: House, session: AskedSession) -> None:
    await asks(house)
    await allowed(house)
    assert WORDS in (await session.ends_turn()).context
    await session.client.run({"session_id": "s2", "hook_event_name": "SessionStart", "source": "clear"})
    ran = await session.client.run(
        {"session_id": "s2", "hook_event_name": "Stop", "prompt_id": "q", "stop_hook_active": False}
    )
    assert WORDS in ran.context


async def test_an_owner_who_is_forgotten_leaves_no_word_of_an_answer(house: House, session: AskedSession) -> None:
    await asks(house)
    await allowed(house)
    await session.ends_turn()
    await session.goes_on("ADAS-ANSWER")
    await house.reply("general", "ADAS-ANSWER")
    await house.idle()
    await forgotten(house, "Ada")
    left = [
        tuple(row)
        for table in ("shared_messages", "outbox", "inbox", "turns")
        for row in await house.rows(f"SELECT * FROM {table}")
    ]
    assert "ADAS-ANSWER" not in str(left)
    assert WORDS in str(left), "what Ben asked is Ben's"
