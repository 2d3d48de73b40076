"""Forgets a person whose every word the model noted, guessed and said again: what is left, and what comes back (P45).

The talk is that of `tests/journeys/repeated_talk.py`. Looked for are the words in each column of each table and in the
bytes of each file: after the request, after a backup from before it was restored and Slack's history was read again,
and after a kill -9 before each write of the process that forgets.
"""

import asyncio
import json
import shutil
import tempfile
from pathlib import Path
from typing import Final

from bench.plan import Bench
from bench.report import Row
from daemon.core.ports.services import SystemClock
from daemon.local_slack.server import serve_workspace
from daemon.memory.admin.restore import restore
from daemon.memory.database.backup import back_up
from tests.fakes import TurnableClock
from tests.journeys.house import House, settings_for
from tests.journeys.own_memory import content_of, forget, shared_files
from tests.journeys.repeated_talk import THEIRS, begin, talk
from tests.residues import residues
from tests.store.forgetting_kills import killed_at_each_write
from tests.workspace_client import WorkspaceClient

_PERSON: Final = "U0ADA"
_LEAST_STORES: Final = 8
_LEAST_KILLS: Final = 8
_FIELDS: Final = ("facts", "messages", "reminders", "records", "visits", "remembering", "time_zone")


async def measure(bench: Bench) -> list[Row]:
    """What is left, by the way it was forgotten."""
    with tempfile.TemporaryDirectory() as name:
        folder, clock = Path(name), TurnableClock()
        async with serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
            house = House(workspace, people, clock, settings_for(workspace, folder / "home"))
            try:
                return await _forgotten(bench, house, folder)
            finally:
                await house.close()


async def _forgotten(bench: Bench, house: House, folder: Path) -> list[Row]:
    home = house.settings.home
    await begin(house)
    await talk(house)
    held = {one.split(":")[0] for one in residues(home, *THEIRS)}
    await house.stop()
    before = (await asyncio.to_thread(back_up, house.settings.database_path, folder / "b.db", SystemClock())).path
    await asyncio.to_thread(shutil.copytree, home, folder / "killed")
    await begin(house)
    fields, words = await _exported(house)
    await forget(house)
    await house.idle()
    left = residues(home, *THEIRS)
    row = await house.one("SELECT stores FROM tombstones")
    stores = json.loads(row["stores"])
    await house.stop()
    restored = restore(before, house.settings.database_path, SystemClock(), actor="bench")
    if restored.replaced is not None:
        restored.replaced.unlink()
    await begin(house)
    await house.answered("Ben", "general", "@soul hello again")
    await house.idle()
    back = residues(home, *THEIRS)
    await house.stop()
    kills, killed = 0, list[str]()
    team = (await house.one("SELECT workspace FROM conversations"))["workspace"]
    async for copy in killed_at_each_write(folder / "killed", team, _PERSON, folder):
        kills += 1
        killed += residues(copy, *THEIRS)
    for found in (*left, *back, *killed):
        bench.tell(found)
    bench.tell(f"stores={len(stores)} residues={len(left)} export_fields={fields} restore_residues={len(back)}")
    return [
        Row("forget me: columns and files that held the words", "", len(held), at_least=_LEAST_STORES),
        Row("the same: fields of the export from before", "", fields, at_least=len(_FIELDS)),
        Row("the same: words of theirs in it, of all", "", words / len(THEIRS), at_least=1),
        Row("the same: residues", "", len(left), at_most=0),
        Row("the same, a backup restored and history read again: residues", "", len(back), at_most=0),
        Row("the same, a kill -9 before each write: kills", "", kills, at_least=_LEAST_KILLS),
        Row("the same: residues after the kills", "", len(killed), at_most=0),
    ]


async def _exported(house: House) -> tuple[int, int]:
    """How many of its fields the export of the person has, filled or not, and how many of their words."""
    await house.answered("Ada", "dm", "export my memory")
    (file, *_) = await shared_files(house)
    text = content_of(house, file["id"]).decode()
    return sum(name in json.loads(text) for name in _FIELDS), sum(word in text for word in THEIRS)
