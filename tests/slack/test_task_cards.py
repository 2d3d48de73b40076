"""Tasks of a reply appear as cards in its message, or in the status line if Slack refuses cards."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.appearance import DETAILS, MOST, TITLE, TaskCards, card_text, status_for
from daemon.channels.slack.channel import SlackChannel
from daemon.channels.slack.link_safety import BREAK
from daemon.channels.slack.speech import SlackSpeech, StreamTarget
from daemon.core.perception import Place
from daemon.core.ports.services import Task, TaskState
from tests.fakes import Events, FakeDrafts
from tests.given import perception, post
from tests.slack.conftest import Open
from tests.slack.parts import Control, cards, spoken
from tests.slack.talk import TimedSpeech

REFUSED = {"ok": False, "error": "invalid_chunks"}
DOING, DONE, FAILED, LATER = TaskState.IN_PROGRESS, TaskState.COMPLETE, TaskState.ERROR, TaskState.PENDING


class Working(TimedSpeech):
    """A speech with tasks that records its status texts."""

    def __init__(self, client: SlackClient, events: Events, root: str) -> None:
        self.said: list[str] = []
        super().__init__(client, events, root)
        self.speech = self.another()

    def another(self) -> SlackSpeech:
        target = StreamTarget("D0ADA", self._root, status=self.said.append)
        return SlackSpeech(self._client, target, self.log.log, self.drafts, self.clock, self._events)

    async def show(self, id_: str, title: str, state: TaskState, details: str = "", *, wait: float = 0.0) -> None:
        await self.speech.show(Task(id_, title, state, details))
        await self.pass_time(wait)


@pytest.fixture
async def working(client: SlackClient, events: Events, control: Control) -> Working:
    return Working(client, events, await control.say("Ada", "dm", "hi"))


async def streamed(control: Control) -> list[dict[str, object]]:
    return [call for m in ("startStream", "appendStream", "stopStream") for call in await control.calls(f"chat.{m}")]


async def with_card(channel: SlackChannel, control: Control, text: str = "") -> tuple[str, str]:
    """A draft with a card of something that goes on; gives the ts of its root and its own."""
    root, log = await control.say("Ada", "dm", "hi"), FakeDrafts()
    speech = channel.speak(perception(channel="D0ADA", ts=root, place=Place.DM), log.log)
    await speech.show(Task("1", "Looking", DOING))
    if text:
        await speech.say(text)
    await log.settled.wait()
    await speech.settle()
    return root, log.steps[1]


async def message(control: Control, ts: str) -> dict[str, object]:
    everything = (await control.see("messages", channel="D0ADA", thread="*"))["messages"]
    return next(dict(one) for one in everything if one["ts"] == ts)


async def test_a_task_opens_the_message_and_the_text_follows_in_it(working: Working, control: Control) -> None:
    await working.show("1", "Reading docs/limits.md", DOING, wait=0.2)
    assert working.log.steps[0] == "opening"
    (start,) = await control.calls("chat.startStream")
    assert start["args"]["task_display_mode"] == "plan"
    assert start["args"]["chunks"][0] == {"type": "plan_update", "title": "Working on it"}
    assert cards(start) == [
        {"type": "task_update", "id": "1", "title": "Reading docs/limits.md", "status": "in_progress"}
    ]
    ts = working.log.steps[1]
    assert working.drafts.text("D0ADA", ts) == ""
    await working.show("1", "Reading docs/limits.md", DONE, "lines 3 to 9")
    await working.say("Up to **2 GB**.", 0.8)
    assert working.drafts.text("D0ADA", ts) == "Up to **2 GB**."
    (append,) = await control.calls("chat.appendStream")
    assert (spoken(append), cards(append)[0]["status"]) == ("Up to **2 GB**.", "complete")
    await working.speech.settle()


async def test_updates_are_paced_and_hold_the_latest_state_of_each_task(working: Working, control: Control) -> None:
    await working.show("1", "Reading", DOING, wait=0.2)
    for number in range(20):
        await working.show("1", f"Reading page {number}", DOING)
        await working.show("2", f"Counting to {number}", DOING, wait=0.04)
    await working.pass_time(0.8)
    await working.speech.settle()
    appended = [cards(call) for call in await control.calls("chat.appendStream")]
    assert len(appended) == 2
    assert [card["title"] for card in appended[-1]] == ["Reading page 19", "Counting to 19"]


async def test_details_that_a_card_shows_are_not_sent_again(working: Working, control: Control) -> None:
    for details in ("one", "one", "one and two", "other"):
        await working.show("1", "Looking", DOING, details, wait=0.8)
    await working.show("1", "Looking", DONE, "other", wait=0.8)
    await working.speech.settle()
    sent = [card.get("details") for call in await streamed(control) for card in cards(call)]
    assert sent == ["one", " and two", "\nother", None]
    shown = await message(control, working.log.steps[1])
    assert [chunk.get("details") for chunk in shown["chunks"]] == [None, "one and two\nother"]  # type: ignore[attr-defined]  # a list


async def test_a_silent_stream_is_kept_alive(working: Working, control: Control) -> None:
    await working.show("1", "Waiting for the importer", DOING, "it takes its time", wait=0.2)
    await working.clock.advance(61)
    await working.pass_time(0.2)
    (pulse,) = await control.calls("chat.appendStream")
    assert cards(pulse) == [
        {"type": "task_update", "id": "1", "title": "Waiting for the importer", "status": "in_progress"}
    ]
    await working.show("1", "Waiting for the importer", DONE, "it takes its time", wait=0.8)
    await working.clock.advance(61)
    await working.pass_time(0.2)
    await working.speech.settle()
    assert len(await control.calls("chat.appendStream")) == 2


async def test_a_finished_reply_leaves_no_card_in_progress(open_channel: Open, control: Control) -> None:
    root, channel, log = await control.say("Ada", "dm", "hi"), open_channel(), FakeDrafts()
    speech = channel.speak(perception(channel="D0ADA", ts=root, place=Place.DM), log.log)
    for id_, state in (("1", DONE), ("2", DOING), ("3", LATER), ("4", FAILED)):
        await speech.show(Task(id_, f"Task {id_}", state))
    await log.settled.wait()
    await speech.show(Task("2", "Task 2 went on", DOING))
    await speech.say("It is done")
    await speech.settle()
    await speech.show(Task("5", "Too late", DOING))
    ts = await channel.deliver(post("D0ADA", "It is done: **42**.", reply_to=root, draft=log.steps[1]))
    shown = await message(control, ts)
    assert (shown["text"], shown["streaming_state"]) == ("It is done: **42**.", "completed")
    chunks: list[dict[str, str]] = shown["chunks"]  # type: ignore[assignment]  # JSON
    assert chunks[0]["title"] == "Worked through 4 steps, 1 of them failed"
    assert [(chunk["title"], chunk["status"]) for chunk in chunks[1:]] == [
        ("Task 1", "complete"),
        ("Task 2 went on", "complete"),
        ("Task 3 (not needed)", "complete"),
        ("Task 4", "error"),
    ]
    assert shown["blocks"][0]["type"] == "context_actions"  # type: ignore[index]  # JSON


async def test_a_draft_with_cards_is_closed_and_replaced(channel: SlackChannel, control: Control) -> None:
    for text, refused in (("x" * 100, 0), ("", 2)):
        root, ts = await with_card(channel, control, text)
        before = len(await control.calls("chat.stopStream"))
        if refused:
            await control.fail("chat.stopStream", times=refused, body=REFUSED)
        await channel.deliver(post("D0ADA", "Whole.", reply_to=root, draft=ts))
        stops = (await control.calls("chat.stopStream"))[before:]
        assert [bool(call["args"].get("chunks")) for call in stops] == ([True, True, False] if refused else [True])
        assert cards(stops[0])[0]["status"] == "complete"
        assert (await message(control, ts))["blocks"][0]["text"] == "Whole."  # type: ignore[index]  # JSON


async def test_refused_cards_become_a_status_line_for_a_day(working: Working, control: Control, events: Events) -> None:
    await control.fail("chat.startStream", body=REFUSED)
    await working.show("1", "Reading docs/limits.md", DOING, wait=0.2)
    assert working.log.steps == ["opening", "refused"]
    assert working.said == ["is reading docs/limits.md…"]
    assert events.named("slack.cards_refused") == [{"channel": "D0ADA", "reason": "invalid_chunks"}]
    await working.show("2", "Searching", DOING)
    assert working.said[-1] == "is searching…"
    await working.say("w" * 100, 0.2)
    await working.speech.settle()
    (_, start) = await control.calls("chat.startStream")
    assert start["args"]["markdown_text"] == "w" * 100
    assert "task_display_mode" not in start["args"]
    later = working.another()
    await later.show(Task("1", "Counting", DOING))
    await later.settle()
    assert working.said[-1] == "is counting…"
    assert len(await control.calls("chat.startStream")) == 2
    await working.clock.advance(86_400)
    tomorrow = working.speech = working.another()
    await working.show("1", "Counting anew", DOING, wait=0.2)
    await tomorrow.settle()
    assert len(await control.calls("chat.startStream")) == 3


async def test_text_that_slack_refuses_in_chunks_is_streamed_as_markdown(working: Working, control: Control) -> None:
    await control.fail("chat.startStream", body=REFUSED)
    await working.say("v" * 100, 0.2)
    await working.say("v" * 500, 0.2)
    await working.speech.settle()
    assert working.log.steps[:3] == ["opening", "refused", "opening"]
    assert working.drafts.text("D0ADA", working.log.steps[3]) == "v" * 600
    assert working.said == []


async def test_after_a_refused_card_the_text_still_grows(working: Working, control: Control) -> None:
    await working.say("u" * 100, 0.2)
    await control.fail("chat.appendStream", body=REFUSED)
    await working.show("1", "Comparing", DOING, wait=0.8)
    assert working.said == ["is comparing…"]
    await working.say(" and more", 0.8)
    await working.speech.settle()
    ts = working.log.steps[1]
    assert working.drafts.text("D0ADA", ts) == "u" * 100 + " and more"
    assert working.drafts.ending("D0ADA", ts, "!") == {"chunks": [{"type": "markdown_text", "text": "!"}]}


async def test_after_an_error_tasks_are_in_the_status(client: SlackClient, control: Control, events: Events) -> None:
    faults: tuple[dict[str, Any], ...] = (
        {"mode": "accept_then_drop"},
        {"status": 429, "headers": {"Retry-After": "5"}},
    )
    for number, fault in enumerate(faults, 1):
        working = Working(client, events, await control.say("Ada", "dm", "hi"))
        await control.fail("chat.startStream", **fault)
        await working.show("1", "Reading", DOING, wait=0.2)
        await events.until("slack.speech_silent", number)
        await working.show("2", "Writing", DOING)
        await working.speech.settle()
        assert working.said == ["is reading…", "is writing…"], fault


def test_a_task_becomes_a_status_after_the_soul_s_name() -> None:
    words = {
        "Reading docs/limits.md…": "is reading docs/limits.md…",
        "Search the archive": "is working: Search the archive…",
        "…": "is working: …",
    }
    assert {title: status_for(Task("1", title, DOING)) for title in words} == words


@settings(max_examples=20)
@given(st.text(max_size=300) | st.text(alphabet="<>@!#|:/[](w.)hmailto@ \n\u202e", max_size=300))
def test_any_title_is_shown_without_links_and_mentions(text: str) -> None:
    shown = card_text(text, TITLE)
    assert len(shown.replace(BREAK, "")) <= TITLE
    assert "\n" not in shown
    for power in ("<@", "<!", "<#", "://", "](", "www.", "mailto:", "@channel", "@here", "<http"):
        assert power not in shown.lower()
    shown.encode()


def test_a_hostile_title_stays_readable_and_the_number_and_size_of_cards_is_bounded() -> None:
    shown = card_text("Ask <!channel> and <@U0BEN>\nat https://evil.example " + "x" * 200, TITLE)
    assert shown.replace(BREAK, "").startswith("Ask ")
    assert shown.endswith("…")
    task_cards = TaskCards()
    for number in range(MOST + 5):
        task_cards.put(Task(str(number), " ", DOING, "d" * 2 * DETAILS))
    chunks = task_cards.update()
    assert len(chunks) == MOST + 1
    assert (chunks[1]["title"], len(chunks[1]["details"])) == ("…", DETAILS)
    assert TaskCards().closing() == ()
    assert TaskCards().keep_alive() == []
