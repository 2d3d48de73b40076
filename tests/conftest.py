"""What holds for the whole suite: the order of tests, the seed of a run, folders on disk, and cheap memory files."""

import gc
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from daemon.memory import database
from daemon.memory.database import schema
from daemon.soul import loader
from daemon.soul import loader as reload
from tests import chance, template
from tests.fakes import Events, FakeClock

_SLOW = ("kill", "soak", "leaks", "page", "initiative", "outputs", "fuzz", "systemd", "real_client", "long")
"""Folders that need many processes, kills, random worlds, a browser, a real client, a service manager,
days, sessions or several daemons.

The longest come first, so that none of them is left over at the end.
"""
_PASSED = pytest.StashKey[bool]()

# Examples may take as long as a busy machine needs; what is drawn differs from run to run.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=False,
    max_examples=40,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")
gc.disable()  # until all tests are collected


@pytest.hookimpl(tryfirst=True)  # before those that are left out are chosen
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into an order that the seed draws, slow ones first.

    The tests of a file follow each other, since they share what the file sets up.
    """
    places = dict[Path, tuple[int, float]]()
    dice = chance.dice("order")
    for item in items:
        parts = item.path.relative_to(item.config.rootpath).parts  # a checkout may lie in a folder of any name
        folder = next((number for number, name in enumerate(_SLOW) if name in parts), len(_SLOW))
        if folder < len(_SLOW):
            item.add_marker("slow")
        places.setdefault(item.path, (folder, dice.random()))
    dice.shuffle(items)
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, places[item.path]))


def pytest_collection_finish() -> None:
    """The collected tests stay to the end: the garbage collector need not go through them again and again."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed, and what could not be tried here, loudly."""
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", ())]
    for reason in sorted({one[2] for one in skipped if isinstance(one, tuple)}):
        terminalreporter.write_line(reason, yellow=True)
    terminalreporter.write_line(f"TEST_SEED={chance.SEED}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note for the fixtures whether a test passed."""
    report = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    return report


@pytest.fixture
def disk_path(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder on the disk, which stays when the test fails; `tmp_path` may be in memory."""
    folder = Path(tempfile.mkdtemp(prefix="soul-test-"))
    yield folder
    if request.node.stash.get(_PASSED, default=False):
        shutil.rmtree(folder)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture(autouse=True)
def _no_model_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model server that runs on the machine of the tests is not looked for."""
    monkeypatch.setenv("SOUL_LOCAL_MODELS", "false")


@pytest.fixture(autouse=True)
def _made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new memory.db is a copy of a fresh one, and a shipped soul is read once."""
    monkeypatch.setattr(schema, "migrate", template.by_copy)
    monkeypatch.setattr(database, "_require_sound", template.sound_if_copied)
    for reading in (loader, reload):
        monkeypatch.setattr(reading, "load_soul", template.soul_once)
