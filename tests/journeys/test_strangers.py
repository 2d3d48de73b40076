"""One gate, default deny, on every path: no refused message reaches the model or memory (P42)."""

from itertools import product

from msgspec.structs import replace

from daemon.local_slack.model import Standing
from tests.journeys.house import House

FORBIDDEN = ("guest", "deactivated", "stranger", "bot")
_WORD = "xylophone"


async def _newcomer(house: House, standing: str, name: str = "Nora") -> str:
    """A new user of this kind in #general who can post; a deactivated one is so in the records alone."""
    person = await house.people.add_person(name, standing="member" if standing == "deactivated" else standing)
    await house.people.join(name, "general")
    return str(person["id"])


def _deactivate(house: House, user: str) -> None:
    people = house.workspace.workspace.state.people
    people[user] = replace(people[user], standing=Standing.DEACTIVATED)


async def _event(house: House, user: str, kind: str, **fields: object) -> None:
    """An event as Slack sends it, about any user."""
    event = {"type": kind, "user": user, "text": _WORD, "channel": "C0GENERAL", "channel_type": "channel", **fields}
    await house.people.emit(event)


async def _by_dm(house: House, user: str, root: str) -> None:
    room = await house.people.open_dm(user)
    await _event(house, user, "message", channel=room, channel_type="im", ts=house.ts())


async def _by_mention(house: House, user: str, root: str) -> None:
    text = f"<@{house.workspace.bot_user.id}> {_WORD}"
    await _event(house, user, "app_mention", text=text, ts=house.ts())


async def _by_reply(house: House, user: str, root: str) -> None:
    await _event(house, user, "message", thread_ts=root, ts=house.ts())


async def _by_edit(house: House, user: str, root: str) -> None:
    ts = house.ts()
    await _event(house, user, "message", thread_ts=root, ts=ts, text="at first")
    message = {
        "type": "message",
        "user": user,
        "text": _WORD,
        "ts": ts,
        "thread_ts": root,
        "edited": {"ts": house.ts()},
    }
    await house.people.emit(
        {"type": "message", "subtype": "message_changed", "channel": "C0GENERAL", "channel_type": "channel"}
        | {"ts": house.ts(), "message": message, "previous_message": {**message, "text": "at first"}}
    )


PATHS = {"dm": _by_dm, "mention": _by_mention, "reply": _by_reply, "edit": _by_edit}


async def test_a_message_that_the_gate_refuses_reaches_neither_the_model_nor_the_transcript(house: House) -> None:
    root = await house.heard("Ada", "general", "@soul hello")
    for standing, path in product(FORBIDDEN, PATHS):
        case = (standing, path)
        user = await _newcomer(house, standing, f"{standing} by {path}")
        if standing == "deactivated":
            _deactivate(house, user)
        posts, whispers = len(await house.posting_calls()), len(await house.people.calls("chat.postEphemeral"))
        await PATHS[path](house, user, root)
        await house.acknowledged()
        await house.idle()
        spoken = (await house.posting_calls())[posts:]
        whispered = (await house.people.calls("chat.postEphemeral"))[whispers:]
        assert len(house.prompts) == 1, case
        assert not await house.rows("SELECT * FROM turns WHERE body LIKE ?", f"%{_WORD}%"), case
        if standing == "guest" and path != "dm":
            assert (spoken, [one["args"]["user"] for one in whispered]) == ([], [user]), case
            assert "I only talk with full members" in whispered[0]["args"]["text"], case
        elif standing == "guest":
            assert {call["method"] for call in spoken} == {"chat.postMessage"}
            assert "I only talk with full members" in str(spoken[0]["args"]["blocks"])
        else:
            assert (spoken, whispered) == ([], []), case
        assert _WORD not in str(spoken), case
    await house.answered("Ada", "general", "still there?", thread=root)
    assert _WORD not in house.last_prompt()


async def test_a_guest_is_refused_once_a_day_in_a_room_and_no_other_user_reads_it(house: House) -> None:
    await _newcomer(house, "guest")
    for number in range(5):
        await house.say("Nora", "general", f"@soul please {number}")
    await house.acknowledged()
    await house.idle()
    assert len(await house.whispers("Nora")) == 1
    assert await house.posting_calls() == []
    await house.change("UPDATE inbox SET settled_ms = settled_ms - 86400001")
    await house.say("Nora", "general", "@soul and today?")
    await house.acknowledged()
    await house.idle()
    assert len(await house.whispers("Nora")) == 2
    await _newcomer(house, "guest", "Nina")
    await house.people.fault("chat.postEphemeral", body={"ok": False, "error": "user_not_in_channel"})
    await house.say("Nina", "general", "@soul please")
    await house.reply("general", "I only talk with full members")


async def test_own_posts_and_unknown_users_get_no_answer_and_refused_guests_no_part_in_a_thread(house: House) -> None:
    bot = house.workspace.bot_user
    await _event(house, bot.id, "message", channel="D0ADA", channel_type="im", ts=house.ts(), bot_id=bot.bot_id)
    await _event(house, bot.id, "app_mention", ts=house.ts(), text=f"<@{bot.id}> {_WORD}")
    await house.acknowledged()
    await house.idle()
    assert house.prompts == []
    assert await house.rows("SELECT * FROM inbox") == []
    await _event(house, "U0NOBODY", "app_mention", ts=house.ts(), text=f"<@{house.workspace.bot_user.id}> {_WORD}")
    await house.events.until("gate.refused", reason="unknown")
    await house.idle()
    assert house.prompts == []
    assert await house.posting_calls() == []
    await house.people.join("Gus", "general")
    ts = await house.say("Gus", "general", "@soul hello")
    await house.final_state(ts)
    await house.say("Ada", "general", "never mind, Gus, I can help", thread=ts)
    await house.say("Gus", "general", "thanks", thread=ts)
    await house.acknowledged()
    await house.idle()
    assert house.prompts == []
    assert await house.replies("general") == []
    assert len(await house.whispers("Gus")) == 1


async def test_catch_up_ignores_messages_that_the_gate_refuses(empty_house: House) -> None:
    await empty_house.start()
    root = await empty_house.say("Ada", "general", "@soul hello")
    await empty_house.reply("general")
    await empty_house.stop()
    await _newcomer(empty_house, "guest")
    await empty_house.say("Nora", "general", f"@soul {_WORD}", thread=root)
    await empty_house.people.add_person("Zed", standing="stranger")
    await empty_house.people.join("Zed", "general")
    await empty_house.say("Zed", "general", f"@soul {_WORD}", thread=root)
    empty_house.clock.turn(600)
    await empty_house.start()
    await empty_house.idle()
    assert len(empty_house.prompts) == 1
    assert not await empty_house.rows("SELECT * FROM turns WHERE body LIKE ?", f"%{_WORD}%")
