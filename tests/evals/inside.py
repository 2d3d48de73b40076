"""A daemon in the process of the test, over the same way as its own process: a start in a tenth of the time."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from daemon.app import run_daemon
from daemon.core.config import Settings
from daemon.core.config.sources import environment_name
from evals.environment import Model
from evals.house import RunningDaemon

ROOT = Path(__file__).parents[2]
MODEL = Model(
    "placeholder/echo",
    "placeholder/echo",
    {"SOUL_PERSONA_MODEL": "placeholder/echo"},
    (),
    ROOT / "souls" / "minoan",
    paid=False,
)


class DaemonInside:
    """Runs in a task until it is stopped."""

    def __init__(self, settings: Settings) -> None:
        self._life = asyncio.create_task(run_daemon(settings, lambda _: None))

    @property
    def ended(self) -> str:
        return "its task is done" if self._life.done() else ""

    async def stop(self) -> None:
        self._life.cancel()
        await asyncio.wait((self._life,))


async def launch_inside(_: Path, settings: Mapping[str, str]) -> RunningDaemon:
    """A `Launch`: the settings by the names of their variables, nothing else of the environment."""
    fields = {environment_name(name, field): name for name, field in Settings.model_fields.items()}
    given = {fields[name]: value for name, value in settings.items()}
    return DaemonInside(Settings.model_validate(given))
