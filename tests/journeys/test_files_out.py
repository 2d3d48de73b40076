"""Long code and large tables come as files below the reply, each once, over restarts and refusals."""

from daemon.channels.slack.installation import SHARE_SCOPE
from daemon.local_slack.model import Json
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.reacting import SCOPES

LONG = "\n".join(f"line_{number} = {number}" for number in range(80))
REPLY = f"Here it is:\n\n```python\n{LONG}\n```\n\nTry it."
UPLOAD, SHARE = "files.getUploadURLExternal", "files.completeUploadExternal"


async def asked(house: House, room: str = "dm", person: str = "Ada") -> str:
    """Ask for the code; gives the ts of the question."""
    house.model.replies.append(tagged(REPLY))
    return await house.say(person, room, "write me a module" if room == "dm" else "@soul write me a module")


async def shared(house: House, channel: str, count: int = 1) -> list[Json]:
    """The messages that show a file of the soul, once there are so many."""

    async def look() -> list[Json] | None:
        found = [one for one in await house.people.posts_by_bot(channel) if one.get("files")]
        return found if len(found) >= count else None

    return await house.until(look)


def content(house: House, file: Json) -> str:
    """What stands in a file."""
    return house.workspace.workspace.state.files[file["id"]].content.decode()


async def test_long_code_comes_as_a_file_below_the_words_and_without_keys(house: House) -> None:
    for room, channel in (("dm", "D0ADA"), ("general", "C0GENERAL")):
        ts = await asked(house, room)
        [post] = await shared(house, channel)
        words = await house.reply(channel, "Here it is:")
        assert post["thread_ts"] == ts == words["thread_ts"]
        assert float(post["ts"]) > float(words["ts"])
        [file] = post["files"]
        assert said(words) == f"Here it is:\n\n(It is below, as `{file['name']}`.)\n\nTry it."
        assert content(house, file) == f"{LONG}\n"
        await house.idle()
    turns = await house.rows("SELECT body FROM turns WHERE speaker = 'soul'")
    assert [row["body"] for row in turns] == [REPLY, REPLY]
    secret = house.settings.secrets[0]
    house.model.replies.append(tagged(f"```ini\n{LONG}\ntoken = {secret}\n```"))
    await house.say("Ben", "dm", "write me a file")
    [post] = await shared(house, "D0BEN")
    assert secret not in content(house, post["files"][0])


async def test_a_lost_answer_doubles_no_file_and_one_that_may_not_be_sent_is_posted_as_text(house: House) -> None:
    await house.people.fault(SHARE, mode="accept_then_drop")
    await asked(house)
    await shared(house, "D0ADA")
    await house.idle()
    assert len(await shared(house, "D0ADA")) == 1
    await house.people.fault(UPLOAD, body={"ok": False, "error": "file_uploads_disabled"})
    await asked(house, person="Ben")
    assert said(await house.reply("D0BEN", "line_79 = 79")) == f"```python\n{LONG}\n```"
    await house.idle()
    assert [row["state"] for row in await house.rows("SELECT state FROM outbox")] == ["sent"] * 4
    await house.people.clear_faults()
    await house.people.scopes(*(one for one in SCOPES if one != SHARE_SCOPE))
    await house.restart()
    before = len(await house.people.calls(UPLOAD))
    await asked(house, person="Chloe")
    assert LONG in said(await house.reply("D0CHLOE", "Here it is:"))
    await house.idle()
    assert len(await house.people.calls(UPLOAD)) == before


async def test_a_daemon_that_is_cut_off_between_the_words_and_the_file_sends_it_once(house: House) -> None:
    await house.people.fault(SHARE, status=503, times=1_000)
    await asked(house)
    await house.reply("D0ADA", "Here it is:")
    await house.until(lambda: house.people.calls(SHARE))
    await house.cut()
    await house.people.clear_faults()
    house.clock.turn(61)
    await house.start()
    await shared(house, "D0ADA")
    await house.idle()
    assert len(await shared(house, "D0ADA")) == 1
