"""A card says which file is being read for an answer in ordinary talk, and is closed at every way out."""

import asyncio

import pytest

from daemon.channels.slack.files import FileFetcher
from daemon.core.errors import FileRefused
from daemon.core.ports.services import SharedFile
from daemon.core.sentences import Sentence
from daemon.local_slack.model import Json
from tests.fakes import TIMEOUT
from tests.journeys.house import House, said

NOTES = {"name": "notes.txt", "text": "The kiln cracked on Monday."}


class Fetching:
    """Holds every file back until it is let go; then it comes, or is refused."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.goes, self.refused = asyncio.Event(), False
        fetch = FileFetcher.fetch

        async def fetched(fetcher: FileFetcher, file: SharedFile) -> bytes:
            async with asyncio.timeout(TIMEOUT):
                await self.goes.wait()
            if self.refused:
                raise FileRefused(Sentence("file_gone"))
            return await fetch(fetcher, file)

        patch.setattr(FileFetcher, "fetch", fetched)


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> Fetching:
    return Fetching(monkeypatch)


async def sent(house: House) -> str:
    """Ada sends a file with a question; gives the ts of her message once the card stands there."""
    ts = str((await house.people.say("Ada", "dm", "What is in it?", files=[NOTES]))["ts"])

    async def look() -> bool:
        return [state for _, state in await cards(house)][-1:] == ["in_progress"]

    await house.until(look)
    return ts


async def cards(house: House) -> list[tuple[str, str]]:
    """The title and state of every card that the soul shows in Ada's direct messages."""
    chunks = [one for post in await house.people.posts_by_bot("D0ADA") for one in post.get("chunks", ())]
    return [(one["title"], one["status"]) for one in chunks if one["type"] == "task_update"]


async def finished(house: House, count: int = 1) -> Json:
    """The newest post of the soul once so many are finished, and there are no more."""
    await house.reply("D0ADA", count=count)
    await house.idle()
    posts = await house.people.posts_by_bot("D0ADA")
    assert [one.get("streaming_state") == "in_progress" for one in posts] == [False] * count
    return posts[-1]


async def test_the_card_names_the_file_that_is_read_or_can_not_be_read(house: House, fetching: Fetching) -> None:
    await sent(house)
    assert await cards(house) == [("Reading notes.txt", "in_progress")]
    fetching.goes.set()
    assert said(await finished(house)).startswith("Echo: What is in it?")
    assert await cards(house) == [("Reading notes.txt", "complete")]
    assert "cracked on Monday" in house.last_prompt()
    fetching.goes.clear()
    fetching.refused = True
    await sent(house)
    fetching.goes.set()
    assert "Echo: What is in it?" in said(await finished(house, 2))
    assert (await cards(house))[-1] == ("Reading notes.txt", "error")


async def test_a_stop_closes_the_card_and_after_a_kill_the_answer_comes_once(house: House, fetching: Fetching) -> None:
    ts = await sent(house)
    await house.people.stop("Ada", "dm", ts)
    assert "Stopped" in said(await finished(house))
    [(_, state)] = await cards(house)
    assert state in ("complete", "error")
    [session] = (await house.people.state())["sessions"]
    assert session["status"] == "active"
    assert not house.prompts
    await sent(house)
    await house.cut()
    fetching.goes.set()
    house.clock.turn(90)
    await house.start()
    assert "Echo: What is in it?" in said(await finished(house, 2))
    assert all(state != "in_progress" for _, state in await cards(house))
