"""With SOUL_MIRROR a daemon keeps every memory as a file while it talks, and takes out what is deleted in Slack."""

import os
from contextlib import suppress
from pathlib import Path

from daemon.core.ports.services import SystemClock
from daemon.memory.passport.verifying import verify_passport
from tests.journeys.house import House


def _files(folder: Path, words: str) -> list[str]:
    """The users' messages with these words; the soul's answers may quote them and stay."""
    found = []
    for place, _, names in os.walk(folder / "memory" / "turns" / "user"):  # passes over a folder that goes meanwhile
        for path in (Path(place, name) for name in names if name.endswith(".json")):
            with suppress(FileNotFoundError):  # the daemon deletes it just now
                found += [path.name] * (words in path.read_text())
    return found


async def test_what_is_said_is_a_file_within_seconds_and_goes_with_its_message(empty_house: House) -> None:
    await empty_house.start(mirror="passport", tell_of_memory=False)
    folder = empty_house.settings.home / "passport"
    await empty_house.answered("Ada", "dm", "I keep bees on the roof")
    ts = (await empty_house.one("SELECT ts FROM turns WHERE seq = 1"))["ts"]

    async def written() -> bool:
        empty_house.clock.turn(3)
        return bool(_files(folder, "bees on the roof"))

    async def gone() -> bool:
        empty_house.clock.turn(3)
        return not _files(folder, "bees on the roof")

    async def whole() -> bool:  # not while the mirror is being brought up to date
        empty_house.clock.turn(3)
        checked = await verify_passport(folder, SystemClock())
        return (checked.refused, checked.lossless, checked.chain) == ((), True, True)

    await empty_house.when(written)
    await empty_house.when(whole)
    await empty_house.people.delete("Ada", await empty_house.people.open_dm("Ada"), ts)
    await empty_house.when(gone)
