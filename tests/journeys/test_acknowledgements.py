"""Where the admin asks for it, a message is marked while it is worked on, and once it is answered."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from daemon.channels.slack.outgoing.acknowledging import Acknowledgements
from daemon.core.errors import ModelUnavailable
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.reacting import SCOPES, marked, marks
from tests.models import Flow


@pytest.fixture
async def marking(house: House) -> House:
    await house.restart(slack_acknowledge=True)
    return house


async def test_a_message_has_eyes_while_it_is_worked_on_and_a_check_once_it_is_answered(marking: House) -> None:
    flow = Flow()
    marking.model.flows.append(flow)
    ts = await marking.say("Ada", "general", "@soul how deep is the well?")
    await flow.asked.wait()
    await marked(marking, "general", ts, "eyes")
    flow.say(tagged("Deep."))
    flow.end()
    await marking.reply("general", "Deep.")
    await marked(marking, "general", ts, "white_check_mark")
    await marking.idle()
    aside = await marking.say("Ben", "general", "Lunch, Chloe?")
    await marking.acknowledged()
    assert await marks(marking, "general", aside) == []


async def test_what_is_not_answered_keeps_no_mark(marking: House) -> None:
    flow = Flow()
    marking.model.flows.append(flow)
    ts = await marking.say("Ada", "dm", "tell me")
    await flow.asked.wait()
    room = await marking.people.open_dm("Ada")
    await marked(marking, room, ts, "eyes")
    await marking.say("Ada", "dm", "stop")
    await marked(marking, room, ts)


async def test_a_failed_reply_takes_the_mark_back(marking: House) -> None:
    marking.model.replies += [ModelUnavailable("down")] * 8
    ts = await marking.say("Ada", "general", "@soul are you there?")
    await marking.reply("general")
    await marking.idle()
    await marked(marking, "general", ts)


async def test_without_the_scope_replies_come_as_always_and_slack_is_asked_once(marking: House) -> None:
    await marking.people.scopes(*SCOPES)
    assert await marking.answered("Ada", "general", "@soul hello")
    calls = await marking.people.calls("reactions.add")
    assert await marking.answered("Ada", "general", "@soul hello again")
    assert len(await marking.people.calls("reactions.add")) == len(calls) == 1, "a refusal rests"


async def test_without_the_setting_nothing_is_marked(house: House) -> None:
    assert await house.answered("Ada", "general", "@soul hello")
    await house.idle()
    assert await house.people.calls("reactions.add") == []


@asynccontextmanager
async def dying(house: House, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A message whose daemon dies when what came of it is stored, and before its mark is changed; gives its ts."""
    flow = Flow()
    house.model.flows.append(flow)
    ts = await house.say("Ada", "general", "@soul how deep is the well?")
    await flow.asked.wait()
    await marked(house, "general", ts, "eyes")
    with monkeypatch.context() as patched:
        patched.setattr(Acknowledgements, "_order", lambda *_: None)
        flow.say(tagged("Deep."))
        flow.end()
        yield ts
        await house.reply("general")
        await house.idle()
        await house.stop()


async def kept(house: House) -> bool:
    return bool(await house.rows("SELECT 1 FROM marked_messages"))


async def test_an_answer_whose_daemon_died_before_the_mark_gets_its_check_at_the_next_start(
    marking: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dying(marking, monkeypatch) as ts:
        assert await kept(marking)
    assert await marks(marking, "general", ts) == ["eyes"]
    await marking.start(slack_acknowledge=True)
    await marked(marking, "general", ts, "white_check_mark")

    async def over() -> bool:
        return not await kept(marking)

    await marking.when(over)


async def test_where_the_setting_is_off_by_then_only_the_eyes_go(
    marking: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dying(marking, monkeypatch) as ts:
        pass
    await marking.start()
    await marked(marking, "general", ts)


async def test_what_ended_in_an_apology_gets_no_check_at_the_next_start(
    marking: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dying(marking, monkeypatch) as ts:
        pass
    await marking.change("UPDATE turns SET kind = 'apology' WHERE speaker = 'soul'")
    await marking.start(slack_acknowledge=True)
    await marked(marking, "general", ts)


async def test_a_mark_that_slack_does_not_take_now_is_changed_ten_minutes_later(
    marking: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dying(marking, monkeypatch) as ts:
        pass
    await marking.people.fault("reactions.remove", status=503)
    await marking.start(slack_acknowledge=True)
    await marked(marking, "general", ts, "eyes", "white_check_mark")
    await marking.people.clear_faults()
    marking.clock.turn(600)
    await marked(marking, "general", ts, "white_check_mark")


async def test_another_daemon_leaves_the_mark_of_what_is_still_worked_on(marking: House) -> None:
    flow = Flow()
    marking.model.flows.append(flow)
    ts = await marking.say("Ada", "general", "@soul how deep is the well?")
    await flow.asked.wait()
    await marked(marking, "general", ts, "eyes")
    await marking.start(slack_acknowledge=True)
    await marking.say("Ben", "dm", "hello")
    await marking.reply(await marking.people.open_dm("Ben"))
    assert await marks(marking, "general", ts) == ["eyes"]
    flow.say(tagged("Deep."))
    flow.end()
    await marked(marking, "general", ts, "white_check_mark")
