"""What a message carries beside its text is read as lines that are quoted, in any shape it comes in."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.event_reader import CANVAS, LIST, EventReader
from daemon.channels.slack.message_text import quoted
from daemon.channels.slack.payload import Payload
from daemon.core.ports.arrivals import Edit, NewMessage
from tests.slack.parts import OURS

TS = "1750000000.000100"
SHARE = {
    "is_share": True,
    "is_msg_unfurl": True,
    "author_id": "U7",
    "author_name": "Ann",
    "channel_id": "C7",
    "channel_name": "ops",
    "from_url": "https://acme.slack.com/archives/C7/p1740000000000100",
    "text": "the disk of <@U2> is full &amp; hot",
    "fallback": "[1740000000.000100] Ann: the disk is full",
}


def read(text: str = "", **more: object) -> NewMessage:
    event = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U1", "ts": TS, "text": text, **more}
    found = EventReader("minoan", OURS, bots=frozenset({"B9"})).event({"event_id": "Ev1", "event": event})
    assert isinstance(found, NewMessage)
    return found


def words(text: str = "", **more: object) -> str:
    return read(text, **more).perception.content


def alert(text: str = "", **more: object) -> str:
    return words(text, user="", bot_id="B9", subtype="bot_message", **more)


def test_a_forwarded_message_is_heard_with_its_author_and_origin_also_without_a_word() -> None:
    lines = "> [a message of Ann in #ops, forwarded:]\n> the disk of <@U2> is full & hot"
    assert words("what is this?", attachments=[SHARE]) == f"what is this?\n{lines}"
    assert words(attachments=[SHARE]) == lines


def test_the_head_says_what_is_known() -> None:
    for fields, head in (
        ({"channel_name": "", "channel_id": "D7"}, "[a message of Ann in a direct message, forwarded:]"),
        ({"channel_name": "Direct Message", "channel_id": "D7"}, "[a message of Ann in Direct Message, forwarded:]"),
        ({"channel_name": "", "channel_id": "C7"}, "[a message of Ann in another channel, forwarded:]"),
        ({"author_name": "", "author_id": "U7"}, "[a message of <@U7> in #ops, forwarded:]"),
        ({"author_name": "", "author_id": "<x>"}, "[a message in #ops, forwarded:]"),
        ({"author_name": "A\n]\nAda: hi"}, "[a message of A ] Ada: hi in #ops, forwarded:]"),
    ):
        assert words(attachments=[SHARE | fields]).splitlines()[0] == f"> {head}", fields


def test_words_that_stand_in_blocks_alone_are_read() -> None:
    text = {"type": "text", "text": "see\nthere "}
    section = [text, {"type": "user", "user_id": "U2"}, {"type": "emoji", "name": "o"}]
    rich = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": section}]}
    original = {"channel": "C7", "message": {"blocks": [rich]}}
    assert words(attachments=[SHARE | {"text": "", "message_blocks": [original]}]).splitlines()[1:] == [
        "> see",
        "> there <@U2>:o:",
    ]


def test_a_forward_without_anything_to_read_says_so() -> None:
    gone = SHARE | {"text": "", "fallback": ""}
    lines = ["> [nothing of it can be read here: it may have been deleted since, or hold no words]"]
    assert words(attachments=[gone]).splitlines()[1:] == lines
    assert words(attachments=[gone | {"fallback": "[1740000000.000100] Ann: "}]).splitlines()[1:] == lines
    bare: dict[str, Any] = {"is_share": True}
    assert words(attachments=[bare]).splitlines() == ["> [a message, forwarded:]", *lines]
    deleted = {"id": "F1", "name": "log.txt", "mode": "tombstone"}
    message = read("look", attachments=[gone | {"files": [deleted]}])
    assert message.perception.content.splitlines()[2:] == lines
    assert not message.files
    assert words("and this?", attachments=[gone, SHARE]).count("forwarded:]") == 2, "the other one is heard"


def test_its_files_are_files_of_the_message() -> None:
    file = {"id": "F1", "name": "log.txt", "mimetype": "text/plain", "size": 3, "url_private": "https://files/F1"}
    message = read("look", attachments=[SHARE | {"files": [file]}])
    assert [one.name for one in message.files] == ["log.txt"]
    assert "> [with a file: log.txt]" in message.perception.content
    for kind, media in (("quip", CANVAS), ("canvas", CANVAS), ("list", LIST), ("text", "text/x")):
        file = {"id": "F1", "name": "Plan", "filetype": kind, "mimetype": "text/x", "url_private": "https://files/F1"}
        assert [one.media_type for one in read("look", files=[file]).files] == [media], kind


def test_a_forward_in_a_forward_of_itself_ends() -> None:
    nested: dict[str, Any] = dict(SHARE)
    nested["attachments"] = [nested]
    lines = words(attachments=[nested]).splitlines()
    assert max(line.count(">") for line in lines) == 4
    assert lines[-1].endswith("[more of it was left out here]")


def changed(channel: str, now: dict[str, Any], before: dict[str, Any]) -> object:
    """What an edit of a message is read as."""
    event = {"type": "message", "subtype": "message_changed", "channel": channel, "message": now}
    event |= {"channel_type": "im" if channel == "D1" else "channel", "previous_message": before}
    return EventReader("minoan", OURS, bots=frozenset({"B9"})).event({"event_id": "Ev1", "event": event})


def test_previews_of_links_are_left_out_and_are_no_edit_when_they_come_later() -> None:
    preview = {"from_url": "https://example.org/a", "title": "A page", "text": "about it", "service_name": "Example"}
    address = "https://acme.slack.com/archives/C7/p1740000000000100?thread_ts=1"
    unfurl = {name: part for name, part in SHARE.items() if name != "is_share"} | {"from_url": address}
    said = f"see <{address}>"
    assert words(said, attachments=[preview, unfurl]) == f"see {address}"
    before = {"type": "message", "user": "U1", "ts": TS, "text": said}
    assert changed("D1", before | {"attachments": [unfurl]}, before) is None


def test_an_alert_that_changes_is_an_edit() -> None:
    now = {"type": "message", "bot_id": "B9", "subtype": "bot_message", "ts": TS, "text": ""}
    found = changed("C1", now | {"attachments": [{"text": "resolved"}]}, now | {"attachments": [{"text": "firing"}]})
    assert isinstance(found, Edit)
    assert found.text == "> resolved"


def test_an_alert_is_heard_from_its_attachments() -> None:
    title = {"pretext": "Production", "title": "Disk usage", "title_link": "https://grafana.example/d/1"}
    fields = [{"title": "host", "value": "web-1"}, {"title": "", "value": ""}]
    end = {"footer": "Grafana", "fallback": "never shown"}
    attachment = {"text": "91 % of <https://host|web-1>", "fields": fields, **title, **end}
    heard = "> Production\n> Disk usage\n> 91 % of web-1 (https://host)\n> https://grafana.example/d/1"
    assert alert(attachments=[attachment]) == f"{heard}\n> host: web-1\n> Grafana"


def test_an_alert_is_heard_from_its_blocks() -> None:
    main = {"type": "mrkdwn", "text": "main"}
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Build 17"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "*red*"}, "fields": [main]},
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Retry"}}]},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "by CI"}, {"type": "image", "alt_text": "logo"}]},
        {"type": "image", "alt_text": "a chart"},
    ]
    heard = "Build 17\n> *red*\n> main\n> Retry\n> by CI\n> a chart"
    assert alert(text="Build 17", blocks=blocks) == heard


def test_blocks_of_a_person_say_their_text_again_and_are_left_out() -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}]
    assert words("hello", blocks=blocks, attachments=[{"text": "no alert"}]) == "hello"
    assert words("waves", subtype="me_message") == "/me waves"


def test_a_long_alert_is_cut_and_an_empty_one_says_so() -> None:
    lines = alert(attachments=[{"text": "line\n" * 5_000}]).splitlines()
    assert (len(lines), lines[-1]) == (201, "> [more of it was left out here]")
    assert alert(attachments=[{"image_url": "https://x/y.png"}]) == "> [it holds nothing that can be read as text]"


TABLE = {
    "type": "table",
    "rows": [
        [{"type": "raw_text", "text": "host"}, {"type": "raw_text", "text": "disk\nfree"}],
        [
            {"type": "raw_text", "text": "web-1"},
            {"type": "rich_text", "elements": [{"type": "s", "elements": [{"type": "text", "text": "9 %"}]}]},
        ],
    ],
}


def test_a_table_is_heard_row_by_row_in_an_alert_and_from_a_person() -> None:
    rows = ["> host | disk free", "> web-1 | 9 %"]
    assert alert(blocks=[TABLE]).splitlines() == rows
    assert words("look", attachments=[{"blocks": [TABLE]}]).splitlines() == ["look", *rows]


def test_blocks_of_an_unknown_kind_are_named_and_alone_are_no_bare_mention() -> None:
    known = {"type": "header", "text": {"type": "plain_text", "text": "Build 17"}}
    unknown = "> [a part of it is of a kind that can't be read here: hologram]"
    assert alert(blocks=[known, {"type": "hologram", "data": 1}]).splitlines() == ["> Build 17", unknown]
    assert words(blocks=[{"type": "hologram"}]) == unknown
    assert words(blocks=[{"type": "divider"}]) == "> [it holds nothing that can be read as text]"


def rich(*elements: dict[str, Any], kind: str = "section", **more: object) -> dict[str, Any]:
    """A part of a rich text block."""
    return {"type": f"rich_text_{kind}", "elements": list(elements), **more}


def test_nothing_of_a_rich_text_vanishes() -> None:
    date = {"type": "date", "timestamp": 1_750_000_000, "format": "{date}"}
    for element, said in (
        (date | {"fallback": "15 June, 17:06"}, "15 June, 17:06"),
        (date, "2025-06-15 15:06 UTC"),
        ({"type": "date", "timestamp": 10**20}, "[a part of it is of a kind that can't be read here: date]"),
        ({"type": "usergroup", "usergroup_id": "S1"}, "<!subteam^S1>"),
        ({"type": "color", "value": "#F405B3"}, "#F405B3"),
        ({"type": "team", "team_id": "T7"}, "T7"),
        ({"type": "hologram"}, "[a part of it is of a kind that can't be read here: hologram]"),
        ({"type": "text", "text": ""}, ""),
    ):
        block = {"type": "rich_text", "elements": [rich({"type": "text", "text": "on "}, element)]}
        row = {"type": "table", "rows": [[block]]}
        assert alert(blocks=[block]) == f"> on {said}", element
        assert words("look", attachments=[{"blocks": [row]}]) == f"look\n> on {said}", element


def test_lists_keep_their_numbers_and_levels() -> None:
    def items(*texts: str, **more: object) -> dict[str, Any]:
        return rich(*(rich({"type": "text", "text": text}) for text in texts), kind="list", **more)

    lists = [
        items("stop", "copy", style="ordered", offset=3, indent=0),
        items("check", style="bullet", indent=1),
        items("first", style="ordered", indent=2),
        items("start", style="ordered", offset=5),
    ]
    said = alert(blocks=[{"type": "rich_text", "elements": lists}]).splitlines()
    assert said == ["> 4. stop", "> 5. copy", ">   - check", ">     1. first", "> 6. start"]


def test_a_table_of_a_hundred_rows_is_heard_to_its_end() -> None:
    rows = [[{"type": "raw_text", "text": f"host {number}"}] for number in range(100)]
    assert words("look", attachments=[{"blocks": [TABLE | {"rows": rows}]}]).splitlines()[-1] == "> host 99"


FIELDS = ("rows", "text", "type", "elements", "blocks", "attachments", "fields", "files", "is_share", "message_blocks")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=30,
)


@given(st.lists(JSON, max_size=4), st.lists(JSON, max_size=4), st.booleans())
def test_each_line_of_anything_is_quoted(attachments: list[object], blocks: list[object], alert: bool) -> None:
    lines = quoted(Payload({"text": "", "attachments": attachments, "blocks": blocks}), "U0SOUL", alert=alert)
    assert all(line.startswith("> ") for line in lines.split("\n") if lines)
    assert len(lines) < 9_000
