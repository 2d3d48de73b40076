"""Dialogs that people send: read by their callback_id, once, from users of our workspace alone."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.channel import SlackChannel
from daemon.channels.slack.incoming.dialogs import COMPLAINT, dialog_sent
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.outgoing.dialogs import complaint_dialog
from daemon.core.ports.arrivals import Complaint
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.local_slack.modals import fault_of
from tests.fakes import FakeIntake
from tests.given import post
from tests.slack.conftest import Open
from tests.slack.parts import OURS, TS, WorkspaceControl, listening

READER = EventReader("minoan", OURS)


def view(**changes: object) -> dict[str, Any]:
    """The view of a sent dialog as Slack reports it."""
    values = {COMPLAINT: {COMPLAINT: {"type": "plain_text_input", "value": "It was 1971."}}}
    return {
        "id": "V1",
        "callback_id": COMPLAINT,
        "private_metadata": json.dumps({"channel": "C1", "ts": TS}),
        "state": {"values": values},
    } | changes


def sent(**changes: object) -> dict[str, Any]:
    """A payload as Slack sends it, with these fields changed."""
    user = {"id": "U1", "username": "ada", "team_id": "T1", "name": "ada"}
    return {"type": "view_submission", "team": {"id": "T1"}, "user": user, "view": view()} | changes


def test_a_complaint_is_read_and_has_the_same_id_when_it_is_sent_twice() -> None:
    complaint = Complaint("dialog:V1:U1", "minoan", "T1", "C1", TS, "U1", "It was 1971.")
    assert dialog_sent(READER, sent()) == complaint == dialog_sent(READER, sent())


def test_foreign_broken_and_empty_dialogs_are_nothing() -> None:
    for changes in (
        {"user": {"id": "U1", "team_id": "T9"}},
        {"user": {"id": "U1"}, "team": {"id": "T9"}},
        {"user": {"id": "U/1"}},
        {"view": view(callback_id="another")},
        {"view": view(id="V 1")},
        {"view": view(private_metadata="{")},
        {"view": view(private_metadata="[" * 2_000)},
        {"view": view(private_metadata=json.dumps({"channel": "C1", "ts": "now"}))},
        {"view": view(private_metadata=json.dumps({"channel": {"C": 1}, "ts": TS}))},
        {"view": view(state={"values": {COMPLAINT: {COMPLAINT: {"value": " \n"}}}})},
        {"view": view(state={})},
        {"view": None},
    ):
        assert dialog_sent(READER, sent(**changes)) is None, changes


def test_only_listed_members_send_dialogs_if_there_is_a_list() -> None:
    assert dialog_sent(EventReader("minoan", OURS, members=frozenset({"U2"})), sent()) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(["id", "values", COMPLAINT]), one),
)


@given(st.sampled_from(sorted(sent())), st.sampled_from(["", *sorted(view())]), JSON)
def test_no_payload_breaks_the_reader(field: str, inner: str, value: object) -> None:
    payload = sent(**{field: value}) if not inner else sent(view=view(**{inner: value}))
    found = dialog_sent(READER, payload)
    assert found is None or (isinstance(found, Complaint) and found.author == "U1")


def test_the_dialog_keeps_slacks_sizes_in_any_words() -> None:
    long = Words(dict.fromkeys(("feedback_title", "feedback_send", "feedback_close"), "x" * 60))
    for words in (HOUSE_WORDS, long):
        assert fault_of(complaint_dialog(words, "C1", TS)) == ""


async def test_a_press_of_bad_opens_the_dialog_and_what_is_sent_arrives_once(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    root = await control.say("Ada", "general", "hi")
    ts = await channel.deliver(post("C0GENERAL", "Hello.", reply_to=root))
    async with listening(channel, intake):
        await control.do("click", person="Ada", channel="general", ts=ts, action_id="soul_feedback", value="bad")

        async def open_dialogs() -> list[dict[str, Any]]:
            return list((await control.see("modals", person="Ada"))["views"])

        [dialog] = await control.until(open_dialogs, 1)
        assert dialog["title"]["text"] == "What was wrong?"
        await control.do("submit", person="Ada", view=dialog["id"], values={COMPLAINT: "Too short."})
        await intake.until(2)

        async def thanks() -> list[dict[str, Any]]:
            return await control.calls("chat.postEphemeral")

        [thanked] = await control.until(thanks, 1)
        assert await open_dialogs() == []
    complaint = intake.arrivals[1]
    assert isinstance(complaint, Complaint)
    assert (complaint.channel, complaint.ts, complaint.author) == ("C0GENERAL", ts, "U0ADA")
    assert complaint.text == "Too short."
    assert thanked["args"]["user"] == "U0ADA"


async def test_who_is_not_listed_opens_and_sends_nothing(
    open_channel: Open, intake: FakeIntake, control: WorkspaceControl
) -> None:
    channel = open_channel(members=("U0ADA",))
    root = await control.say("Ada", "general", "hi")
    ts = await channel.deliver(post("C0GENERAL", "Hello.", reply_to=root))
    async with listening(channel, intake):
        await control.do("click", person="Ben", channel="general", ts=ts, action_id="soul_feedback", value="bad")

        async def whispers() -> list[dict[str, Any]]:
            return await control.calls("(response_url)")

        await control.until(whispers, 1)
        assert (await control.see("modals", person="Ben"))["views"] == []
    assert intake.arrivals == []
