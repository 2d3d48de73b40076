"""Starts daemons quickly: every module is imported once, and each daemon is a fork without open files.

Orders come as JSON lines on stdin: `{"settings": {…}, "log": FILE, "crash": "LABEL@before:3", "passed": FILE,
"naive": true, "pace": 0.004, "lives": FILE, "bill": FILE, "careless": true, "busy": true}`, all but the first two as
they are wanted; the answer is the child's pid. It notes in `lives` who it is and whom it finds dead, and in `bill` what
its model charges. One that is `careless` forgets what others have reserved. Children die of a signal:
from the test, by the order `{"kill": PID}`, or from themselves at a named crash point.
"""

import asyncio
import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

import daemon.app
from daemon.channels.slack import api as client
from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.channel import SlackChannel
from daemon.core.config import Settings, load_settings
from daemon.core.perception import Modality
from daemon.core.ports.services import LLMCall, SystemClock
from daemon.llm import prices
from daemon.memory.database import Database, Unit, process_locks
from daemon.memory.database.process_locks import ProcessLocks
from daemon.memory.queues.commits import Commits
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.intentions import IDLE
from daemon.memory.queues.jobs import Job, Jobs
from daemon.memory.queues.outbox import Outbox
from daemon.memory.records import Delivery, ProcessState
from daemon.mind.pipelines import DECISION_PROCESS
from tests.kill.bill import BilledMind, forget_what_is_reserved
from tests.kill.busy_mind import BusyMind
from tests.kill.mind import KilledMind

T = TypeVar("T")


class CrashPoint:
    """Kills its own process at the n-th pass of a point: `LABEL@before:N` or `LABEL@after:N`.

    It writes every point that it passes to a file, so that a test knows them all.
    """

    def __init__(self, spec: str, passed: str) -> None:
        place, _, number = spec.partition(":")
        self._place = place
        self._left = int(number or 1)
        self._passed = Path(passed)
        self._known: set[str] = set()

    def passes(self, label: str, moment: str) -> None:
        """Kill the process if this is the point and the count."""
        place = f"{label}@{moment}"
        if place not in self._known:
            self._known.add(place)
            with self._passed.open("a") as file:
                file.write(f"{place}\n")
        if place == self._place:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def arm(crash: CrashPoint) -> None:
    """Put a crash point before and after every commit and every request to Slack.

    Jobs settle in one unit, however they end, and so does every cycle: a job that yields to a newer turn, and a commit
    on an occasion, have labels of their own.
    """
    write, answer, give_up, commit = Database.write, SlackClient.answer, Jobs.give_up, Commits.commit

    async def crashing_write(self: Database, unit: Unit[T], *, within: float = 5.0, passing: bool = False) -> T:
        named = unit.func if isinstance(unit, partial) else unit
        label = named.__qualname__.partition(".<locals>")[0]
        if label == Database.run.__qualname__:  # a single statement: named after the method that writes it
            label = sys._getframe(2).f_code.co_qualname
        crash.passes(label, "before")
        value = await write(self, unit, within=within, passing=passing)
        crash.passes(label, "after")
        return value

    async def crashing_answer(
        self: SlackClient, method: str, **arguments: object
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        crash.passes(method, "before")
        value = await answer(self, method, **arguments)
        crash.passes(method, "after")
        return value

    async def crashing_give_up(self: Jobs, job: Job, calls: tuple[LLMCall, ...]) -> None:
        crash.passes("Jobs.give_up", "before")
        await give_up(self, job, calls)
        crash.passes("Jobs.give_up", "after")

    async def crashing_commit(self: Commits, effect: CycleEffect) -> Delivery | None:
        label = f"Commits.commit({occasion(effect)})"
        if occasion(effect):
            crash.passes(label, "before")
        value = await commit(self, effect)
        if occasion(effect):
            crash.passes(label, "after")
        return value

    Database.write = crashing_write  # type: ignore[method-assign]  # the point of it
    SlackClient.answer = crashing_answer  # type: ignore[method-assign]  # as above
    Jobs.give_up = crashing_give_up  # type: ignore[method-assign]  # as above
    Commits.commit = crashing_commit  # type: ignore[method-assign]  # as above


def is_parked(state: ProcessState) -> bool:
    """Whether a problem waits for an answer; other processes keep what they think of in their memory too."""
    return state.process == DECISION_PROCESS and bool(state.process_memory)


def occasion(effect: CycleEffect) -> str:
    """The label of an unusual commit; empty for a usual one."""
    if is_parked(effect.state):
        return "parked"
    if is_parked(effect.claim.state):
        return "resumed"
    if any(one.slot != IDLE for one in effect.intentions):
        return "noting"
    if effect.claim.messages and effect.claim.messages[-1].perception.modality is Modality.TIME:
        return "due" if effect.parts else "silent"
    return ""


def make_naive() -> None:
    """The negative control: a post that may have been sent is sent again without a look-up."""
    claim_next = Outbox.claim_next

    async def careless(self: Outbox, conversation: str | None = None) -> Delivery | None:
        delivery = await claim_next(self, conversation)
        if delivery is None:
            return None
        return replace(delivery, doubtful=False)

    Outbox.claim_next = careless  # type: ignore[method-assign]  # as above


def note_deaths(file: Path) -> None:
    """Write who this process is, and each process that it holds for dead, with the moment on the machine's clock."""
    has_ended, lock = ProcessLocks.has_ended, process_locks.lock_new_file

    def write(word: str, name: str) -> None:
        with file.open("a") as lines:
            lines.write(f"{word} {name} {time.monotonic()}\n")

    def noted(self: ProcessLocks, name: str) -> bool | None:
        if ended := has_ended(self, name):
            write("dead", name)
        return ended

    def noting(folder: Path) -> tuple[str, int]:
        name, handle = lock(folder)
        write("lives", name)
        return name, handle

    ProcessLocks.has_ended = noted  # type: ignore[method-assign]  # as above
    process_locks.lock_new_file = noting  # as above


async def live(settings: Settings, pace: float, bill: str = "", *, busy: bool = False) -> None:
    """Run a daemon as `soul run` does, with this model and its pace, without logs, and with short timeouts.

    A `bill` is the file in which the model's vendor notes what it charges. One that is `busy` has a `BusyMind`.
    """
    clock = SystemClock()
    mind = (BusyMind if busy else KilledMind)(clock, pace)
    client.READS_A_MINUTE = 100_000  # type: ignore[misc]  # no test waits for the limits of Slack
    daemon.app.build_llm = lambda *_, **__: (  # type: ignore[attr-defined,assignment]  # as above
        BilledMind(mind, clock, Path(bill)) if bill else mind
    )
    await daemon.app.run_daemon(settings, lambda _: None)


def child(order: dict[str, Any]) -> None:
    """Run one daemon in this fork; never returns."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    if order.get("passed"):
        arm(CrashPoint(order.get("crash", ""), order["passed"]))
    if order.get("naive"):
        make_naive()
    if order.get("careless"):
        forget_what_is_reserved()
    if order.get("lives"):
        note_deaths(Path(order["lives"]))
    try:
        settings = load_settings(**{"http_port": 0, **order["settings"]})
        asyncio.run(live(settings, order.get("pace", 0.0), order.get("bill", ""), busy=order.get("busy", False)))
    except BaseException:  # noqa: BLE001 - a fork must not return into the zygote's code
        traceback.print_exc()
    os._exit(0)


def load_clients() -> None:
    """Import what a daemon loads for its first server of tools and for its first price, so that its forks needn't."""
    importlib.import_module("mcp.client.streamable_http")
    prices.load()


def main() -> None:
    """Serve orders until stdin ends."""
    if "tools" in sys.argv:
        load_clients()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps dead children
    assert SlackChannel is not None  # imported for the children
    for line in sys.stdin:
        order = json.loads(line)
        if "kill" in order:
            print(kill(order["kill"]), flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child(order)
        for dead in [one for one, handle in _children.items() if select.select([handle], [], [], 0)[0]]:
            os.close(_children.pop(dead))
        with suppress(ProcessLookupError):
            _children[pid] = os.pidfd_open(pid)
        print(pid, flush=True)


_children: dict[
    int, int
] = {}  # by pid, handles: the pid of a child that died by itself may be another program's by now


def kill(pid: int) -> int:
    """Kill a child and wait until it is gone; gives its pid."""
    if (handle := _children.pop(pid, None)) is not None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        select.select([handle], [], [])
        os.close(handle)
    return pid


if __name__ == "__main__":
    main()
