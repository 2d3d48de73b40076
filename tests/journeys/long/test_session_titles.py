"""Each thread of direct messages that is answered gets a title: the person's own first words, once."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.model import Json
from tests.given import CLOSING, OPENING
from tests.journeys.house import House

QUESTION = "Hello! What is the limit of the export API? I need it today."
TITLE = "Hello! What is the limit of the export API?"


async def titles(house: House) -> dict[str, str]:
    """The titles of all sessions, by thread."""
    return {one["thread_ts"]: one["title"] for one in (await house.people.state())["sessions"]}


async def titled(house: House, thread: str) -> str:
    """Wait until a thread has a title; gives it."""

    async def look() -> str | None:
        return (await titles(house)).get(thread) or None

    return await house.until(look)


async def over(house: House) -> None:
    """Wait until no title is due."""
    await house.no_row("SELECT 1 FROM session_titles WHERE state = 'due'")


async def renames(house: House) -> list[Json]:
    """The calls that set a title."""
    named = [call["args"] for call in await house.people.calls("agents.sessions.rename")]
    made = [call["args"] for call in await house.people.calls("agents.sessions.setStatus")]
    return [args for args in (*named, *made) if args.get("title")]


async def test_the_first_words_name_the_session_and_what_a_person_calls_it_since_stays(house: House) -> None:
    ts = await house.say("Ada", "dm", QUESTION)
    assert await titled(house, ts) == TITLE
    await over(house)
    before = len(await renames(house))
    await house.answered("Ada", "dm", "And what of the import?", thread=ts)
    await over(house)
    assert await titles(house) == {ts: TITLE}
    assert len(await renames(house)) == before
    [row] = await house.rows("SELECT message, state FROM session_titles")
    assert tuple(row) == ("", "over")
    await house.people.rename_session("Ada", "dm", ts, "Export, again")
    await house.answered("Ada", "dm", "And what of the export?", thread=ts)
    await over(house)
    assert await titles(house) == {ts: "Export, again"}


async def test_a_streamed_session_is_named_as_well_and_stays_active(house: House) -> None:
    flow = house.flow()
    ts = await house.say("Ada", "dm", QUESTION)
    await flow.asked.wait()
    flow.say(OPENING, "First words of a long reply that are enough to be shown at once: more than eighty characters. ")
    await house.draft("D0ADA")
    flow.end("And the rest.", CLOSING)
    assert await titled(house, ts) == TITLE
    await house.idle()
    [session] = (await house.people.state())["sessions"]
    assert session["status"] == "active"


async def test_an_answer_to_what_the_soul_said_by_itself_names_the_session_too(house: House) -> None:
    await house.people.open_dm("Ada")
    slack = AsyncWebClient(house.workspace.bot_token, house.workspace.api_url)
    own = str((await slack.chat_postMessage(channel="D0ADA", text="The kiln is cold by now."))["ts"])
    await house.answered("Ada", "dm", "Then please open it for me.", thread=own)
    assert await titled(house, own) == "Then please open it for me"


async def test_a_channel_gets_no_title_and_what_has_no_own_words_one_of_the_house(house: House) -> None:
    await house.answered("Ada", "general", "@soul What is the limit of the export API?")
    await over(house)
    assert not await renames(house)
    assert not await house.rows("SELECT 1 FROM session_titles")
    await house.people.add_person("Dora", locale="de-DE")
    await house.people.open_dm("Dora")
    ts = await house.say("Dora", "dm", "> Ben schrieb: alles kaputt")
    assert await titled(house, ts) == "Was du mir gezeigt hast"


async def test_a_refused_title_harms_nothing_and_is_not_tried_again(house: House) -> None:
    await house.people.fault("agents.sessions.rename", body={"ok": False, "error": "access_denied"})
    ts = await house.say("Ada", "dm", QUESTION)
    await house.events.until("session.untitled")
    await over(house)
    await house.people.clear_faults()
    assert not (await titles(house)).get(ts)
    assert (await house.answered("Ada", "dm", "and now?", thread=ts)) == "Echo: and now?"


@pytest.mark.slow
async def test_after_a_kill_before_the_title_another_daemon_sets_it(house: House) -> None:
    await house.people.fault("agents.sessions.rename", delay=60.0)
    ts = await house.say("Ada", "dm", QUESTION)
    await house.when(lambda: house.people.met("agents.sessions.rename"))
    await house.cut()
    await house.people.clear_faults()
    house.clock.turn(90)
    await house.start()
    assert await titled(house, ts) == TITLE


@pytest.mark.slow
async def test_two_daemons_set_it_once(house: House) -> None:
    await house.start()
    ts = await house.say("Ada", "dm", QUESTION)
    assert await titled(house, ts) == TITLE
    await over(house)
    calls = [call["args"]["title"] for call in await house.people.calls("agents.sessions.rename")]
    assert calls == [TITLE]


async def test_who_deletes_the_message_before_leaves_no_title(house: House) -> None:
    await house.people.fault("agents.sessions.rename", status=429, headers={"Retry-After": "20"})
    ts = await house.say("Ada", "dm", QUESTION)
    await house.events.until("session.title_put_off")
    await house.people.delete("Ada", "dm", ts)
    await house.no_row("SELECT 1 FROM inbox WHERE body <> ''")
    house.clock.turn(25)
    await over(house)
    assert not (await titles(house)).get(ts)
