"""`soul memory forget`: forgets one person beside or without a daemon, and counts what is left."""

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner

from daemon.cli.commands import soul
from daemon.memory.database import open_database
from tests.fakes import FakeClock
from tests.store.forgotten import ADA, CANARY, fill


async def _filled(home: Path) -> None:
    async with open_database(home / "memory.db", FakeClock(auto=True)) as database:
        await fill(database)


def _run(home: Path, *arguments: str) -> tuple[int, str]:
    env = {"SOUL_HOME": str(home)}
    done = CliRunner().invoke(soul, ["memory", "forget", *arguments], env=env, prog_name="soul")
    return done.exit_code, done.output


def test_it_deletes_everything_and_counts_nothing_left(tmp_path: Path) -> None:
    asyncio.run(_filled(tmp_path))
    code, output = _run(tmp_path, ADA)
    assert code != 0
    assert "--yes" in output
    code, output = _run(tmp_path, ADA, "--yes", "--json")
    found = json.loads(output)
    assert code == 0
    assert found["residues"] == 0
    assert found["stores"]["turns"] == 4
    assert all(CANARY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    code, output = _run(tmp_path, ADA, "--yes")
    assert code != 0
    assert f"nothing is kept of {ADA}" in output
