"""Thumbs, stops, dialogs and the shortcut: read from users of our workspace alone, also from hostile payloads."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.arrivals import read
from daemon.channels.slack.dialogs import COMPLAINS, COMPLAINT
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.installation import manifest
from daemon.core.phrases import WHY_SHORTCUT
from daemon.core.ports.arrivals import Complaint, Deletion, Edit, Feedback, Stop, UserAct, WhyAsked, Withdrawal
from daemon.core.sentences import HOUSE_WORDS, Sentence, Words
from daemon.local_slack.web_api.views import fault_of
from tests.slack.conftest import Wire
from tests.slack.hostile import ANYTHING
from tests.slack.parts import OURS, TS, listening

READER = EventReader("minoan", OURS)


def reacted(**changes: object) -> dict[str, Any]:
    item = {"item": {"type": "message", "channel": "C1", "ts": TS}, "item_user": OURS.user}
    event = {"type": "reaction_added", "user": "U1", "reaction": "-1", "event_ts": "9.1"}
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event | item | changes}


def test_a_thumb_at_a_post_of_ours_is_feedback() -> None:
    given = Feedback("Ev1", "minoan", "T1", "C1", TS, "U1", "bad", how="reaction")
    assert read(READER, reacted()) == given
    removed = read(READER, reacted(type="reaction_removed", reaction="thumbsup::skin-tone-3"))
    assert isinstance(removed, Feedback)
    assert (removed.value, removed.taken_back) == ("good", True)
    for changes in (
        {"reaction": "eyes"},
        {"reaction": None},
        {"item_user": "U2"},
        {"user": OURS.user},
        {"user": "U/1"},
        {"user_team": "T9"},
        {"item": {"type": "file", "file": "F1"}},
        {"item": {"channel": "C1", "ts": "now"}},
        {"item": "C1"},
        {"type": "message"},
    ):
        assert read(READER, reacted(**changes)) is None, changes


def test_a_cross_at_a_post_of_ours_takes_it_back() -> None:
    assert read(READER, reacted(reaction="x")) == Withdrawal("Ev1", "minoan", "T1", "C1", TS, "U1")
    trusted = EventReader("minoan", OURS, approvers=("U1",))
    assert read(trusted, reacted(reaction="x")) == Withdrawal("Ev1", "minoan", "T1", "C1", TS, "U1", True)
    for other in ({"type": "reaction_removed"}, {"item_user": "U2"}, {"user": OURS.user}, {"user_team": "T9"}):
        assert read(READER, reacted(reaction="x", **other)) is None


def pressed(**changes: object) -> dict[str, Any]:
    where = {"channel": "D1", "thread_ts": TS, "streaming_message_ts": ["1.2"]}
    event = {"type": "agent_session_stopped", "user": "U1", "event_ts": "9.1"}
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event | where | changes}


def test_a_press_is_a_stop_of_its_thread_unless_it_is_foreign_or_broken() -> None:
    assert read(READER, pressed()) == Stop("Ev1", "minoan", "T1", "D1", TS, "U1")
    for changes in (
        {"type": "app_home_opened"},
        {"user": "U/1"},
        {"user": None},
        {"user_team": "T9"},
        {"channel": {"id": "D1"}},
        {"channel": "D 1"},
        {"thread_ts": "now"},
        {"thread_ts": None},
    ):
        assert read(READER, pressed(**changes)) is None, changes
    assert read(EventReader("minoan", OURS, members=frozenset({"U2"})), pressed()) is None, "not listed"


def view(**changes: object) -> dict[str, Any]:
    values = {COMPLAINT: {COMPLAINT: {"type": "plain_text_input", "value": "It was 1971."}}}
    return {
        "id": "V1",
        "callback_id": COMPLAINT,
        "private_metadata": json.dumps({"channel": "C1", "ts": TS}),
        "state": {"values": values},
    } | changes


def sent(**changes: object) -> dict[str, Any]:
    user = {"id": "U1", "username": "ada", "team_id": "T1", "name": "ada"}
    return {"type": "view_submission", "team": {"id": "T1"}, "user": user, "view": view()} | changes


def test_a_complaint_is_read_and_has_the_same_id_when_it_is_sent_twice() -> None:
    complaint = Complaint("dialog:V1:U1", "minoan", "T1", "C1", TS, "U1", "It was 1971.")
    assert read(READER, sent()) == complaint == read(READER, sent())
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
        assert read(READER, sent(**changes)) is None, changes
    assert read(EventReader("minoan", OURS, members=frozenset({"U2"})), sent()) is None, "who is not listed"


def test_the_dialog_keeps_slacks_sizes_in_any_words() -> None:
    long = Words(dict.fromkeys(("feedback_title", "feedback_send", "feedback_close"), "x" * 60))
    for words in (HOUSE_WORDS, long):
        assert fault_of(COMPLAINS.view(words, channel="C1", ts=TS)) == ""


def used(**changes: object) -> dict[str, Any]:
    user = {"id": "U1", "username": "ada", "team_id": "T1", "name": "ada"}
    place = {"team": {"id": "T1", "domain": "local"}, "user": user, "channel": {"id": "C1", "name": "general"}}
    message = {"message_ts": TS, "message": {"type": "message", "ts": TS, "text": "hi", "user": "U0SOUL"}}
    answer = {"response_url": "https://hooks.slack.com/app/1", "trigger_id": "1.2.3"}
    given = {"type": "message_action", "callback_id": WHY_SHORTCUT, "action_ts": "9.1"}
    return given | place | message | answer | changes


def test_the_shortcut_is_read_once_for_each_use() -> None:
    asked = WhyAsked(f"why:C1:{TS}:U1:9.1", "minoan", "T1", "C1", TS, "U1")
    assert read(READER, used()) == asked
    again = read(READER, used(action_ts="9.2"))
    assert isinstance(again, WhyAsked)
    assert again.event_id != asked.event_id


def test_foreign_and_broken_payloads_are_nothing() -> None:
    for changes in (
        {"callback_id": "another"},
        {"user": {"id": "U1", "team_id": "T9"}},
        {"user": {"id": "U1"}, "team": {"id": "T9"}},
        {"user": {"id": "U/1"}},
        {"channel": {"id": ""}},
        {"channel": "C1"},
        {"message_ts": "now"},
        {"message_ts": None, "message": None},
    ):
        assert read(READER, used(**changes)) is None, changes
    assert read(EventReader("minoan", OURS, members=frozenset({"U2"})), used()) == Sentence("press_void")
    assert isinstance(read(EventReader("minoan", OURS, members=frozenset({"U1"})), used()), WhyAsked)


def test_the_manifest_puts_it_at_each_message_within_slacks_sizes() -> None:
    features = manifest()["features"]
    assert isinstance(features, dict)
    [shortcut, _] = features["shortcuts"]
    assert shortcut == {
        "name": "Why did you say that?",
        "type": "message",
        "callback_id": WHY_SHORTCUT,
        "description": "Shows which memories support what the soul said there.",
    }
    long = manifest(words=Words({"because_shortcut": "x" * 60, "because_shortcut_shows": "y" * 400}))["features"]
    assert isinstance(long, dict)
    assert (len(long["shortcuts"][0]["name"]), len(long["shortcuts"][0]["description"])) == (24, 150)


async def test_an_unlisted_user_is_told_alone_that_it_has_no_effect(on: Wire) -> None:
    channel = on.open(members=("U0ADA",))
    root = await on.control.say("Ada", "general", "hi")
    async with listening(channel, on.intake):
        await on.control.do("shortcut", person="Ben", channel="general", ts=root, callback_id=WHY_SHORTCUT)
        [whisper] = await on.control.until(lambda: on.control.calls("(response_url)"), 1)
    assert whisper["args"]["response_type"] == "ephemeral"
    assert "no effect" in whisper["args"]["text"]
    assert on.intake.arrivals == []


SAMPLES = (reacted(), pressed(), used(), sent())


@given(st.sampled_from(SAMPLES), st.data(), ANYTHING)
def test_any_value_in_any_field_is_read(sample: dict[str, Any], data: st.DataObject, value: object) -> None:
    field = data.draw(st.sampled_from(sorted(sample)))
    if isinstance(inner := sample[field], dict):
        payload = sample | {field: inner | {data.draw(st.sampled_from(sorted(inner))): value}}
    else:
        payload = sample | {field: value}
    found = read(READER, payload)
    assert not isinstance(found, Edit | Deletion | UserAct) or "/" not in found.event_id
