"""Thumbs at the soul's posts: read from users of our workspace alone, and never broken by what a payload holds."""

from typing import Any

from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.incoming.reactions import taken_back, thumb_given
from daemon.core.ports.arrivals import Feedback, Withdrawal
from tests.slack.parts import OURS, TS

READER = EventReader("minoan", OURS)


def reacted(**changes: object) -> dict[str, Any]:
    event = {
        "type": "reaction_added",
        "user": "U1",
        "reaction": "-1",
        "item": {"type": "message", "channel": "C1", "ts": TS},
        "item_user": OURS.user,
        "event_ts": "9.1",
    }
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event | changes}


def test_a_thumb_at_a_post_of_ours_is_feedback() -> None:
    given = Feedback("Ev1", "minoan", "T1", "C1", TS, "U1", "bad", how="reaction")
    assert thumb_given(READER, reacted()) == given
    removed = thumb_given(READER, reacted(type="reaction_removed", reaction="thumbsup::skin-tone-3"))
    assert removed is not None
    assert (removed.value, removed.taken_back) == ("good", True)


def test_a_cross_at_a_post_of_ours_takes_it_back() -> None:
    assert taken_back(READER, reacted(reaction="x")) == Withdrawal("Ev1", "minoan", "T1", "C1", TS, "U1")
    trusted = EventReader("minoan", OURS, approvers=("U1",))
    assert taken_back(trusted, reacted(reaction="x")) == Withdrawal("Ev1", "minoan", "T1", "C1", TS, "U1", True)
    for other in ({"type": "reaction_removed"}, {"item_user": "U2"}, {"user": OURS.user}, {"user_team": "T9"}):
        assert taken_back(READER, reacted(reaction="x", **other)) is None
    assert taken_back(READER, reacted(reaction="+1")) is None


def test_other_reactions_are_nothing() -> None:
    for changes in (
        {"reaction": "x"},
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
        assert thumb_given(READER, reacted(**changes)) is None, changes
