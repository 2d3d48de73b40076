"""A soul whose daemon is another app of Slack gets a thread only where that app can write; else nothing changes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.given import shown, tagged, wanting
from tests.journeys.handing import ACTS, GIVEN, talking, words
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM
from tests.journeys.souls import write_soul
from tests.processes import OtherProcess
from tests.unit.ism_parts import chosen

_DAEMON = """
INSERT INTO presence (id, soul, workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state, detail)
SELECT ?, 'rolf', workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state,
       json_object('souls', json('{"rolf": []}'), 'called', json('{"rolf": "Rolf"}'), 'account', ?) FROM presence
"""
_SOUL = """
INSERT INTO awareness (context_key, member, process, state, places, seen_ms)
SELECT context_key, 'rolf', ?, state, places, seen_ms FROM awareness WHERE member = 'tess' AND context_key = 'souls'
"""


@asynccontextmanager
async def rolf_elsewhere(house: House) -> AsyncIterator[str]:
    """Tess's daemon, and beside it the row of one that hosts Rolf as another app; gives the user id of that app."""
    write_soul(house.settings.home, more=ACTS)
    await house.start(name="tess")
    app = str((await house.people.add_person("Rolfs app", standing="bot"))["id"])
    await house.row("SELECT 1 FROM awareness WHERE member = 'tess'")
    with OtherProcess(house.settings.database_path) as other:
        await house.change(_DAEMON, other.name, app)
        await house.change(_SOUL, other.name)
        yield app


async def unchanged(house: House) -> bool:
    """Whether every thread is where it was."""
    return await house.rows("SELECT 1 FROM conversations WHERE handed_to <> '' OR soul = 'rolf'") == []


async def test_direct_messages_stay_with_their_app(empty_house: House) -> None:
    async with rolf_elsewhere(empty_house):
        answer = await empty_house.answered("Ada", "dm", "hand this thread to rolf")
        assert "Rolf answers through another app, which can't write in these direct messages" in answer
        assert "Write to that app itself." in answer
        assert await unchanged(empty_house)


async def test_a_channel_without_the_other_app_stays_until_it_is_invited(empty_house: House) -> None:
    async with rolf_elsewhere(empty_house):
        ts = await talking(empty_house)
        answer = await empty_house.answered("Ada", "general", "@soul hand this thread to rolf", thread=ts)
        assert "Invite that app here, then say it again." in answer
        where = (await empty_house.one("SELECT id FROM conversations WHERE thread <> ''"))["id"]
        token = empty_house.settings.slack_bot_token
        assert token is not None
        slack = {"SLACK_BOT_TOKEN": token.get_secret_value(), "SLACK_API_URL": empty_house.settings.slack_api_url}
        assert "is not in C0" in await empty_house.command("handoff", where, "rolf", fails=True, env=slack)
        assert await unchanged(empty_house)
        await empty_house.people.join("Rolfs app", "general")
        await empty_house.acknowledged()
        await empty_house.say("Ada", "general", "@soul hand this thread to rolf", thread=ts)
        await empty_house.reply("general", "From now on Rolf answers here")
        assert (await words(empty_house))[-1] == GIVEN


async def test_a_soul_is_not_offered_one_that_can_not_answer_there(empty_house: House) -> None:
    async with rolf_elsewhere(empty_house):
        empty_house.model.steps["respond"].append(wanting("research"))
        empty_house.model.steps["choose_actions"].append(chosen(("Respond", "x")))
        empty_house.model.replies.append(tagged("I stay."))
        await empty_house.answered("Ada", "general", f"@soul {PROBLEM}")
        [prompt] = [shown(one) for one in empty_house.prompts if one.step == "choose_actions"]
        assert "Handoff" not in prompt
        assert "Tell" in prompt, "it may write to it all the same"
