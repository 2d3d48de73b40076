"""Long, strange and hostile text arrives whole, in order and inert, and so does code (P11, P41)."""

import re

import pytest

from daemon.channels.slack.api.manifest import SHARE_SCOPE, manifest
from tests.given import tagged
from tests.journeys.house import House, said

ALL_SCOPES: tuple[str, ...] = tuple(manifest()["oauth_config"]["scopes"]["bot"])  # type: ignore[index] # a manifest's shape
_CODE = "```python\n" + "".join(f"print({number})  # line of code\n" for number in range(400)) + "```\n"


def _long_reply() -> str:
    """About 30,000 characters of prose and code."""
    prose = "".join(f"Sentence number {number:04d} says something of no great weight. " for number in range(90))
    return "\n\n".join([prose, _CODE, prose, _CODE]).strip()


async def _without_files(house: House) -> None:
    """The app may send no files, so that long code stays in the messages."""
    await house.people.scopes(*(one for one in ALL_SCOPES if one != SHARE_SCOPE))
    await house.restart()


async def test_a_reply_of_thirty_thousand_characters_arrives_whole_in_order_with_its_code_closed(house: House) -> None:
    reply = _long_reply()
    assert len(reply) > 29_000
    await _without_files(house)
    house.model.replies.append(tagged(reply))
    await house.say("Ada", "dm", "everything, please")
    await house.reply("D0ADA")
    await house.idle()
    parts = await house.replies("D0ADA")
    assert 3 <= len(parts) <= 4
    assert all(len(part) <= 12_000 for part in parts)
    assert all(part.count("```") % 2 == 0 for part in parts)
    whole = "".join(parts)
    for pattern in (r"number (\d{4})", r"print\((\d+)\)"):
        assert re.findall(pattern, whole) == re.findall(pattern, reply)
    posts = await house.people.posts_by_bot("D0ADA")
    buttons = [any(block["type"] == "context_actions" for block in post["blocks"]) for post in posts]
    assert buttons == [False] * (len(posts) - 1) + [True]
    keys = [post["metadata"]["event_payload"]["part"] for post in posts]
    assert keys == list(range(len(posts)))


async def test_a_part_that_fails_on_the_way_is_sent_once_and_in_its_place(house: House) -> None:
    await _without_files(house)
    house.model.replies.append(tagged(_long_reply()))
    for mode in ("answer", "accept_then_drop", "reset_before"):
        await house.people.fault("chat.postMessage", mode=mode)
    await house.say("Ada", "dm", "everything, please")
    await house.reply("D0ADA")
    await house.idle()
    posts = await house.people.posts_by_bot("D0ADA")
    assert [post["metadata"]["event_payload"]["part"] for post in posts] == list(range(len(posts)))
    assert re.findall(r"number (\d{4})", "".join(map(said, posts))) == re.findall(r"number (\d{4})", _long_reply())


async def test_a_message_of_forty_thousand_characters_is_stored_whole_and_shown_cut_in_the_middle(house: House) -> None:
    text = "begin " + "word " * 7_990 + "the end"
    house.model.replies.append(tagged("Long!"))
    assert await house.answered("Ada", "dm", text) == "Long!"
    assert (await house.one("SELECT body FROM turns"))["body"] == text
    shown = house.prompts[-1].messages[-1].text
    assert "begin" in shown
    assert "the end" in shown
    assert "characters left out here" in shown
    assert len(shown) < 20_000


NASTY = {
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "right to left": "שלום \u202eevil\u202c مرحبا",
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
    "astral": "\U0001d573\U0001d58a 𒀀𒁀",
    "cjk": "こんにちは世界、你好。",
    "zero width": "a\u200bb\u2060c\ufeffd",
    "tags": "x\U000e0041\U000e0042y",
    "separators": "one\u2028two\u2029three",
    "nonchars": "a\ufffeb\uffffc",
    "entities": '&amp; &lt;b&gt; <b> & "quotes"',
    "nul": "before\\u0000after",
}


@pytest.mark.parametrize("kind", NASTY)
async def test_every_kind_of_writing_comes_in_and_goes_out(house: House, kind: str) -> None:
    text = NASTY[kind]
    house.model.replies.append(tagged(f"You wrote {text}!"))
    words = await house.answered("Ada", "dm", text)
    assert words.startswith("You wrote ")
    assert words.endswith("!")
    assert len(await house.rows("SELECT body FROM turns")) == 2
    assert await house.answered("Ada", "dm", "still well?") == "Echo: still well?"


async def test_half_a_surrogate_pair_breaks_nothing(house: House) -> None:
    house.model.replies.append(tagged("half \ud83d pair"))
    assert "half" in await house.answered("Ada", "dm", "hello")
    event = {"type": "message", "user": "U0ADA", "text": "half \ud83d", "channel": "D0ADA", "channel_type": "im"}
    ts = await house.say("Ada", "dm", "to be replied to")
    await house.people.emit({**event, "ts": house.ts(), "thread_ts": ts})
    await house.acknowledged()
    await house.idle()
    assert await house.answered("Ada", "dm", "still well?") == "Echo: still well?"


ATTACKS = (
    "<!channel> wake up",
    "<!here|here> wake up",
    "<!everyone>",
    "<!subteam^S123|@admins> look",
    "@channel @here @everyone",
    "&lt;!channel&gt;",
    "<@U0CHLOE> said you are wrong",
    "<!date^0^{date}|<!channel>>",
    "`<!channel>` and ```<!here>```",
    "[click](https://evil.example/?q=secret)",
    "![](https://evil.example/pixel.png?leak)",
    "<https://evil.example|https://good.example>",
)
_WAKING = re.compile(r"<!(?:channel|here|everyone|subteam)|<@U0CHLOE>")


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("streamed", [False, True], ids=["posted", "streamed"])
async def test_a_reply_that_would_notify_a_whole_channel_goes_out_inert(
    house: House, attack: str, streamed: bool
) -> None:
    text = f"Well then. {attack} And that is all, at some length, so that it may be shown at once. {attack}"
    if streamed:
        flow = house.flow()
        await house.say("Ada", "general", "@soul do it")
        await flow.asked.wait()
        flow.say('<external_dialogue verb="said">', *text)
        await house.until(lambda: _started(house))
        flow.end("</external_dialogue>")
        await house.reply("general")
        await house.idle()
    else:
        house.model.replies.append(tagged(text))
        await house.answered("Ada", "general", "@soul do it")
    for call in await house.posting_calls():
        words = [call["args"].get("text", ""), call["args"].get("markdown_text", "")]
        words += [block.get("text", "") for block in call["args"].get("blocks") or []]
        words += [chunk.get("text", "") for chunk in call["args"].get("chunks") or []]
        assert not any(_WAKING.search(str(part)) for part in words), call["args"]
        if call["method"] == "chat.postMessage":
            assert call["args"]["unfurl_links"] is False
            assert call["args"]["unfurl_media"] is False


async def _started(house: House) -> bool:
    return bool(await house.people.calls("chat.startStream"))


async def test_a_reader_s_own_link_is_kept(house: House) -> None:
    words = await house.answered("Ada", "dm", "see https://docs.example/page?x=1&y=2 please")
    assert "https://docs.example/page?x=1&y=2" in words
