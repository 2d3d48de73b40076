"""Where the admin asks for it, a message is marked while it is worked on, and once it is answered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from daemon.channels.slack.sessions import Acknowledgements
from daemon.core.errors import ModelUnavailable
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.reacting import SCOPES, marked, marks


@pytest.fixture
async def marking(empty_house: House) -> House:
    await empty_house.start(slack_acknowledge=True)
    return empty_house


async def test_a_message_has_eyes_while_it_is_worked_on_and_a_check_only_if_it_is_answered(marking: House) -> None:
    flow, ts = await marking.asking("Ada", "general", "@soul how deep is the well?")
    await marked(marking, "general", ts, "eyes")
    flow.end(tagged("Deep."))
    await marking.reply("general", "Deep.")
    await marked(marking, "general", ts, "white_check_mark")
    await marking.idle()
    aside = await marking.say("Ben", "general", "Lunch, Chloe?")
    await marking.acknowledged()
    assert await marks(marking, "general", aside) == []
    stopped, room = marking.flow(), await marking.people.open_dm("Ada")
    ts = await marking.say("Ada", "dm", "tell me")
    await stopped.asked.wait()
    await marked(marking, room, ts, "eyes")
    await marking.say("Ada", "dm", "stop")
    await marked(marking, room, ts)
    await marking.idle()
    marking.model.replies += [ModelUnavailable("down")] * 8
    ts = await marking.heard("Ada", "general", "@soul are you there?")
    await marked(marking, "general", ts)
    flow, ts = await marking.asking("Ada", "general", "@soul how deep is the well?")
    await marked(marking, "general", ts, "eyes")
    await marking.start(slack_acknowledge=True)  # another daemon leaves the mark
    await marking.say("Ben", "dm", "hello")
    await marking.reply(await marking.people.open_dm("Ben"))
    assert await marks(marking, "general", ts) == ["eyes"]
    flow.end(tagged("Deep."))
    await marked(marking, "general", ts, "white_check_mark")


async def test_without_the_setting_or_the_scope_replies_come_as_always_and_slack_is_asked_once(house: House) -> None:
    assert await house.answered("Ada", "general", "@soul hello")
    await house.idle()
    assert await house.people.calls("reactions.add") == [], "the setting is off"
    await house.restart(slack_acknowledge=True)
    await house.people.scopes(*SCOPES)
    for words in ("hello again", "and again"):
        assert await house.answered("Ada", "general", f"@soul {words}")
        assert len(await house.people.calls("reactions.add")) == 1, "a refusal rests"


@asynccontextmanager
async def dying(house: House, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A message whose daemon dies when what came of it is stored, and before its mark is changed; gives its ts."""
    flow, ts = await house.asking("Ada", "general", "@soul how deep is the well?")
    await marked(house, "general", ts, "eyes")
    with monkeypatch.context() as patched:
        patched.setattr(Acknowledgements, "_order", lambda *_: None)
        flow.end(tagged("Deep."))
        yield ts
        await house.reply("general")
        await house.idle()
        await house.stop()


async def test_a_check_that_a_dead_daemon_owed_is_given_later(marking: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async with dying(marking, monkeypatch) as ts:
        assert await marking.rows("SELECT 1 FROM marked_messages")
    assert await marks(marking, "general", ts) == ["eyes"]
    await marking.start(slack_acknowledge=True)
    await marked(marking, "general", ts, "white_check_mark")
    await marking.no_row("SELECT 1 FROM marked_messages")
    async with dying(marking, monkeypatch) as ts:
        pass
    await marking.people.fault("reactions.remove", status=503)
    await marking.start(slack_acknowledge=True)
    await marked(marking, "general", ts, "eyes", "white_check_mark")
    await marking.people.clear_faults()
    marking.clock.turn(600)
    await marked(marking, "general", ts, "white_check_mark")


async def test_without_setting_or_answer_only_the_eyes_go(marking: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async with dying(marking, monkeypatch) as ts:
        pass
    await marking.start()
    await marked(marking, "general", ts)
    await marking.restart(slack_acknowledge=True)
    async with dying(marking, monkeypatch) as ts:
        pass
    await marking.change("UPDATE turns SET kind = 'apology' WHERE speaker = 'soul'")
    await marking.start(slack_acknowledge=True)
    await marked(marking, "general", ts)
