"""A cross at a reply takes it back: it is gone with its parts and files, and counts as not said. Others can't."""

import pytest

from daemon.local_slack.model import Json
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.problems import NO, approval, asked, lines, press, script, shelf, solver, using
from tests.unit.ism_parts import chosen

LONG = "\n".join(f"line_{number} = {number}" for number in range(80))
MODULE = f"Here it is:\n\n```python\n{LONG}\n```"
SECRET = "The kiln stands in the cellar of the old mill."
SAID_WORDS = "SELECT 1 FROM turn_words WHERE seq IN (SELECT seq FROM turns WHERE speaker = 'soul')"


async def posts(house: House, room: str) -> list[Json]:
    """What users see of the soul in a room."""
    return await house.people.posts_by_bot(room)


async def cross(house: House, person: str, room: str, ts: str) -> str:
    """Put a cross at a message; gives what became of it."""
    before = len(_outcomes(house))
    await house.people.react(person, room, ts, "x")

    async def heard() -> bool:
        return len(_outcomes(house)) > before

    await house.when(heard)
    return _outcomes(house)[-1]


def _outcomes(house: House) -> list[str]:
    return [
        name.rpartition(".")[2]
        for name, more in house.events.emitted
        if name == "slack.withdrawal_refused" or (name.startswith("inbox.") and more.get("kind") == "Withdrawal")
    ]


async def gone(house: House, room: str) -> None:
    """Wait until users see nothing of the soul in a room."""

    async def look() -> bool | None:
        return not await posts(house, room) or None

    await house.until(look)
    await house.idle()


async def says(house: House, room: str = "general", reply: str = SECRET) -> Json:
    """The soul answers Ada in a room; gives its message."""
    house.model.replies.append(tagged(reply))
    await house.say("Ada", room, "where is it?" if room == "dm" else "@soul where is it?")
    post = await house.reply("D0ADA" if room == "dm" else room, reply[:20])
    await house.idle()
    return post


@pytest.mark.parametrize(
    ("room", "channel"), [("general", "C0GENERAL"), pytest.param("dm", "D0ADA", marks=pytest.mark.slow)]
)
async def test_the_person_who_was_answered_takes_the_reply_back(house: House, room: str, channel: str) -> None:
    post = await says(house, room)
    assert await house.rows(SAID_WORDS)
    assert await cross(house, "Ada", room, post["ts"]) == "accepted"
    await gone(house, channel)
    assert not await house.rows(SAID_WORDS)
    for table, column in (("turns", "body"), ("turns", "thought"), ("outbox", "body")):
        assert not await house.rows(f"SELECT 1 FROM {table} WHERE {column} LIKE '%old mill%'"), table
    if room == "dm":
        await house.answered("Ada", "dm", "say it again")
    else:
        await house.answered("Ada", room, "@soul say it again", thread=post["thread_ts"])
    assert "old mill" not in house.last_prompt()
    assert "was taken back" in house.last_prompt()
    await house.answered("Ben", "general", "@soul where does the kiln of the mill stand?")
    assert "old mill" not in house.last_prompt(), "it is recalled nowhere"


async def test_an_approver_takes_any_reply_back(empty_house: House) -> None:
    await empty_house.start(approvers=("U0BEN",))
    post = await says(empty_house)
    assert await cross(empty_house, "Ben", "general", post["ts"]) == "accepted"
    await gone(empty_house, "C0GENERAL")


async def test_others_other_emoji_and_removed_crosses_take_nothing_back(house: House) -> None:
    mine = await house.say("Ada", "general", "nothing for the soul")
    post = await says(house)
    await house.people.react("Ada", "general", post["ts"], "heavy_multiplication_x")
    await house.people.react("Ada", "general", mine, "x")
    await house.people.react("Ben", "general", post["ts"], "x")
    await house.people.react("Ben", "general", post["ts"], "x", remove=True)
    await house.acknowledged()
    await house.idle()
    assert [one["ts"] for one in await posts(house, "C0GENERAL")] == [post["ts"]]
    await house.people.join("Gus", "general")
    assert await cross(house, "Ben", "general", post["ts"]) == "ignored"
    assert await cross(house, "Gus", "general", post["ts"]) == "withdrawal_refused"
    await house.idle()
    assert [one["ts"] for one in await posts(house, "C0GENERAL")] == [post["ts"]]
    assert await house.rows("SELECT 1 FROM turns WHERE body = ?", SECRET)


@pytest.mark.slow
async def test_all_parts_and_files_of_a_reply_go(house: House) -> None:
    long = "\n\n".join(f"Paragraph {number}: " + "clay and water. " * 40 for number in range(30))
    house.model.replies.append(tagged(f"{MODULE}\n\n{long}"))
    await house.say("Ada", "general", "@soul write me a module")

    async def shared() -> Json | None:
        files = [file for one in await posts(house, "C0GENERAL") for file in one.get("files") or ()]
        return files[0] if files else None

    file = await house.until(shared)
    await house.idle()
    seen = await posts(house, "C0GENERAL")
    assert len(seen) >= 3
    assert await cross(house, "Ada", "general", next(one["ts"] for one in seen if not one.get("files"))) == "accepted"
    await gone(house, "C0GENERAL")
    assert file["id"] not in house.workspace.workspace.state.files
    [deleted] = await house.people.calls("files.delete")
    assert deleted["args"]["file"] == file["id"]


@pytest.mark.slow
async def test_two_crosses_and_a_restart_delete_once(house: House) -> None:
    post = await says(house)
    await house.people.fault("chat.delete", mode="reset_before", times=1)
    await cross(house, "Ada", "general", post["ts"])
    await house.restart()
    await gone(house, "C0GENERAL")
    deletions = await house.rows("SELECT state FROM outbox WHERE revises IS NOT NULL AND withdrawn = 1")
    assert [row["state"] for row in deletions] == ["sent"]


async def test_an_answer_that_is_lost_harms_nothing_and_where_slack_keeps_a_message_its_words_go(house: House) -> None:
    post = await says(house)
    await house.people.fault("chat.delete", mode="accept_then_drop", times=1)
    await cross(house, "Ada", "general", post["ts"])
    await gone(house, "C0GENERAL")
    assert len(await house.rows("SELECT 1 FROM outbox WHERE state = 'sent' AND withdrawn = 1 AND revises <> ''")) == 1
    post = await says(house)
    await house.people.fault("chat.delete", body={"ok": False, "error": "cant_delete_message"}, times=1)
    await cross(house, "Ada", "general", post["ts"])
    await house.events.until("slack.withdrawn_left")
    await house.idle()
    assert not await house.rows("SELECT 1 FROM turns WHERE body = ?", SECRET)
    (left,) = await posts(house, "C0GENERAL")
    assert said(left) == "…", "nothing is posted anew in its place"


async def test_what_is_still_being_written_is_stopped_and_not_taken_back(house: House) -> None:
    flow = house.flow()
    await house.say("Ada", "general", "@soul where is it?")
    flow.say(tagged(SECRET * 8).partition("old mill")[0])
    draft = await house.draft("general", "The kiln")
    assert await cross(house, "Ada", "general", draft["ts"]) == "ignored"
    flow.end("old mill." + tagged(SECRET * 8).partition("old mill.")[2])
    await house.reply("general", "The kiln")
    await house.idle()
    assert len(await posts(house, "C0GENERAL")) == 1


@pytest.mark.slow
async def test_the_end_of_a_reply_that_is_still_sent_goes_with_it(house: House) -> None:
    long = "\n\n".join(f"Paragraph {number}: " + "clay and water. " * 40 for number in range(30))
    house.model.replies.append(tagged(long))
    await house.people.fault(
        "chat.postMessage", body={"ok": False, "error": "service_unavailable"}, status=503, times=50
    )
    await house.say("Ada", "general", "@soul tell me all")
    first = await house.reply("general", "Paragraph 0:")
    assert await cross(house, "Ada", "general", first["ts"]) == "accepted"
    await house.people.clear_faults()
    await gone(house, "C0GENERAL")
    states = {row["state"] for row in await house.rows("SELECT state FROM outbox WHERE revises IS NULL")}
    assert states <= {"sent", "dropped"}


@pytest.mark.slow
async def test_a_question_for_permission_is_refused_and_not_taken_back(empty_house: House) -> None:
    house, note = empty_house, empty_house.settings.home / "note.txt"
    await solver(house, mcp_servers=shelf(note.parent))
    script(house, chosen(("Research", "write it")), use_tool=using("shelf/write_down", path=str(note), text="x"))
    await house.say("Ada", "dm", "please find out why the kiln cracks")
    question = await asked(house)
    await approval(house, "waiting")
    assert await cross(house, "Ada", "dm", question["ts"]) == "ignored"
    script(house, chosen("Respond"), enters=False, external_dialog="Then not.")
    assert await press(house, "Ada", "D0ADA", question["ts"], NO) == "accepted"
    await house.idle()
    assert lines(note) == 0
