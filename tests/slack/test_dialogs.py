"""Dialogs that people send: read by their callback_id, once, from users of our workspace alone."""

import json
from typing import Any

from daemon.channels.slack.incoming.dialogs import COMPLAINT, dialog_sent
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.outgoing.dialogs import complaint_dialog
from daemon.core.ports.arrivals import Complaint
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.local_slack.modals import fault_of
from tests.slack.parts import OURS, TS

READER = EventReader("minoan", OURS)


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
    assert dialog_sent(EventReader("minoan", OURS, members=frozenset({"U2"})), sent()) is None, "who is not listed"


def test_the_dialog_keeps_slacks_sizes_in_any_words() -> None:
    long = Words(dict.fromkeys(("feedback_title", "feedback_send", "feedback_close"), "x" * 60))
    for words in (HOUSE_WORDS, long):
        assert fault_of(complaint_dialog(words, "C1", TS)) == ""
