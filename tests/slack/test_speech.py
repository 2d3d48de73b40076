"""A streamed reply: when the stream opens, how often it grows, and that errors only stop it."""

import asyncio
from typing import Any

import pytest

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.link_safety import PART
from daemon.channels.slack.splitting import FLOOR
from daemon.core.errors import StoreBusy
from daemon.core.ports.services import DraftLog, Task, TaskState
from tests.fakes import Events
from tests.slack.parts import Control, cards, spoken
from tests.slack.talk import TimedSpeech


@pytest.fixture
async def talk(client: SlackClient, events: Events, control: Control) -> TimedSpeech:
    return TimedSpeech(client, events, await control.say("Ada", "dm", "hi"))


async def test_a_stream_opens_at_eighty_characters_and_grows_by_more(talk: TimedSpeech, control: Control) -> None:
    await talk.say("a" * 80, 0.04)
    await talk.say("b" * 100, 0.2)
    assert talk.log.steps[0] == "opening"
    assert await control.calls("chat.appendStream") == []
    await talk.say("c" * 400, 0.2)
    await talk.say("d", 0.8)
    await talk.speech.settle()
    (start,) = await control.calls("chat.startStream")
    assert spoken(start) == "a" * 80
    appended = [spoken(call) for call in await control.calls("chat.appendStream")]
    assert appended == ["b" * 100 + "c" * 400, "d"]
    assert talk.drafts.text("D0ADA", talk.log.steps[1]) == "a" * 80 + "b" * 100 + "c" * 400 + "d"


async def test_a_short_text_opens_a_stream_and_an_instant_reply_none(talk: TimedSpeech, control: Control) -> None:
    await talk.say("short", 0.2)
    await talk.speech.settle()
    assert len(await control.calls("chat.startStream")) == 1
    instant = talk.again()
    await instant.say("brief")
    await asyncio.sleep(0)
    settling = asyncio.ensure_future(instant.settle())
    await talk.pass_time(0.2)
    await settling
    await instant.say("too late")
    assert len(await control.calls("chat.startStream")) == 1
    blank = talk.again()
    await blank.say("  \n")
    await blank.settle()
    assert len(await control.calls("chat.startStream")) == 1


async def test_a_card_of_what_is_done_comes_with_the_first_text(talk: TimedSpeech, control: Control) -> None:
    await talk.speech.show(Task("found", "Looked up what I know: 2", TaskState.COMPLETE))
    await talk.pass_time(0.3)
    assert talk.log.steps == []
    await talk.say("a" * 80, 0.2)
    await talk.speech.settle()
    (start,) = await control.calls("chat.startStream")
    assert [(one["title"], one["status"]) for one in cards(start)] == [("Looked up what I know: 2", "complete")]
    assert spoken(start) == "a" * 80


async def test_a_stream_ends_growing_where_its_first_part_may_end(talk: TimedSpeech, control: Control) -> None:
    await talk.say("e" * 5_000, 0.2)
    await talk.say("f" * 900, 0.2)
    await talk.say("g" * 900, 1.0)
    await talk.speech.settle()
    assert len(talk.drafts.text("D0ADA", talk.log.steps[1]) or "") == int(PART * FLOOR)


async def test_after_a_failed_append_nothing_is_sent(client: SlackClient, events: Events, control: Control) -> None:
    faults: tuple[tuple[dict[str, Any], bool], ...] = (
        ({"body": {"ok": False, "error": "message_not_in_streaming_state"}}, True),
        ({"mode": "accept_then_drop"}, False),
        ({"status": 429, "headers": {"Retry-After": "5"}}, True),  # which holds every call after it
    )
    for number, (fault, known) in enumerate(faults, 1):
        talk = TimedSpeech(client, events, await control.say("Ada", "dm", "hi"))
        await talk.say("h" * 80, 0.2)
        await control.fail("chat.appendStream", **fault)
        await talk.say("i" * 500, 0.2)
        await talk.say("j" * 500, 1.0)
        await talk.speech.settle()
        assert len(await control.calls("chat.appendStream")) == number, fault
        assert len(events.named("slack.speech_silent")) == number, fault
        assert talk.drafts.text("D0ADA", talk.log.steps[1]) == ("h" * 80 if known else None), fault


async def test_after_a_refused_start_no_stream_opens_for_ten_minutes(talk: TimedSpeech, control: Control) -> None:
    await control.fail("chat.startStream", body={"ok": False, "error": "unknown_method"})
    await talk.say("k" * 100, 0.2)
    await talk.speech.settle()
    assert talk.log.steps == ["opening", "refused"]
    for minutes, calls in ((1, 1), (11, 2)):
        await talk.clock.advance(minutes * 60)
        speech = talk.again()
        await speech.say("l" * 100)
        await talk.pass_time(0.2)
        await speech.settle()
        assert len(await control.calls("chat.startStream")) == calls


async def test_no_stream_opens_if_the_draft_can_not_be_stored(talk: TimedSpeech, control: Control) -> None:
    async def broken() -> None:
        raise StoreBusy("another program holds the database")

    speech = talk.again(DraftLog(broken, talk.log.log.opened, talk.log.log.refused))
    await speech.say("m" * 100)
    await talk.pass_time(0.2)
    await speech.settle()
    assert await control.calls("chat.startStream") == []


async def test_several_streams_share_the_appends_that_slack_allows(talk: TimedSpeech, control: Control) -> None:
    speeches = [talk.speech, talk.again(), talk.again()]
    for speech in speeches:
        await speech.say("r" * 100)
    await talk.pass_time(0.2)
    for second in range(12):
        for speech in speeches:
            await speech.say(f"{second} and more. ")
        await talk.pass_time(1.0)
    for speech in speeches:
        await speech.settle()
    assert len(await control.calls("chat.appendStream")) <= 12 * 100 / 60


@pytest.mark.parametrize("text", ["", "A beginning. " * 8])
async def test_a_stream_is_opened_anew_before_slack_seals_it(talk: TimedSpeech, control: Control, text: str) -> None:
    await talk.speech.show(Task("1", "Reading", TaskState.IN_PROGRESS, "page 1"))
    await talk.say(text, 0.8)
    await talk.clock.advance(241)
    await talk.speech.show(Task("1", "Reading", TaskState.IN_PROGRESS, "page 1 and 2"))
    await talk.pass_time(0.4)
    await talk.clock.advance(200)
    await talk.speech.show(Task("1", "Reading", TaskState.COMPLETE, "page 1 and 2"))
    await talk.say("The end.", 1.0)
    await talk.speech.settle()
    first, again = await control.calls("chat.startStream")
    assert (await control.calls("chat.delete"))[0]["args"]["ts"] == first["answer"]["ts"]
    assert (spoken(again), cards(again)[0]["details"]) == (text, "page 1 and 2")
    assert talk.log.steps[-1] == again["answer"]["ts"]
    assert talk.drafts.text("D0ADA", again["answer"]["ts"]) == text + "The end."
    (draft,) = await control.replies("D0ADA", first["args"]["thread_ts"])
    assert draft["text"] == text + "The end."


async def test_one_that_can_not_be_opened_anew_stays(talk: TimedSpeech, control: Control, events: Events) -> None:
    await talk.say("s" * 100, 0.2)
    await control.fail("chat.startStream", body={"ok": False, "error": "fatal_error"})
    await talk.clock.advance(241)
    await talk.pass_time(0.2)
    await talk.say("t" * 600, 0.2)
    await talk.speech.settle()
    assert events.named("slack.speech_silent")
    assert talk.drafts.text("D0ADA", talk.log.steps[1]) == "s" * 100
    assert await control.calls("chat.delete") == []


async def test_only_a_stream_that_opens_with_a_card_is_a_plan(talk: TimedSpeech, control: Control) -> None:
    await talk.say("u" * 100, 0.2)
    await talk.speech.settle()
    other = talk.again()
    await other.show(Task("1", "Reading", TaskState.IN_PROGRESS))
    await talk.pass_time(0.2)
    await other.settle()
    modes = [call["args"].get("task_display_mode") for call in await control.calls("chat.startStream")]
    assert modes == [None, "plan"]
