"""Long code and large tables come as files below the reply, each once, over restarts and refusals."""

import pytest

from daemon.channels.slack.api.manifest import SHARE_SCOPE, manifest
from daemon.local_slack.model import Json
from tests.given import tagged
from tests.journeys.house import House, said

LONG = "\n".join(f"line_{number} = {number}" for number in range(80))
REPLY = f"Here it is:\n\n```python\n{LONG}\n```\n\nTry it."
UPLOAD, SHARE = "files.getUploadURLExternal", "files.completeUploadExternal"
ALL_SCOPES: tuple[str, ...] = tuple(manifest()["oauth_config"]["scopes"]["bot"])  # type: ignore[index] # a manifest's shape


async def asked(house: House, room: str = "dm") -> str:
    """Ask for the code; gives the ts of the question."""
    house.model.replies.append(tagged(REPLY))
    return await house.say("Ada", room, "write me a module" if room == "dm" else "@soul write me a module")


async def shared(house: House, channel: str, count: int = 1) -> list[Json]:
    """The messages that show a file of the soul, once there are so many."""

    async def look() -> list[Json] | None:
        found = [one for one in await house.people.posts_by_bot(channel) if one.get("files")]
        return found if len(found) >= count else None

    return await house.until(look)


def content(house: House, file: Json) -> str:
    """What stands in a file."""
    return house.workspace.workspace.state.files[file["id"]].content.decode()


@pytest.mark.parametrize(("room", "channel"), [("dm", "D0ADA"), ("general", "C0GENERAL")])
async def test_long_code_comes_as_a_file_below_the_words(house: House, room: str, channel: str) -> None:
    ts = await asked(house, room)
    [post] = await shared(house, channel)
    words = await house.reply(channel, "Here it is:")
    assert post["thread_ts"] == ts == words["thread_ts"]
    assert float(post["ts"]) > float(words["ts"])
    [file] = post["files"]
    assert said(words) == f"Here it is:\n\n(It stands below, as `{file['name']}`.)\n\nTry it."
    assert content(house, file) == f"{LONG}\n"
    await house.idle()
    [turn] = await house.rows("SELECT body FROM turns WHERE speaker = 'soul'")
    assert turn["body"] == REPLY


async def test_without_the_scope_all_is_text(house: House) -> None:
    await house.people.scopes(*(one for one in ALL_SCOPES if one != SHARE_SCOPE))
    await house.restart()
    await asked(house)
    assert LONG in said(await house.reply("D0ADA", "Here it is:"))
    await house.idle()
    assert await house.people.calls(UPLOAD) == []


async def test_a_file_that_slack_refuses_is_posted_as_the_text_that_it_was(house: House) -> None:
    await house.people.fault(UPLOAD, body={"ok": False, "error": "file_uploads_disabled"})
    await asked(house)
    post = await house.reply("D0ADA", "line_79 = 79")
    assert said(post) == f"```python\n{LONG}\n```"
    await house.idle()
    assert [row["state"] for row in await house.rows("SELECT state FROM outbox")] == ["sent", "sent"]


async def test_an_answer_that_is_lost_doubles_no_file(house: House) -> None:
    await house.people.fault(SHARE, mode="accept_then_drop")
    await asked(house)
    await shared(house, "D0ADA")
    await house.idle()
    assert len(await shared(house, "D0ADA")) == 1
    assert [row["state"] for row in await house.rows("SELECT state FROM outbox")] == ["sent", "sent"]


async def test_a_daemon_that_is_cut_off_between_the_words_and_the_file_sends_it_once(house: House) -> None:
    await house.people.fault(SHARE, status=503, times=1_000)
    await asked(house)
    await house.reply("D0ADA", "Here it is:")

    async def tried() -> bool:
        return bool(await house.people.calls(SHARE))

    await house.when(tried)
    assert house.daemon is not None
    await house.daemon.cut()
    await house.people.clear_faults()
    house.clock.turn(61)
    await house.start()
    await shared(house, "D0ADA")
    await house.idle()
    assert len(await shared(house, "D0ADA")) == 1


async def test_keys_do_not_leave_in_a_file(house: House) -> None:
    secret = house.settings.secrets[0]
    house.model.replies.append(tagged(f"```ini\n{LONG}\ntoken = {secret}\n```"))
    await house.say("Ada", "dm", "write me a file")
    [post] = await shared(house, "D0ADA")
    assert secret not in content(house, post["files"][0])
