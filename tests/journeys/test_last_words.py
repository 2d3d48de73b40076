"""Whatever Slack answers to a post, the person sees an answer, or one courteous line (P14, P27, P29)."""

import pytest

from daemon.channels.slack.splitting import rich
from daemon.core.ports.library import Post
from daemon.local_slack.model import Json
from daemon.memory.emptied_posts import Note
from tests.journeys.house import House, said


async def _fail_posts(house: House, code: str, *, times: int = 1) -> None:
    """Refuse the stream, so that the reply is posted; then refuse the post."""
    body: Json = {"ok": False, "error": code}
    await house.people.fault("chat.startStream", body={"ok": False, "error": "not_now"}, times=99)
    await house.people.fault("chat.postMessage", body=body, times=times)


async def test_a_token_that_is_dead_for_a_minute_loses_no_reply(house: House) -> None:
    await _fail_posts(house, "token_revoked")
    await house.say("Ada", "general", "@soul hello")
    await house.events.until("outbox.access_lost")
    await house.row("SELECT 1 FROM outbox WHERE state IN ('pending', 'sending') AND lease_until = 0")
    house.clock.turn(61)
    assert said(await house.reply("general")) == "Echo: hello"
    await house.idle()
    assert await house.replies("general") == ["Echo: hello"]


async def test_a_refused_reply_ends_in_one_line_in_its_thread(house: House) -> None:
    await _fail_posts(house, "restricted_action")
    ts = await house.say("Ada", "general", "@soul hello")
    post = await house.reply("general")
    assert (said(post), post["thread_ts"]) == (Note.DEAD, ts)
    assert "posts failed for good" in await house.command("doctor", "--offline")
    assert "soul queue outbox list --state dead" in await house.command("status")
    assert await house.answered("Ada", "general", "@soul and now?") == "Echo: and now?"


async def test_where_the_thread_takes_no_word_at_all_the_user_is_told_outside_it(house: House) -> None:
    await _fail_posts(house, "cannot_reply_to_message", times=9)
    await house.say("Ada", "general", "@soul hello")
    await house.events.until("outbox.whispered")
    assert await house.whispers("Ada") == [Note.DEAD]
    assert await house.replies("general") == []


async def test_a_reply_that_can_not_be_rendered_ends_no_talk(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_on_poison(post: Post) -> Json:
        if "poison" in str(post):
            raise RecursionError("nested too deep")
        return rich(post)

    monkeypatch.setattr("daemon.channels.slack.delivery.rich", fails_on_poison)
    await house.people.fault("chat.startStream", body={"ok": False, "error": "not_now"}, times=99)
    await house.say("Ada", "general", "@soul poison")
    await house.events.until("outbox.failed")
    await house.say("Ben", "dm", "are you well?")
    assert said(await house.reply(await house.people.open_dm("Ben"))) == "Echo: are you well?"
    await house.events.until("outbox.failed", 2)
    assert said(await house.reply("general")) == Note.DEAD
    await house.idle()
    (dead,) = await house.rows("SELECT faults, reason FROM outbox WHERE state = 'dead'")
    assert tuple(dead) == (3, "RecursionError")
