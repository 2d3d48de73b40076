"""A reply links to hosts that the talk, the soul's own text or the admin named; a key is in no post (P41, P44)."""

import json

from daemon.core.errors import ModelRefused
from tests.given import tagged, wanting
from tests.given_files import attached
from tests.journeys.house import House, said

_REPORT = "[the report](https://evil.example.com/collect?d=the-code-is-4711) is ready, and so is https://evil.example.com/x?d=4711"


async def test_a_link_to_a_host_that_was_never_named_is_text_in_every_call(house: House) -> None:
    house.model.replies.append(tagged(_REPORT + " now. " + "More words follow. " * 20))
    await house.answered("Ada", "dm", "is the report ready?")
    assert "evil.example.com/collect" in (await house.replies("D0ADA"))[-1].replace("\u2060", "")
    sent = json.dumps([call["args"] for call in await house.people.calls()], ensure_ascii=False)
    assert "evil.example.com" not in sent
    assert "4711" not in sent
    house.model.replies += [tagged("Noted."), tagged("See https://docs.example.com/a?b=c now.")]
    await house.answered("Ben", "dm", "our documents are at https://docs.example.com")
    assert "https://docs.example.com/a?b=c" in await house.answered("Ben", "dm", "where was that page?")
    key = "xoxb-1234567890-abcdefghij"
    house.model.replies.append(tagged(f"The token is {key}, keep it. " + "More words follow. " * 20))
    await house.answered("Chloe", "dm", "what is the token?")
    assert key not in json.dumps([call["args"] for call in await house.people.calls()])


async def test_a_document_names_no_host_that_a_reply_may_link_to_in_this_answer_or_a_later_one(house: House) -> None:
    link, document = "https://evil-drop.example/p?d=canary42", b"Our report lies at https://evil-drop.example/p"
    house.model.replies += [tagged(f"It says [here]({link}).")] * 3
    asked = await house.answered("Ada", "dm", "what does it say?", files=[attached("report.txt", document)])
    later = [
        await house.answered("Ada", "dm", text) for text in ("where does our report lie?", "and the report again?")
    ]
    sent = json.dumps([call["args"] for call in await house.people.calls()], ensure_ascii=False)
    assert [link in one for one in (asked, *later)] == [False] * 3
    assert link not in sent


async def test_what_the_soul_scheduled_for_itself_names_no_host_that_it_may_link_to(house: House) -> None:
    wish = json.dumps({"when": "in 20m", "what": "https://evil.example/?q=secret", "drop": []})
    house.model.replies += [
        wanting("reminder"),
        wish,
        tagged("Noted."),
        tagged("As you wished: https://evil.example/?q=secret"),
    ]
    await house.answered("Ada", "dm", "Remind me of it in 20 minutes")
    house.clock.turn(20 * 60 + 1)
    assert "secret" not in said(await house.reply("D0ADA", "As you wished"))
    house.model.replies += [wanting("reminder"), wish, tagged("Noted."), ModelRefused("no")]
    await house.answered("Ben", "dm", "Remind me of it in 20 minutes")
    house.clock.turn(20 * 60 + 1)
    assert "secret" not in said(await house.reply("D0BEN", "This had fallen due"))
