"""No message meets an import: what messages need is imported before the first one is claimed."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE
from functools import partial
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.journeys.souls import write_soul
from tests.journeys.thinking import thought
from tests.page.loopback_model import ModelCall, loopback_model, tagged
from tests.workspace_client import WorkspaceClient

ROOT = Path(__file__).parents[3]
_DAEMON = """
import asyncio, json, signal, sys
from daemon.app import run_daemon
from daemon.core.config import load_settings
from daemon.runtime.dispatcher import Dispatcher

known, claim = set(), Dispatcher.run

async def noted(self):
    known.update(sys.modules)
    await claim(self)

def tell(*_):
    print("new", json.dumps(sorted(set(sys.modules) - known)), flush=True)

Dispatcher.run = noted
signal.signal(signal.SIGUSR1, tell)
asyncio.run(run_daemon(load_settings(), lambda line: print(line, flush=True)))
"""
_ASIDE = sys.stdlib_module_names | {"daemon.local_slack"}


def _answer(call: ModelCall) -> str:
    return thought("It is in the drawer.") if call.step == "think" else tagged("It is in the drawer.")


def _is_ours_or_a_packages(name: str) -> bool:
    return name.partition(".")[0] not in _ASIDE and not name.startswith("daemon.local_slack")


async def _said(people: WorkspaceClient, room: str, times: int) -> bool:
    posts = await people.posts_by_bot(room, person="ada")
    return sum("drawer" in one["text"] for one in posts if one.get("streaming_state") != "in_progress") >= times


@pytest.mark.parametrize("mind", ["", 'mind = "cycle"\n'])
async def test_a_dm_a_search_and_a_mention_with_a_file_import_nothing(tmp_path: Path, mind: str) -> None:
    write_soul(tmp_path, more=mind)
    (tmp_path / ".env").write_text("", encoding="utf-8")
    async with loopback_model(_answer) as model:
        env = {"PYTHONPATH": str(ROOT), "SOUL_HOME": str(tmp_path), "SOUL_NAME": "tess", "SOUL_HTTP_PORT": "0"}
        settings = {**env, "SOUL_WORKSPACE_PORT": "0", "SOUL_EMBEDDER": "local", **model.settings}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _DAEMON), cwd=tmp_path, env=settings, stdout=PIPE
        )
        try:
            assert process.stdout is not None

            async def line(begins: str) -> str:
                assert process.stdout is not None
                while not (said := (await process.stdout.readline()).decode()).startswith(begins):
                    assert said, "the daemon ended"
                return said

            async with asyncio.timeout(6 * TIMEOUT):
                url = (await line("No Slack tokens")).rpartition(" ")[2].strip()
                await line("Connected")
                async with WorkspaceClient(url) as people:
                    notes = [{"name": "notes.txt", "text": "The key lies in the drawer."}]
                    for number, words in enumerate(("The key lies in the drawer.", "Where is it?"), 1):
                        await people.say("ada", "dm", words)
                        await people.wait_for(partial(_said, people, "dm", number), TIMEOUT)
                    await people.say("ada", "general", "@Tess what does it say?", files=notes)
                    await people.wait_for(partial(_said, people, "general", 1), TIMEOUT)
                    os.kill(process.pid, signal.SIGUSR1)
                    new = json.loads((await line("new")).removeprefix("new"))
            assert [name for name in new if _is_ours_or_a_packages(name)] == []
        finally:
            process.kill()
            await process.wait()
