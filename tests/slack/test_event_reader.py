"""Events become arrivals with the right author, conversation and audience; no payload raises an error."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.arrivals import read as read_from
from daemon.channels.slack.event_reader import BARE_MENTION, EventReader, channel_type, place_of
from daemon.core.perception import ConversationKey, Place
from daemon.core.ports.arrivals import Decision, Deletion, Edit, Feedback, NewMessage, PickedAnswer, Source
from daemon.core.sentences import Sentence
from tests.slack.hostile import ANYTHING, TEXT
from tests.slack.parts import OURS, TS, press

OLD = "1740000000.000100"


def reader(**more: Any) -> EventReader:  # noqa: ANN401  # any field
    """A reader for the soul with the user id U0SOUL."""
    return EventReader("minoan", OURS, **more)


def event(**more: object) -> dict[str, object]:
    """A message event of U1 in a public channel."""
    message = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": TS, "text": "hi"}
    return {"event_id": "Ev1", "team_id": "T1", "event": {**message, **more}}


def read(**more: object) -> NewMessage:
    found = reader().event(event(**more))
    assert isinstance(found, NewMessage)
    return found


def test_the_channel_kind_decides_the_audience() -> None:
    for kind, channel, place, audience in (
        ("im", "D1", Place.DM, "dm:D1"),
        ("mpim", "G1", Place.GROUP_DM, "channel:G1"),
        ("group", "C9", Place.PRIVATE_CHANNEL, "channel:C9"),
        ("channel", "C1", Place.PUBLIC_CHANNEL, "workspace:T1"),
    ):
        message = read(channel=channel, channel_type=kind, text="<@U0SOUL> hello")
        assert (message.perception.place, str(message.perception.audience), message.addressed) == (
            place,
            audience,
            True,
        ), kind


def test_a_thread_reply_is_not_addressed_and_other_channel_messages_are_not_read() -> None:
    reply = read(thread_ts=OLD)
    assert (reply.addressed, reply.to_others) == (False, False)
    assert reader().event(event()) is None
    assert reader().event(event(channel="G1", channel_type="mpim")) is None
    for subtype in ("file_share", "thread_broadcast"):
        assert read(channel="D1", channel_type="im", subtype=subtype).perception.content == "hi", subtype


def test_a_mention_without_a_channel_type_is_private_until_the_channel_is_known() -> None:
    ours = reader()
    mention = event(type="app_mention", channel_type=None, text="<@U0SOUL> hello")
    first, _ = ours.event(mention), ours.event(event())
    second = ours.event(mention)
    assert isinstance(first, NewMessage)
    assert isinstance(second, NewMessage)
    assert (str(first.perception.audience), str(second.perception.audience)) == ("channel:C1", "workspace:T1")


def test_both_events_of_a_mention_are_the_same_message() -> None:
    twins = [read(type=kind, text="<@U0SOUL> hello").perception for kind in ("app_mention", "message")]
    assert (twins[0].conversation, twins[0].ts) == (twins[1].conversation, TS)


def test_every_message_belongs_to_one_conversation() -> None:
    for fields, thread, root in (
        ({"channel": "D1", "channel_type": "im"}, "", ""),
        ({"channel": "D1", "channel_type": "im", "thread_ts": TS}, "", ""),
        ({"channel": "D1", "channel_type": "im", "thread_ts": OLD}, OLD, OLD),
        ({"text": "<@U0SOUL> hi"}, TS, ""),
        ({"thread_ts": OLD}, OLD, OLD),
    ):
        message = read(**fields)
        assert (message.perception.conversation.thread, message.thread_root) == (thread, root), fields


def test_messages_to_other_users_are_recognised_by_their_mentions() -> None:
    for text, others in (
        ("what do you think?", False),
        ("<@U2> what do you think?", True),
        ("I agree with <@U2|bob>", True),
        ("<@U0SOUL> ask <@U2>", False),
        ("<@U2> ask <@U0SOUL>", True),
        ("<!subteam^S1|@ops> please", True),
        ("please, <!subteam^S1>", True),
        ("<!here> lunch", False),
    ):
        assert read(text=text, thread_ts=OLD).to_others is others, text


def test_markup_is_read_as_the_user_typed_it() -> None:
    for raw, text in (
        ("<@U0SOUL> hello", "hello"),
        ("hey <@U0SOUL|soul>, hello", "hey, hello"),
        ("<@U0SOUL>: can <@U0SOUL> help?  ```a  b```", "can help?  ```a  b```"),
        ("<@U0SOUL>", BARE_MENTION),
        ("<@U0SOUL> ask <@U2|bob> &amp; <@U3>", "ask <@U2> & <@U3>"),
        ("&lt;!channel&gt; &amp;lt;", "<!channel> &lt;"),
        ("<https://a.example/x?a=1&amp;b=2|the page>", "the page (https://a.example/x?a=1&b=2)"),
        ("<https://a.example> <https://a.example|a.example>", "https://a.example https://a.example"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<#C2|general> <#C3> <!here> <!channel|channel> <!subteam^S1|@ops>", "#general #C3 @here @channel @ops"),
        ("<!subteam^S1> <!subteam^S1|>", "<!subteam^S1> <!subteam^S1>"),
        ("<!date^1392734382^{date}|18 Feb> <!date^1>", "18 Feb date^1"),
        ("a\x00b\ud800c\x1b[31m\r\nd", "ab\ufffdc[31m\nd"),
        ("if a < b > c", "if a < b > c"),
        ("  two  spaces  kept", "two  spaces  kept"),
    ):
        assert read(channel="D1", channel_type="im", text=raw).perception.content == text, raw


def test_a_very_long_message_is_cut_and_shared_files_are_named() -> None:
    message = read(channel="D1", channel_type="im", text="x" * 1_000_000, files=[{"name": "a.png"}, {"title": "b"}, 7])
    words, *files = message.perception.content.splitlines()
    assert (len(words), words[-3:]) == (40_000, "[…]"[-3:])
    assert files == ["[shared a file: a.png]", "[shared a file: b]", "[shared a file: unnamed]"]
    assert len(message.envelope) < 2_000
    secret = reader().event(event(text="<@U0SOUL> a secret", user_team="T9") | {"is_ext_shared_channel": True})
    assert isinstance(secret, NewMessage)
    kept = json.loads(secret.envelope)
    assert (kept["user_team"], kept["is_ext_shared_channel"]) == ("T9", True)
    assert "secret" not in secret.envelope, "it holds ids but not the text"


def test_our_own_posts_other_bots_and_notices_are_no_messages() -> None:
    for fields in (
        {"user": "U0SOUL"},
        {"user": "U7", "bot_id": "B0SOUL"},
        {"user": "U7", "bot_id": "B7"},
        {"subtype": "bot_message", "bot_id": "B7", "user": None},
        {"subtype": "channel_join"},
        {"hidden": True},
        {"user": None},
        {"user": "U/../1"},
        {"ts": "yesterday"},
        {"ts": None},
        {"channel": "C 1"},
        {"type": "reaction_added"},
    ):
        assert reader().event(event(**{"channel": "D1", "channel_type": "im", **fields})) is None, fields
    allowed = reader(bots=frozenset({"B7"}))
    for fields, author in (
        ({"user": "U7", "bot_id": "B7"}, "U7"),
        ({"subtype": "bot_message", "bot_id": "B7", "user": None}, "B7"),
    ):
        message = allowed.event(event(text="<@U0SOUL> ping", **fields))
        assert isinstance(message, NewMessage), fields
        assert message.perception.author == author, "a bot that is allowed is read"


def changed(now: dict[str, object], before: dict[str, object] | None) -> Any:  # noqa: ANN401  # any arrival
    more = {} if before is None else {"previous_message": before}
    message = {"user": "U1", "ts": TS, **now}
    return reader().event(event(subtype="message_changed", message=message, ts="1750000009.000000", **more))


def test_an_edit_is_read_only_if_the_text_changed() -> None:
    edit = changed({"text": "<@U0SOUL> new"}, {"text": "<@U0SOUL> old"})
    assert isinstance(edit, Edit)
    assert (edit.ts, edit.text) == (TS, "new")
    assert changed({"text": "a", "attachments": []}, {"text": "a"}) is None
    assert isinstance(changed({"text": "a", "edited": {"ts": "1"}}, None), Edit)
    assert changed({"text": "a"}, None) is None
    assert changed({"text": "a", "user": "U0SOUL"}, {"text": "b"}) is None
    assert changed({"text": "a", "ts": "x"}, {"text": "b"}) is None


def test_a_deletion_is_read_also_from_a_tombstone() -> None:
    gone = reader().event(event(subtype="message_deleted", deleted_ts=TS, ts="1750000009.000000"))
    assert isinstance(gone, Deletion)
    assert gone.ts == TS
    assert isinstance(changed({"subtype": "tombstone", "user": "USLACKBOT"}, {"text": "x"}), Deletion)
    ours = event(subtype="message_deleted", deleted_ts=TS, previous_message={"user": "U0SOUL"})
    assert reader().event(ours) is None
    assert reader().event(event(subtype="message_deleted", deleted_ts=7)) is None


def test_an_event_without_an_id_gets_one() -> None:
    late = reader().event(event(channel="D1", channel_type="im") | {"event_id": None}, Source.BACKFILL)
    assert isinstance(late, NewMessage)
    assert (late.source, late.event_id) == (Source.BACKFILL, f"message:D1:{TS}")


def feedback(**more: object) -> dict[str, object]:
    pressed = {"action_id": "soul_feedback", "value": "good", "action_ts": "7.7"}
    return press(actions=[{"action_id": "other"}, pressed]) | more


def test_a_press_of_a_feedback_button_is_feedback_of_a_user_of_ours() -> None:
    found = read_from(reader(), feedback())
    assert found == Feedback(f"action:C1:{TS}:U1:7.7", "minoan", "T1", "C1", TS, "U1", "good")
    others: tuple[dict[str, object], ...] = (
        {"actions": [{"action_id": "other", "value": "good"}]},
        {"actions": [{"action_id": "soul_feedback", "value": "DROP"}]},
        {"user": {"id": "U1", "team_id": "T9"}},
        {"user": {"id": ""}},
        {"container": {}},
    )
    for more in others:
        assert read_from(reader(), feedback() | more) is None, more
    assert read_from(reader(members=frozenset({"U2"})), feedback()) == Sentence("press_void")
    assert read_from(reader(members=frozenset({"U1"})), feedback()) == found


def test_a_channel_is_public_only_if_slack_says_so() -> None:
    for room, place in (
        ({"is_im": True}, Place.DM),
        ({"is_mpim": True, "is_private": True}, Place.GROUP_DM),
        ({"is_channel": True, "is_private": True}, Place.PRIVATE_CHANNEL),
        ({"is_group": True}, Place.PRIVATE_CHANNEL),
        ({"is_channel": True}, Place.PUBLIC_CHANNEL),
        ({}, Place.PRIVATE_CHANNEL),
    ):
        assert place_of(room) is place, room
        assert channel_type(place) in {"im", "mpim", "group", "channel"}, room


MESSAGES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["message", "app_mention"]),
        "channel": st.sampled_from(["C1", "D1", "G1"]),
        "ts": st.just(TS),
    },
    optional={
        "subtype": st.sampled_from(["message_changed", "message_deleted", "file_share"]) | ANYTHING,
        "user": st.just("U1") | ANYTHING,
        "text": TEXT | ANYTHING,
        "channel_type": st.just("im") | ANYTHING,
        "files": ANYTHING,
        "message": ANYTHING,
        "previous_message": ANYTHING,
        "deleted_ts": st.just(TS) | ANYTHING,
        "thread_ts": st.just(TS) | ANYTHING,
    },
)


PRESS = st.fixed_dictionaries(
    {
        "action_id": st.sampled_from(["soul_approval_yes", "soul_approval_no", "soul_feedback", "soul_answer_4"]),
        "value": st.sampled_from(["good", "approve:a-1", "refuse:a-1"]) | TEXT,
        "action_ts": TEXT,
    }
)
PRESSES = st.fixed_dictionaries(
    {
        "type": st.just("block_actions"),
        "user": st.just({"id": "U1"}) | ANYTHING,
        "channel": st.just({"id": "C1"}) | ANYTHING,
        "container": st.just({"message_ts": TS}) | ANYTHING,
        "actions": st.lists(PRESS, max_size=2),
    }
)


@given(PRESSES)
def test_any_button_payload_is_read_without_error_and_the_result_can_be_stored(payload: object) -> None:
    found = read_from(reader(), payload)
    if found is None:
        return
    assert isinstance(found, Decision | PickedAnswer | Feedback)
    found.event_id.encode()
    if isinstance(found, Decision):
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", found.approval)
    elif isinstance(found, PickedAnswer):
        assert found.number in range(5)
    else:
        assert found.value in {"good", "bad"}


@given(ANYTHING | st.fixed_dictionaries({"event": ANYTHING | MESSAGES}))
def test_any_event_payload_is_read_without_error_and_the_result_can_be_stored(payload: object) -> None:
    for found in (reader().event(payload), read_from(reader(), payload)):
        if isinstance(found, NewMessage | Edit | Deletion):
            assert found.event_id
            assert "/" not in (found.perception.ts if isinstance(found, NewMessage) else found.ts)
        if isinstance(found, NewMessage | Edit):
            words = found.perception.content if isinstance(found, NewMessage) else found.text
            words.encode()
            assert words
        if isinstance(found, NewMessage):
            found.envelope.encode()
            conversation = found.perception.conversation
            assert ConversationKey.parse(str(conversation)) == conversation
