"""Which envelopes are Slack's by their form, and which of those are for our app in our workspace."""

from typing import Any

from msgspec.structs import replace

from daemon.channels.slack.payload import is_well_formed, meant_for
from tests.slack.parts import OURS

IDENTITY = replace(OURS, app="A1", enterprise="E1")


def test_what_names_no_other_receiver_is_heard() -> None:
    ours: tuple[dict[str, Any], ...] = (
        {},
        {"api_app_id": "A1", "authorizations": []},
        {"authorizations": [{"team_id": "T1"}]},
        {"authorizations": [{"team_id": "T9"}, {"team_id": "T1"}]},
        {"authorizations": [{"team_id": None, "enterprise_id": "E1"}]},
        {"team_id": "T9", "authorizations": [{"team_id": "T1"}]},  # a channel that is shared with T9
    )
    for body in ours:
        assert meant_for(IDENTITY, body), body


def test_what_is_for_another_app_or_workspace_is_not() -> None:
    others: tuple[dict[str, Any], ...] = (
        {"api_app_id": "A2"},
        {"api_app_id": ["A1"]},
        {"authorizations": [{"team_id": "T9"}]},
        {"authorizations": [{"team_id": "T9", "enterprise_id": "E1"}]},
        {"authorizations": [{"team_id": None, "enterprise_id": "E9"}]},
        {"authorizations": [{}]},
        {"authorizations": ["T1"]},
    )
    for body in others:
        assert not meant_for(IDENTITY, body), body
    assert meant_for(replace(IDENTITY, app=""), {"api_app_id": "A2"}), "without an app id in the token"


def test_what_has_not_slacks_form_is_read_by_nobody() -> None:
    malformed: tuple[object, ...] = (
        None,
        [],
        {"event": "x"},
        {"event": None},
        {"event": {"type": ["message"]}},
        {"event": {"user": 7}},
        {"authorizations": {"0": {}}},
        {"authorizations": ["T1"]},
        {"actions": "all"},
        {"response_urls": [1]},
        {"event": {"item": {"channel": ["C1"]}}},
    )
    for body in malformed:
        assert not is_well_formed(body), body
    event = {"type": "user_change", "user": {"id": "U1"}, "channel": None}
    whole = {"event": event, "authorizations": [{"team_id": "T1"}], "enterprise": None, "view": {}}
    assert is_well_formed(whole)
