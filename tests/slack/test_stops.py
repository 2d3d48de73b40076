"""Slack's stop button: read from users of our workspace alone, and never broken by what a payload holds."""

from typing import Any

from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.incoming.stops import says_stop, session_stopped
from daemon.core.ports.arrivals import Edit, NewMessage, Source, Stop
from tests.slack.parts import OURS, TS

READER = EventReader("minoan", OURS)


def pressed(**changes: object) -> dict[str, Any]:
    event = {
        "type": "agent_session_stopped",
        "user": "U1",
        "channel": "D1",
        "thread_ts": TS,
        "streaming_message_ts": ["1.2"],
        "event_ts": "9.1",
    }
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event | changes}


def test_a_press_is_a_stop_of_its_thread() -> None:
    assert session_stopped(READER, pressed()) == Stop("Ev1", "minoan", "T1", "D1", TS, "U1")


def test_foreign_and_broken_presses_are_nothing() -> None:
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
        assert session_stopped(READER, pressed(**changes)) is None, changes
    assert session_stopped(EventReader("minoan", OURS, members=frozenset({"U2"})), pressed()) is None, "not listed"


def test_the_word_stops_alone_and_live() -> None:
    for text, stops in (("stop", True), ("Stop!", True), ("stop the press", False), ("", False)):
        event = {"type": "message", "channel_type": "im", "user": "U1", "channel": "D1", "ts": TS, "text": text}
        message = READER.event({"event": event, "event_id": "Ev1"})
        assert isinstance(message, NewMessage), text
        assert says_stop(message) is stops, text
        late = READER.event({"event": event, "event_id": "Ev1"}, Source.BACKFILL)
        assert isinstance(late, NewMessage), text
        assert not says_stop(late), "what is read from history stops nothing of now"
        assert not says_stop(Edit("Ev1", "minoan", "T1", "D1", TS, "stop")), text
