"""Forget me: nothing of a person is left in any file, also with work under way, and nothing brings it back (P45)."""

import asyncio
from functools import partial

from daemon.core.ports.services import SystemClock
from daemon.memory.admin.restore import restore
from daemon.memory.database.backup import back_up
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.own_memory import KNOWN, files_with, forget, note

CANARIES = ("quincunx", "quaggaherd", "zephyrloom", "vellumite")


async def _talk(house: House) -> None:
    """Ada says a canary in each kind of room; it is noted, claimed of her, answered, and in a reminder."""
    house.model.replies.append(tagged("A quincunx, I see.", monologue="A quincunx of bees."))
    await house.answered("Ada", "dm", "my bees stand in a quincunx")
    house.model.replies.append(tagged("The quaggaherd is noted.", monologue="A quaggaherd."))
    await house.answered("Ada", "general", "@soul I drive a quaggaherd to town")
    await house.answered("Ada", "founders", "@soul the zephyrloom is mine")
    await house.answered("Ben", "general", "@soul Ada owns a vellumite")
    await house.answered("Ben", "general", "@soul I weave")
    await note(house, "U0ADA", "has bees in a quincunx", "bees stand in a quincunx")
    await note(house, "U0ADA", "drives a quaggaherd", "quaggaherd to town")
    await note(house, "U0ADA", "owns a vellumite", "Ada owns a vellumite", by="U0BEN")
    await house.change("UPDATE working_memory SET summary = 'Ada drives a quaggaherd' WHERE 1")
    await house.change(
        """
        INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, process, content, behalf, place,
                                audience, state, created_ms)
        SELECT 'i1', id, soul, workspace, 'reminder-1', 9999999999999, 'engaged', 'feed the quaggaherd', 'U0ADA', place,
               audience, 'waiting', 1 FROM conversations WHERE channel = 'D0ADA' LIMIT 1
        """
    )


async def test_after_forget_me_no_file_holds_a_word_of_it_and_others_stay(house: House) -> None:
    await _talk(house)
    await house.answered("Ada", "dm", KNOWN)
    await house.change("INSERT INTO audit (actor, act, object, done_ms) VALUES ('U0ADA', 'end own key', 'k1', 1)")
    said = await forget(house)
    assert said.startswith("Forgotten:")
    assert "Slack's own copy" in said
    await house.idle()
    theirs = tuple(one for one in CANARIES if one != "vellumite")  # Ben's own words of it are his
    assert files_with(house.settings.home, *theirs) == []
    assert [row["body"] for row in await house.rows("SELECT body FROM turns WHERE author = 'U0BEN' ORDER BY seq")] == [
        "Ada owns a vellumite",
        "I weave",
    ]
    assert await house.rows("SELECT * FROM records WHERE person = 'U0ADA'") == []
    assert [row["actor"] for row in await house.rows("SELECT actor FROM audit WHERE act = 'end own key'")] == [""]
    assert await house.rows("SELECT * FROM intentions WHERE behalf = 'U0ADA' AND slot LIKE 'reminder%'") == []
    assert "I have noted nothing about you." in await house.answered("Ada", "dm", KNOWN)
    await house.answered("Ada", "dm", "hello, do you know my bees?")
    assert all(one not in house.last_prompt() for one in ("quincunx", "quaggaherd"))
    assert await house.rows("SELECT * FROM user_models WHERE person = 'U0ADA' AND visits > 1") == []


async def test_it_is_asked_once_more_and_only_the_person_can_confirm_within_an_hour_or_refuse(house: House) -> None:
    await _talk(house)
    assert (await house.answered("Ada", "dm", "yes, forget me")).startswith("Do you want me to forget")
    house.clock.turn(3601)
    assert (await house.answered("Ada", "dm", "Ja, vergiss mich!")).startswith("Do you want me to forget")
    assert (await house.answered("Ben", "dm", "yes, forget me")).startswith("Do you want me to forget")
    assert await house.rows("SELECT * FROM turns WHERE body LIKE '%quincunx%'") != []
    asked = await house.reply("D0ADA", "Do you want me to forget", count=2)
    await house.people.click("Ada", "D0ADA", asked["ts"], "soul_approval_no")
    await house.reply("D0ADA", "Nothing is forgotten.")
    await house.answered("Ada", "dm", "forget me")
    asked = await house.reply("D0ADA", "Do you want me to forget", count=3)
    await house.people.click("Ada", "D0ADA", asked["ts"], "soul_approval_yes")
    await house.reply("D0ADA", "Forgotten: everything")
    await house.idle()
    assert files_with(house.settings.home, "quincunx", "quaggaherd") == []


async def test_a_cycle_and_a_job_under_way_commit_nothing_that_they_had_read(house: House) -> None:
    await _talk(house)
    flow = house.flow()
    asked = asyncio.create_task(house.answered("Ben", "general", "@soul who drives to town?"))
    await flow.asked.wait()
    assert "quaggaherd" in house.last_prompt()
    assert (await _forget_beside(house)).startswith("Forgotten:")
    flow.say(tagged("Ada drives a quaggaherd."))
    flow.end()
    assert "quaggaherd" not in await asked
    assert files_with(house.settings.home, "quincunx", "quaggaherd") == []


async def _forget_beside(house: House) -> str:
    """Forget Ada while another cycle is under way."""
    await house.say("Ada", "dm", "forget me")
    await house.reply("D0ADA", "Do you want me to forget")
    await house.say("Ada", "dm", "yes, forget me")
    return str((await house.reply("D0ADA", "Forgotten: everything"))["text"])


async def test_a_backup_from_before_forgets_again_and_history_brings_nothing_back(house: House) -> None:
    await _talk(house)
    home = house.settings.home
    copy = await asyncio.to_thread(back_up, house.settings.database_path, home / "before.db", SystemClock())
    await forget(house)
    await house.stop()
    moved = copy.path.rename(home.parent / "before.db")
    done = restore(moved, house.settings.database_path, SystemClock(), actor="admin")
    assert done.forgotten == 1
    assert done.replaced is not None
    done.replaced.unlink()
    assert files_with(home, "quincunx", "quaggaherd", "zephyrloom") == []
    await house.start()
    await house.answered("Ben", "general", "@soul hello")
    await house.idle()
    assert files_with(home, "quincunx", "quaggaherd", "zephyrloom") == []
    assert await house.rows("SELECT * FROM turns WHERE author = 'U0ADA'") == []


async def test_what_slack_still_shows_of_them_in_a_thread_is_not_read_again(house: House) -> None:
    root = await house.say("Ada", "general", "@soul I drive a quaggaherd to town")
    house.model.replies.append(tagged("A zephyrloom beside it."))
    await house.reply("general")
    await house.answered("Ben", "general", "and I weave", thread=root)
    assert (await forget(house)).startswith("Forgotten:")
    await house.idle()
    await house.answered("Ben", "general", "who drives to town?", thread=root)
    assert not [one for one in ("quaggaherd", "zephyrloom") if one in house.last_prompt()]
    assert "and I weave" in house.last_prompt()


async def test_a_reply_to_another_that_waits_with_their_words_is_made_anew_and_comes_once(house: House) -> None:
    root = await house.say("Ada", "general", "@soul I drive a quaggaherd to town")
    await house.reply("general")
    await house.people.fault("chat.startStream", body={"ok": False, "error": "not_now"}, times=99)
    await house.people.fault("chat.postMessage", status=429, headers={"Retry-After": "600"}, times=1)
    house.model.replies += [tagged("Ada drives a quaggaherd."), tagged("I can't say.")]
    await house.say("Ben", "general", "who drives to town?", thread=root)

    async def waits(words: str) -> bool:
        return bool(await house.rows("SELECT * FROM outbox WHERE state = 'pending' AND body LIKE ?", f"%{words}%"))

    await house.when(partial(waits, "quaggaherd"))
    assert (await _forget_beside(house)).startswith("Forgotten:")
    await house.when(partial(waits, "I can't say."))
    house.clock.turn(601)
    assert (await house.reply("general", "I can't say."))["thread_ts"] == root
    await house.idle()
    assert (await house.replies("general"))[1:] == ["I can't say."]
    assert files_with(house.settings.home, "quaggaherd") == []
