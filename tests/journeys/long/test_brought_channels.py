"""People reach a soul on a channel of another package: once, over restarts, and as strangers to everybody in Slack."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from daemon.core.errors import SoulError
from tests.given import tagged, wanting
from tests.journeys.house import House
from tests.journeys.packages import brings
from tests.journeys.souls import write_soul
from tests.models import FakeModel

WORKSPACE = "extension.tess.lines"


class Folder:
    """The folder of the example's channel, and the people who write into it."""

    def __init__(self, house: House, soul: str = "tess") -> None:
        self._house = house
        self.path = house.settings.home / "channels" / soul / "lines"

    async def say(self, person: str, words: str, name: str = "1") -> Path:
        """Put a line into the folder, whole."""
        return await asyncio.to_thread(self.put, person, words.encode(), name)

    def put(self, person: str, words: bytes, name: str) -> Path:
        """Put any bytes into the folder."""
        for one in (self.path.parents[1], self.path.parent, self.path, self.path / "in", self.path / "in" / person):
            one.mkdir(mode=0o700, exist_ok=True)
        fresh = self.path / "fresh"
        fresh.write_bytes(words)
        return fresh.rename(self.path / "in" / person / f"{name}.txt")

    async def replies(self, person: str, count: int = 1) -> list[str]:
        """Wait until a person has so many replies and nothing is under way; gives all, the oldest first."""

        async def has() -> bool:
            return len(self._read(person)) >= count

        await self._house.when(has)
        await self._house.idle()
        return self._read(person)

    def _read(self, person: str) -> list[str]:
        files = sorted((self.path / "out" / person).glob("*.txt"), key=lambda one: one.name)
        return [one.read_text() for one in files]

    async def taken(self, *files: Path) -> None:
        """Wait until files are where they were put no more."""

        async def gone() -> bool:
            return not any(one.is_symlink() or one.exists() for one in files)

        await self._house.when(gone)


def named(house: House, *channels: str, soul: str = "tess") -> str:
    """A soul that names channels in its file."""
    listed = ", ".join(f'"{one}"' for one in channels)
    return write_soul(house.settings.home, soul, f"[extensions]\nchannels = [{listed}]\n", shown=soul.capitalize())


async def test_a_line_is_answered_once_and_the_talk_goes_on_after_a_restart(empty_house: House, extras: Path) -> None:
    house, folder = empty_house, Folder(empty_house)
    soul = named(house, "lines")
    await house.start(name=soul)
    file = await folder.say("ada", "my cat is called Minos")
    assert await folder.replies("ada") == ["Echo: my cat is called Minos"]
    await folder.taken(file)
    await house.stop()
    await folder.say("ada", "what is she called?")
    when = file.stat().st_mtime_ns
    await house.start(name=soul)
    both = ["Echo: my cat is called Minos", "Echo: what is she called?"]
    assert await folder.replies("ada", 2) == both
    assert "Echo: my cat is called Minos" in house.last_prompt()
    await folder.taken(file)
    await house.stop()
    await folder.say("ada", "what is she called?")  # as if it was stored, and not taken away
    await asyncio.to_thread(os.utime, file, ns=(when, when))
    await house.change("DELETE FROM deliveries")  # the ids of events are kept for a while alone
    await house.start(name=soul)
    await folder.taken(file)
    assert await folder.replies("ada") == both
    rows = await house.rows("SELECT workspace, author, audience, place FROM inbox")
    assert [tuple(row) for row in rows] == [(WORKSPACE, f"{WORKSPACE}.ada", f"dm:{WORKSPACE}.ada", "terminal")] * 2
    assert {one.stat().st_mode & 0o777 for one in (folder.path, folder.path / "out" / "ada")} == {0o700}


async def test_two_daemons_answer_each_line_once(empty_house: House, extras: Path) -> None:
    house, folder = empty_house, Folder(empty_house)
    soul = named(house, "lines")
    await house.start(name=soul)
    await house.start(FakeModel(), name=soul)
    lines = [(person, f"{number} of {person}") for number in range(5) for person in ("ada", "ben")]
    for number, (person, words) in enumerate(lines):
        await folder.say(person, words, str(number))
    await house.row("SELECT id FROM inbox", count=len(lines))
    await house.idle()
    for person in ("ada", "ben"):
        said = " ".join(await folder.replies(person))
        assert [said.count(words) for who, words in lines if who == person] == [1] * 5
        assert not [words for who, words in lines if who != person and words in said]


async def test_nothing_of_others_reaches_a_stranger_or_of_theirs(
    empty_house: House, extras: Path, tmp_path: Path
) -> None:
    house, folder, handbook = empty_house, Folder(empty_house), tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "leave.md").write_text("Leave is thirty days.")
    ada = await house.person("Ada")
    await house.start(name=named(house, "lines"), library=(handbook,))
    await house.answered("Ada", "general", "@soul the harbour gate opens with the word Labrys")
    await house.answered("Ada", "dm", "the harbour gate has a second word, Saffron")
    await folder.say("ben", "the harbour gate squeaks, says Octopus")
    await folder.replies("ben")
    seen = len(house.prompts)
    house.model.steps["respond"].append(tagged("I know of no gate."))
    await folder.say(ada.lower(), "what do you know about the harbour gate?")
    assert await folder.replies(ada.lower()) == ["I know of no gate."]
    read = str(house.prompts[seen:])
    assert "what do you know about the harbour gate?" in read
    assert not [one for one in ("Labrys", "Saffron", "Octopus") if one in read]
    for room in ("general", "dm"):
        seen = len(house.prompts)
        await house.answered("Ada", room, "@soul what of the harbour gate?")
        assert "Octopus" not in str(house.prompts[seen:])
    assert "Octopus" not in str(await house.replies("general"))
    await folder.say("ada", "help")
    (line,) = await folder.replies("ada")
    assert "I use no tools and only what all may read" in line
    assert "handbook" not in line
    assert "I use no tools" not in await house.answered("Ada", "dm", "help")
    for number, words in enumerate(("forget me", "yes, forget me"), 2):
        await folder.say("ben", words, str(number))
        await folder.replies("ben", number)
    await house.no_row("SELECT 1 FROM turns WHERE body LIKE '%Octopus%'")
    assert await house.rows("SELECT 1 FROM turns WHERE body LIKE '%Labrys%'"), "who is forgotten there is one there"


async def test_two_souls_have_each_a_channel_and_people_of_their_own(empty_house: House, extras: Path) -> None:
    house = empty_house
    souls = [named(house, "lines", soul=name) for name in ("tess", "ida")]
    folders = [Folder(house, soul) for soul in souls]
    await house.start(name="tess", souls=("ida",))
    for folder, words in zip(folders, ("Labrys", "Saffron"), strict=True):
        await folder.say("ada", words)
        assert await folder.replies("ada") == [f"Echo: {words}"]
    assert "Labrys" not in house.last_prompt()
    authors = {row["author"] for row in await house.rows("SELECT author FROM inbox")}
    assert authors == {"extension.tess.lines.ada", "extension.ida.lines.ada"}
    wish = json.dumps({"when": "in 20m", "what": "the looms", "drop": []})
    house.model.replies += [wanting("reminder"), wish, tagged("Noted."), tagged("You wanted to look at the looms.")]
    await folders[0].say("ada", "Remind me of the looms in 20 minutes")
    assert (await folders[0].replies("ada", 2))[1:] == ["Noted."]
    house.clock.turn(20 * 60 + 1)
    await house.events.until("schedule.due")
    assert (await folders[0].replies("ada", 3))[2:] == ["You wanted to look at the looms."]
    assert len(await folders[1].replies("ada")) == 1
    assert not await house.posting_calls()


async def test_a_folder_that_others_may_open_is_named_until_it_is_closed(empty_house: House, extras: Path) -> None:
    """And what can not be heard then stays aside, and stops no one."""
    house, folder = empty_house, Folder(empty_house)
    soul, secret = named(house, "lines"), house.settings.home / "secret"
    await asyncio.to_thread(secret.write_text, "Labrys")
    bad = [
        await folder.say("ada", "  \n", "empty"),
        await folder.say("ada", "x" * 40_001, "long"),
        await folder.say("ada", "x" * 200_001, "large"),
        await asyncio.to_thread(folder.put, "ada", b"\xff\xfe", "bytes"),
        await folder.say("Not A Name", "hello", "who"),
        await folder.say(".ada", "hello", "hidden"),
    ]
    link = folder.path / "in" / "ada" / "link.txt"
    await asyncio.to_thread(link.symlink_to, secret)
    await asyncio.to_thread(os.mkfifo, folder.path / "in" / "ada" / "pipe.txt")
    await asyncio.to_thread(folder.path.chmod, 0o755)
    await house.start(name=soul)
    failure = await house.events.until("loop.failed", loop="tess on channel lines")
    assert str(failure["reason"]).startswith("the channel 'lines' failed: other accounts may open ")
    assert str(failure["hint"]).startswith("chmod 700 ")
    house.clock.turn(10)  # to the next heartbeat
    await house.row("SELECT 1 FROM presence WHERE detail LIKE '%tess on channel lines%'")
    said = await house.command("doctor", "--offline", env={"SOUL_NAME": soul})
    assert re.search(r"tess on channel lines failed .* the channel 'lines' failed: other accounts may open", said)
    await asyncio.to_thread(folder.path.chmod, 0o700)
    await folder.say("ada", "after them all\x1b[2J", "a name with spaces")
    assert await folder.replies("ada") == ["Echo: after them all␛[2J"]
    await folder.taken(*bad, link, link.with_name("pipe.txt"))
    assert {one.with_suffix(".refused").exists() for one in bad} == {True}
    assert len(await house.rows("SELECT id FROM inbox")) == 1


_FAILS = "from daemon.channels.extended import ChannelExtension\nIT = ChannelExtension(lambda _: {})"


async def test_broken_packages_are_named_and_all_else_goes_on(empty_house: House, extras: Path) -> None:
    house, folder = empty_house, Folder(empty_house)
    broken = {
        "none": (None, "no installed package brings 'none' in soul_daemon.channels"),
        "wrong": ("1 / 0", "can't be imported: ZeroDivisionError"),
        "ends": ("import sys\nsys.exit(3)", "can't be imported: SystemExit"),
        "three": ("IT = 3", "'three' is a int, no ChannelExtension"),
        "fails": (_FAILS.format("1 / 0"), "the channel 'fails' failed: ZeroDivisionError"),
        "exits": (_FAILS.format("exit(3)"), "the channel 'exits' failed: it tried to end the daemon"),
        "nothing": (_FAILS.format("None"), "the channel 'nothing' failed: AttributeError"),
    }
    for name, (code, _) in broken.items():
        if code is not None:
            brings(extras, code, "channels", name, f"brought_{name}")
    await house.start(name=named(house, *broken, "lines"))

    def unnamed() -> list[str]:
        failures = (*house.events.named("channel.unusable"), *house.events.named("loop.failed"))
        reasons = [str(one["reason"]) for one in failures]
        return [why for _, why in broken.values() if not any(why in one for one in reasons)]

    await house.events.when(lambda: not unnamed())
    assert await house.answered("Ada", "dm", "hello") == "Echo: hello"
    await folder.say("ada", "hello to you")
    assert await folder.replies("ada") == ["Echo: hello to you"]


_ODD = """
import asyncio
from daemon.channels.extended import ChannelExtension, HeardLine
from daemon.core.errors import ConfigError, SchemaMismatch

class Odd:
    opened, said = 0, []

    async def receive(self, hear):
        Odd.opened += 1
        match Odd.opened:
            case 1:
                raise ConfigError("I am set wrongly")
            case 2:
                raise SchemaMismatch("of a database of mine")
            case 3:
                raise asyncio.CancelledError
            case 4:
                return
        await hear(HeardLine("ada", "1", "fifth time", name="Ada\\n<b>"))
        await asyncio.Event().wait()

    async def send(self, line):
        Odd.said.append(line)
        raise KeyError(line.words)

    async def sent(self, line):
        return line in Odd.said

IT = ChannelExtension(lambda around: Odd())
"""


async def test_a_channel_that_fails_is_opened_anew_and_doubts_looked_up(empty_house: House, extras: Path) -> None:
    brings(extras, _ODD, "channels")
    await empty_house.start(name=named(empty_house, "odd"))
    for times in range(1, 5):
        await empty_house.events.until("loop.failed", times)
        empty_house.clock.turn(10)  # longer than the pause, which doubles
    await empty_house.events.until("outbox.found")
    failed = [one["reason"] for one in empty_house.events.named("loop.failed")]
    assert failed == [
        "the channel 'odd' failed: I am set wrongly",
        "the channel 'odd' failed: of a database of mine",
        "the channel 'odd' failed: CancelledError",
        "the channel 'odd' stopped by itself",
    ]
    (said,) = sys.modules["brought"].Odd.said
    assert (said.person, said.words) == ("ada", "Echo: fifth time")
    assert (await empty_house.one("SELECT name FROM turns WHERE speaker = 'person'"))["name"] == "Ada <b>"
    assert await empty_house.answered("Ada", "dm", "hello") == "Echo: hello"


async def test_what_waits_for_a_channel_is_answered_when_it_is_back_or_late(empty_house: House, extras: Path) -> None:
    house, folder = empty_house, Folder(empty_house)
    flow = house.flow()
    await house.start(name=named(house, "lines"))
    await folder.say("ada", "are you there?")
    await flow.asked.wait()
    await house.cut()
    await house.start(name=named(house, "lost"))
    await house.say("Ada", "general", "@soul hello")
    await house.reply("general", "Echo: hello")
    assert not (folder.path / "out").exists()
    flow = house.flow()
    await house.restart(name=named(house, "lines"))
    await flow.asked.wait()
    flow.end(tagged("I am."))
    assert await folder.replies("ada") == ["I am."]
    flow = house.flow()
    await folder.say("ada", "and now?", "2")
    await flow.asked.wait()
    await house.cut()
    house.clock.turn(1_900)
    posted = len(await house.posting_calls())
    await house.start(name="tess", stale_after=1_800.0)
    assert (await folder.replies("ada", 2))[1].startswith("I was away")
    assert len(await house.posting_calls()) == posted


async def test_the_doctor_names_each_channel_and_wrong_names_stop_the_start(empty_house: House, extras: Path) -> None:
    env = {"SOUL_NAME": named(empty_house, "lines", "lost")}
    said = await empty_house.command("doctor", "--offline", env=env, fails=True)
    assert "strangers reach Tess on the channel lines (soul-extras 1.1.0)" in said
    why = "no installed package brings 'lost' in soul_daemon.channels"
    assert f"the channel 'lost' of tess can't be used: {why}" in said
    for name in ("Lines", "a.b", "../x", "x" * 65, "-"):
        with pytest.raises(SoulError, match=r"soul\.toml:\d+ extensions\.channels"):
            await empty_house.start(name=named(empty_house, name))
