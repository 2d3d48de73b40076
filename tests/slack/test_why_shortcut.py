"""The shortcut at a message: its payload, its acknowledgement, and the sentence where it has no effect."""

from typing import Any

from daemon.channels.slack.api.manifest import manifest
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.core.phrases import WHY_SHORTCUT
from daemon.core.ports.arrivals import WhyAsked
from daemon.core.sentences import Words
from tests.fakes import FakeIntake
from tests.slack.conftest import Open
from tests.slack.parts import OURS, TS, WorkspaceControl, listening

READER = EventReader("minoan", OURS)


def used(**changes: object) -> dict[str, Any]:
    return {
        "type": "message_action",
        "callback_id": WHY_SHORTCUT,
        "action_ts": "9.1",
        "team": {"id": "T1", "domain": "local"},
        "user": {"id": "U1", "username": "ada", "team_id": "T1", "name": "ada"},
        "channel": {"id": "C1", "name": "general"},
        "message_ts": TS,
        "message": {"type": "message", "ts": TS, "text": "hi", "user": "U0SOUL"},
        "response_url": "https://hooks.slack.com/app/1",
        "trigger_id": "1.2.3",
    } | changes


def test_the_shortcut_is_read_once_for_each_use() -> None:
    asked = WhyAsked(f"why:C1:{TS}:U1:9.1", "minoan", "T1", "C1", TS, "U1")
    assert READER.shortcut(used()) == asked
    again = READER.shortcut(used(action_ts="9.2"))
    assert again is not None
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
        assert READER.shortcut(used(**changes)) is None, changes
    assert EventReader("minoan", OURS, members=frozenset({"U2"})).shortcut(used()) is None, "who is not listed"
    assert EventReader("minoan", OURS, members=frozenset({"U2"})).is_unlisted(used())
    assert not EventReader("minoan", OURS, members=frozenset({"U1"})).is_unlisted(used())


def test_the_manifest_puts_it_at_each_message_within_slacks_sizes() -> None:
    features = manifest()["features"]
    assert isinstance(features, dict)
    [shortcut, _] = features["shortcuts"]
    assert shortcut == {
        "name": "Why did you say that?",
        "type": "message",
        "callback_id": WHY_SHORTCUT,
        "description": "Shows what the soul remembers that bears what it said there.",
    }
    long = manifest(words=Words({"because_shortcut": "x" * 60, "because_shortcut_shows": "y" * 400}))["features"]
    assert isinstance(long, dict)
    assert (len(long["shortcuts"][0]["name"]), len(long["shortcuts"][0]["description"])) == (24, 150)


async def test_an_unlisted_user_is_told_alone_that_it_has_no_effect(
    open_channel: Open, intake: FakeIntake, control: WorkspaceControl
) -> None:
    channel = open_channel(members=("U0ADA",))
    root = await control.say("Ada", "general", "hi")
    async with listening(channel, intake):
        await control.do("shortcut", person="Ben", channel="general", ts=root, callback_id=WHY_SHORTCUT)

        async def whispers() -> list[dict[str, Any]]:
            return await control.calls("(response_url)")

        [whisper] = await control.until(whispers, 1)
    assert whisper["args"]["response_type"] == "ephemeral"
    assert "no effect" in whisper["args"]["text"]
    assert intake.arrivals == []
