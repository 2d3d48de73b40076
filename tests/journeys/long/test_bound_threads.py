"""*bind ada-api here*: what people say in that thread goes to Ada's session, and its answers stand there."""

from daemon.core.questions import KEPT_MS, LATE_MS
from tests.journeys.asking import AskedSession, states
from tests.journeys.binding import BOUND, FOR_ALL, HEAD, bound_thread, put
from tests.journeys.house import House, said
from tests.journeys.problems import buttons, press

ENDED = (
    "This thread is no longer bound to a session, and I answer here again. Messages that the session had not read are "
    "dropped."
)


async def test_the_owners_words_go_to_the_session_until_anybody_unbinds(house: House, session: AskedSession) -> None:
    ts = await house.say("Ada", "general", "@soul bind `ada-api` here")
    assert said(await house.reply("general", "From now on")) == BOUND
    await put(house, "Ada", ts, "which migration renames tenant_id?")
    read = (await session.ends_turn()).context
    assert read.startswith("Your user, Ada")
    assert "which migration renames tenant_id?" in read
    assert "change nothing for it" in read
    await session.goes_on("It is 0042.")
    answer = await house.reply("general", "0042")
    assert (await session.ends_turn("p2")).context == "", "once"
    await house.idle()
    assert (said(answer), answer["thread_ts"]) == (f"{HEAD}\n\nIt is 0042.", ts)
    assert house.prompts == [], "no model is called"
    assert await house.replies("general") == [BOUND, said(answer)]
    assert await house.answered("Ben", "general", "@soul and what do you say?", thread=ts) == (
        "Echo: which migration renames tenant_id? + It is 0042. + and what do you say?"
    ), "the soul knows what was said"
    await put(house, "Ada", ts, "not read any more")
    await house.say("Ben", "general", "unbind", thread=ts)
    assert said(await house.settled("general", "no longer bound to a session")) == ENDED
    assert (await session.ends_turn("p3")).context == ""
    assert await states(house) == ["answered", "dropped"]
    assert await house.answered("Ada", "general", "@soul are you there?", thread=ts) == (
        "Echo: not read any more + are you there?"
    )
    assert await house.answered("Ada", "general", "@soul unbind", thread=ts) == (
        "This thread is bound to no session; I answer here."
    )


async def test_others_speak_to_the_soul_unless_it_is_bound_for_all(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house)
    await house.say("Ben", "general", "among ourselves", thread=ts)
    await house.acknowledged()
    await house.idle()
    assert await states(house) == []
    assert house.prompts == [], "what addresses nobody is for nobody"
    assert await house.answered("Ada", "general", "@soul bind ada-api here for everybody", thread=ts) == FOR_ALL
    await put(house, "Ben", ts, "how many tables are there?")
    read = (await session.ends_turn()).context
    assert read.startswith("Ben says this to this session in a Slack thread that is bound to it")
    assert "Ben is not your user" in read
    assert "how many tables are there?" in read
    await session.goes_on("12.")
    assert said(await house.reply("general", "12.")) == f"{HEAD}\n\n12."
    assert await house.rows("SELECT * FROM approvals") == [], "no click is needed"
    await put(house, "Ben", ts, "and views?")
    assert await house.answered("Ada", "general", "bind ada-api here", thread=ts) == BOUND
    assert (await session.ends_turn("p2")).context == "", "it is not for everybody any more"


async def test_tasks_and_words_to_an_unwatched_session_need_a_click(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house, "bind ada-api here for everybody")
    await house.answered("Ben", "general", "hand ada-api: clean up", thread=ts)
    assert await states(house) == ["held"]
    await put(house, "Ben", ts, "count all rows")
    await put(house, "Ada", ts, "list all tables")
    await session.client.report("UserPromptSubmit", permission_mode="bypassPermissions", prompt_id="p1")
    await house.reply("general", "now asks no permission for what it does")
    read = (await session.client.report("Stop", prompt_id="p1", stop_hook_active=False)).context
    assert "list all tables" in read
    assert "count all rows" not in read, "what waited when the session stopped asking is not read there"
    await session.goes_on("Listed.")
    await house.settled("general", "Listed.")
    assert await states(house) == ["held", "dropped", "answered"]
    for _ in range(2):
        assert "I ask Ada Lovelace" in await house.answered("Ben", "general", "drop all tables", thread=ts)
    asked = await house.reply("D0ADA", "asks no permission for what it does", count=2)
    assert len(buttons(asked)) == 2
    assert (await session.ends_turn("p2")).context == ""
    assert await press(house, "Ada", "D0ADA", asked["ts"]) == "accepted"
    await house.reply("general", "It is allowed")
    assert "drop all tables" in (await session.ends_turn("p3")).context
    await put(house, "Ada", ts, "and mine")
    assert (await states(house))[3:] == ["held", "delivered", "waiting"], "her own words need none"


async def test_only_the_owner_binds_and_phrases_are_obeyed_there(house: House, session: AskedSession) -> None:
    refused = "Only the person who runs `ada-api` can bind it to a thread."
    assert await house.answered("Ben", "general", "@soul bind ada-api here for everybody") == refused
    assert await house.answered("Ada", "general", "@soul bind ada-apy here") == (
        "I know of no session `ada-apy` that could be asked. Did you mean `ada-api`?"
    )
    assert await house.answered("Ada", "general", "@soul bind key-map here") == "Echo: bind key-map here"
    ts = await bound_thread(house)
    assert "ada-api" in await house.answered("Ada", "general", "sessions", thread=ts)
    await put(house, "Ada", ts, "why")
    assert "why" in (await session.ends_turn()).context, "what asks about who speaks goes to the session"
    assert await states(house) == ["delivered"]
    await session.client.run({"session_id": "s2", "hook_event_name": "SessionStart", "source": "startup"})
    assert await house.answered("Ada", "general", "bind ada-session here", thread=ts) == (
        "This thread is bound to another session. Say *unbind* first."
    )
    assert len(await house.rows("SELECT * FROM bound_threads")) == 1


async def test_waiting_words_are_read_as_they_are_unless_bound_elsewhere(house: House, session: AskedSession) -> None:
    first = await bound_thread(house)
    edited, deleted = await put(house, "Ada", first, "the frist"), await put(house, "Ada", first, "the second")
    await house.people.edit("Ada", "general", edited, "the first")
    await house.noticed(house.people.delete("Ada", "general", deleted))
    assert "the first" in (await session.ends_turn()).context
    await session.goes_on("Read.")
    await house.reply("general", "Read.")
    assert (await session.ends_turn("p2")).context == ""
    assert await states(house) == ["answered", "dropped"]
    await put(house, "Ada", first, "for the first")
    second = await house.say("Ada", "general", "@soul bind ada-api here")
    moved = await house.reply("general", "belongs to another thread now")
    assert moved["thread_ts"] == first
    await house.settled("general", "From now on what", count=2)
    await put(house, "Ada", second, "for the second")
    read = (await session.ends_turn("p3")).context
    assert "for the second" in read
    assert "for the first" not in read
    assert await house.answered("Ada", "general", "@soul and here?", thread=first) == (
        "Echo: the first + Read. + for the first + and here?"
    )


async def test_a_session_that_ends_is_told_once_and_what_is_said_waits_a_day_for_its_resume(
    house: House, session: AskedSession
) -> None:
    ts = await bound_thread(house)
    await session.client.report("SessionEnd", reason="other")
    house.clock.turn(3)
    await house.reply("general", "The session that this thread is bound to is gone.")
    await put(house, "Ada", ts, "are you back?")
    house.clock.turn(LATE_MS / 1000 + 3)
    await house.idle()
    assert len(await house.replies("general")) == 2, "once"
    await session.client.report("SessionStart", source="resume")
    assert "are you back?" in (await session.ends_turn()).context
    await session.goes_on("Yes.")
    assert said(await house.reply("general", "Yes.")) == f"{HEAD}\n\nYes."


async def test_one_not_back_within_a_day_leaves_the_thread_to_the_soul(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house)
    await session.client.report("SessionEnd", reason="logout")
    house.clock.turn(3)
    await house.reply("general", "is gone. What you say to it here waits for a day")
    await put(house, "Ada", ts, "are you back?")
    house.clock.turn(KEPT_MS / 1000 + 3)
    await house.settled("general", "did not come back within a day")
    assert await states(house) == ["dropped"]
    assert await house.answered("Ada", "general", "@soul then you", thread=ts) == "Echo: are you back? + then you"
    await session.client.report("SessionStart", source="resume")
    assert (await session.ends_turn()).context == "", "it is revived without the thread"
    assert await house.rows("SELECT * FROM bound_threads") == []


async def test_clear_takes_the_thread_along_and_a_fork_starts_without(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house)
    await put(house, "Ada", ts, "before the clear")
    await session.client.run({"session_id": "s3", "hook_event_name": "SessionStart", "source": "fork"})
    assert len(await house.rows("SELECT * FROM bound_threads WHERE session = 's1'")) == 1
    await session.client.run({"session_id": "s1", "hook_event_name": "SessionStart", "source": "resume"})
    await session.client.run({"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "clear"})
    house.clock.turn(3)
    await house.idle()
    await session.client.run({"session_id": "s2", "hook_event_name": "SessionStart", "source": "clear"})
    await put(house, "Ada", ts, "after the clear")
    stop = {"session_id": "s2", "hook_event_name": "Stop", "stop_hook_active": False}
    assert "before the clear" in (await session.client.run(stop | {"prompt_id": "q1"})).context
    answer = {"stop_hook_active": True, "last_assistant_message": "Yes."}
    await session.client.run(stop | {"prompt_id": "q1"} | answer)
    await house.reply("general", "Yes.")
    assert "after the clear" in (await session.client.run(stop | {"prompt_id": "q2"})).context
    await house.idle()
    assert await house.replies("general") == [BOUND, f"{HEAD}\n\nYes."], "no one hears that it was gone"
