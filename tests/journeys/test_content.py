"""Long and strange text arrives whole and in order, and so does code (P11)."""

import re

from daemon.channels.slack.installation import SHARE_SCOPE
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.reacting import SCOPES

_CODE = "```python\n" + "".join(f"print({number})  # line of code\n" for number in range(400)) + "```\n"


def _long_reply() -> str:
    """About 30,000 characters of prose and code."""
    prose = "".join(f"Sentence number {number:04d} says something of no great weight. " for number in range(90))
    return "\n\n".join([prose, _CODE, prose, _CODE]).strip()


async def test_thirty_thousand_characters_arrive_whole_in_order_also_where_a_part_fails(house: House) -> None:
    reply = _long_reply()
    assert len(reply) > 29_000
    await house.people.scopes(*(one for one in SCOPES if one != SHARE_SCOPE))  # so that code stays in the messages
    await house.restart()
    for room, person in (("D0ADA", "Ada"), ("D0BEN", "Ben")):
        house.model.replies.append(tagged(reply))
        await house.answered(person, "dm", "everything, please")
        parts = await house.replies(room)
        assert 3 <= len(parts) <= 4
        assert all(len(part) <= 12_000 for part in parts)
        assert all(part.count("```") % 2 == 0 for part in parts), "code is closed"
        for pattern in (r"number (\d{4})", r"print\((\d+)\)"):
            assert re.findall(pattern, "".join(parts)) == re.findall(pattern, reply)
        posts = await house.people.posts_by_bot(room)
        buttons = [any(block["type"] == "context_actions" for block in post["blocks"]) for post in posts]
        assert buttons == [False] * (len(posts) - 1) + [True]
        assert [post["metadata"]["event_payload"]["part"] for post in posts] == list(range(len(posts)))
        for mode in ("answer", "accept_then_drop", "reset_before"):
            await house.people.fault("chat.postMessage", mode=mode)


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


async def test_every_kind_of_writing_comes_in_and_goes_out(house: House) -> None:
    for number, (kind, text) in enumerate(NASTY.items(), 1):
        house.model.replies.append(tagged(f"You wrote {text}!"))
        words = await house.answered("Ada", "dm", text)
        assert (words[:10], words[-1]) == ("You wrote ", "!"), kind
        assert len(await house.rows("SELECT body FROM turns")) == 2 * number, kind
    house.model.replies.append(tagged("half \ud83d pair"))
    assert "half" in await house.answered("Ada", "dm", "hello")
    event = {"type": "message", "user": "U0ADA", "text": "half \ud83d", "channel": "D0ADA", "channel_type": "im"}
    ts = await house.say("Ada", "dm", "to be replied to")
    await house.people.emit({**event, "ts": house.ts(), "thread_ts": ts})
    await house.acknowledged()
    await house.idle()
    assert await house.answered("Ada", "dm", "still well?") == "Echo: still well?"
