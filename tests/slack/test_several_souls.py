"""Several souls in one workspace: their channels, their names and icons, and catch-up for each of them."""

from collections.abc import AsyncIterator, Mapping

import pytest

from daemon.channels.slack.appearance import Appearance
from daemon.channels.slack.arrivals import read
from daemon.channels.slack.channel import SlackChannel
from daemon.channels.slack.event_reader import EventReader
from daemon.core.config import Settings
from daemon.core.errors import AccessLost
from daemon.core.ports.arrivals import Decision, Deletion, Edit, Feedback, NewMessage
from tests.fakes import Events, FakeDrafts, TurnableClock
from tests.given import perception, post
from tests.slack.conftest import Wire
from tests.slack.parts import OURS, TS, Control, caught_up, press

APPEARANCES: Mapping[str, Appearance] = {
    "tamarru": Appearance("Tamarru <!channel>", ":fire:"),
    "gordon": Appearance("Gordon", "https://example.org/gordon.png"),
    "astour": Appearance("Astour", "javascript:alert(1)"),
    "nameless": Appearance(" "),
}


def soul_for_channel(channel: str) -> str:
    """#founders belongs to Tamarru; for a DM this would be the wrong soul."""
    return "tamarru" if channel in {"C0FOUNDERS", "D0ADA", "C2"} else "minoan"


@pytest.fixture
def house(settings: Settings) -> Settings:
    return settings.model_copy(update={"souls": ("tamarru",)})


@pytest.fixture
async def channel(house: Settings, events: Events) -> AsyncIterator[SlackChannel]:
    opened = SlackChannel(
        house, TurnableClock(), events, soul_for_channel=soul_for_channel, appearance_of=APPEARANCES.get
    )
    yield opened
    await opened.close()


def test_edits_deletions_feedback_and_decisions_belong_to_the_soul_of_their_channel() -> None:
    reader = EventReader("minoan", OURS, soul_for_channel=soul_for_channel, other_souls=("tamarru", "minoan"))
    assert reader.souls == ("minoan", "tamarru")
    message = {"type": "message", "channel": "C2", "user": "U1", "ts": TS, "text": "now <@U0SOUL>"}
    edit = {"type": "message", "subtype": "message_changed", "channel": "C2"}
    revision = reader.event({"event": {**edit, "message": message, "previous_message": {**message, "text": "x"}}})
    assert isinstance(revision, Edit)
    assert isinstance(revision.asks, NewMessage)
    assert (revision.soul, revision.asks.perception.conversation.soul) == ("tamarru", "tamarru")
    gone = {**edit, "subtype": "message_deleted", "deleted_ts": TS, "previous_message": message}
    deletion = reader.event({"event": gone})
    assert isinstance(deletion, Deletion)
    assert deletion.soul == "tamarru"
    for payload, kind in ((press(channel={"id": "C2"}), Decision), (press("soul_feedback", "good"), Feedback)):
        found = read(reader, payload)
        assert isinstance(found, kind)
        assert found.soul == ("tamarru" if found.channel == "C2" else "minoan")


async def test_catch_up_reads_for_every_soul_under_one_watermark(on: Wire) -> None:
    root = await on.control.say("Ada", "founders", "an old talk")
    other = await on.control.say("Ada", "general", "another old talk")
    await on.control.do("clock", advance=1.0)
    await on.control.say("Ada", "founders", "@soul a reply", thread=root)
    await on.control.say("Ada", "general", "@soul another reply", thread=other)
    marks: list[str] = []
    advance = on.intake.catch_up_log.advance

    async def note(soul: str, workspace: str, ts: str) -> None:
        marks.append(soul)
        await advance(soul, workspace, ts)

    on.intake.catch_up_log.advance = note  # type: ignore[method-assign]  # it only looks
    async with caught_up(on.channel, on.intake, on.events):
        pass
    assert set(marks) == {"minoan"}
    found = {one.perception.content: one.perception.conversation.soul for one in on.intake.messages()}
    assert found == {"a reply": "tamarru", "another reply": "minoan"}


async def test_posts_and_streams_show_the_name_and_icon_of_their_soul(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "founders", "hi")
    team = control.server.team.id
    await channel.identify()
    for soul in ("minoan", "tamarru", "gordon", "astour", "nameless"):
        await channel.deliver(post("C0FOUNDERS", "I am.", reply_to=root, key=soul, soul=soul))
    sent = [call["args"] for call in await control.calls("chat.postMessage")]
    assert [(one.get("username"), one.get("icon_emoji"), one.get("icon_url")) for one in sent] == [
        (None, None, None),
        ("Tamarru <\u2060!channel>", ":fire:", None),
        ("Gordon", None, "https://example.org/gordon.png"),
        ("Astour", None, None),
        (None, None, None),
    ]
    shown = await control.replies("C0FOUNDERS", root)
    assert shown[1]["icons"] == {"emoji": ":fire:"}
    assert shown[2]["icons"] == {"image_48": "https://example.org/gordon.png"}
    log = FakeDrafts()
    asked = perception(channel="C0FOUNDERS", thread=root, ts=root, source="U0ADA", team=team, soul="gordon")
    speech = channel.speak(asked, log.log)
    await speech.say("q" * 100)
    await log.settled.wait()
    await speech.settle()
    (start,) = await control.calls("chat.startStream")
    assert (start["answer"]["ok"], start["args"]["username"]) == (True, "Gordon")


async def test_without_the_scope_posts_show_the_app_s_name_and_it_is_logged_once(on: Wire, house: Settings) -> None:
    await on.channel.identify()
    on.control.server.workspace.scopes -= {"chat:write.customize"}
    for key in ("k1", "k2"):
        await on.channel.deliver(post("C0GENERAL", "I am.", key=key, soul="gordon"))
    assert ["username" in call["args"] for call in await on.control.calls("chat.postMessage")] == [True, False, False]
    assert len(on.events.named("slack.faces_missing")) == 1, "a scope that is removed later costs one refusal"
    restarted = SlackChannel(house, TurnableClock(), on.events, appearance_of=APPEARANCES.get)
    await restarted.identify()
    await restarted.deliver(post("C0GENERAL", "I am.", soul="gordon"))
    await restarted.close()
    assert "chat:write.customize" in str(on.events.named("slack.faces_missing")[1]["hint"])
    last = (await on.control.calls("chat.postMessage"))[3]
    assert (last["answer"]["ok"], "username" in last["args"]) == (True, False)
    on.control.server.workspace.scopes = frozenset()
    with pytest.raises(AccessLost):
        await on.channel.deliver(post("C0GENERAL", "I am.", key="k3"))
