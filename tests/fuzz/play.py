"""Odd and foreign payloads over the real socket to a daemon; counts what breaks it and what it takes from others."""

import json
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from daemon.core.value import Value
from daemon.local_slack.model import Json
from daemon.local_slack.server import serve_workspace
from tests.fakes import TurnableClock
from tests.fuzz.mutating import mutated, odd_value
from tests.fuzz.samples import Sample, recorded
from tests.fuzz.senders import IDS, ONLY_OWN, Sender, sent_by
from tests.given import shown
from tests.journeys.house import House, settings_for
from tests.workspace_client import WorkspaceClient

_AT_ONCE: Final = 20
_REPLAYED, _FRAMES = 0.1, 0.5  # how many payloads come twice; how many batches are followed by an odd frame
_OWN, _ODD = 0.4, 0.5  # how many payloads are Ada's, all made odd; how many of the others' are made odd
_MARK: Final = "zqfuzz"
_CRASHES: Final = frozenset({"loop.failed", "store.failed", "inbox.failed", "job.failed"})
OTHERS: Final = tuple(sender for sender in Sender if sender is not Sender.OWN)
"""Those from whom nothing may be taken."""


@dataclass(slots=True)
class GotThrough:
    """What was sent, what broke, and what was taken that should not have been, in words."""

    payloads: int = 0
    frames: int = 0
    replays: int = 0
    crashes: list[str] = field(default_factory=list)
    from_others: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        sent = f"payloads={self.payloads} frames={self.frames} replays={self.replays}"
        return f"{sent} crashes={len(self.crashes)} accepted_from_others={len(self.from_others)}"


@asynccontextmanager
async def fuzzed_house() -> AsyncIterator[House]:
    """A workspace with a guest, a stranger, a bot and somebody who was removed, and one running daemon."""
    clock = TurnableClock()
    with tempfile.TemporaryDirectory() as folder:
        async with serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
            built = House(workspace, people, clock, settings_for(workspace, Path(folder)))
            for name, standing in (("Stranger", "stranger"), ("Removed", "deactivated"), ("Robot", "bot")):
                await people.add_person(name, standing=standing)
            try:
                await built.start()
                yield built
            finally:
                await built.close()


async def play(payloads: int, seed: int, odd: Sequence[Any] = (), others: Sequence[Sender] = OTHERS) -> GotThrough:
    """Send so many payloads of Ada and of `others`, drawn with a seed; `odd` are more values to put into them."""
    counted = GotThrough()
    async with fuzzed_house() as house:
        draw = _Draw(await recorded(house), Random(seed), odd, others)
        before = len(house.prompts)
        while counted.payloads < payloads and not counted.crashes:
            await _batch(house, draw, counted)
        await house.idle()
        await _judge(house, counted, before)
    return counted


class _Draw(Value):
    """Where payloads are drawn from."""

    samples: Sequence[Sample]
    dice: Random
    odd: Sequence[Any]
    others: Sequence[Sender]

    def payload(self, number: int) -> tuple[str, Json]:
        """A payload of Ada's made odd, or one of somebody else's, odd or as it would be from a person."""
        envelope, kind, payload = self.dice.choice(self.samples)
        fresh = _fresh(payload, _ts(self.dice))
        if kind in ONLY_OWN or self.dice.random() < _OWN:
            return envelope, mutated(fresh, self.dice, self.odd)
        sender = self.dice.choice(self.others)
        if self.dice.random() < _ODD:
            fresh = mutated(fresh, self.dice, self.odd)
        return envelope, sent_by(fresh, sender, f"{_MARK}{number}{sender}")


async def _batch(house: House, draw: _Draw, counted: GotThrough) -> None:
    """Send a batch, and wait until Slack has each acknowledgement, or something breaks, and nothing is in work."""
    sent: list[str] = []
    for _ in range(_AT_ONCE):
        envelope, payload = draw.payload(counted.payloads)
        times = 2 if draw.dice.random() < _REPLAYED else 1
        counted.replays += times - 1
        for _ in range(times):
            sent.append(str(uuid.uuid4()))
            await house.people.emit_envelope({"type": envelope, "envelope_id": sent[-1], "payload": payload})
        counted.payloads += 1
    if draw.dice.random() < _FRAMES:
        counted.frames += 1
        await house.people.fault(socket="frame", text=_frame(draw.dice, draw.odd), only=1)

    async def settled() -> bool:
        log = {one.envelope_id: one.acked_at for one in house.workspace.workspace.deliveries.log}
        return all(log.get(one) is not None for one in sent) or bool(_broken(house))

    try:
        await house.when(settled)
        await house.idle()
    except TimeoutError:
        counted.crashes.append("an envelope was not acknowledged, or work did not end")
    counted.crashes += _broken(house)


def _ts(dice: Random) -> str:
    return f"1795{dice.randrange(10**6):06d}.{dice.randrange(10**6):06d}"


def _fresh(payload: Json, ts: str) -> Json:
    """The payload as of another moment: with ids that were not heard yet."""
    made: Json = json.loads(json.dumps(payload))
    if isinstance(event := made.get("event"), dict):
        made["event_id"] = f"Ev{uuid.uuid4().hex[:10]}"
        if "text" in event:
            event["ts"] = event["event_ts"] = ts
    if "trigger_id" in made:
        made["trigger_id"] = ts
    for action in made.get("actions") or ():
        action["action_ts"] = ts
    if isinstance(view := made.get("view"), dict):
        view["id"] = f"V{uuid.uuid4().hex[:10]}"
    return made


def _frame(dice: Random, odd: Sequence[Any]) -> str:
    """Text on the socket that is no envelope of Slack's."""
    envelope = {"type": dice.choice(("events_api", "interactive", "hello", "odd")), "payload": odd_value(dice, odd)}
    return dice.choice(("{", "[]", '"hello"', "null", "\x00", json.dumps(envelope), json.dumps({"envelope_id": 7})))


def _broken(house: House) -> list[str]:
    def is_fault(name: str, fields: Mapping[str, object]) -> bool:
        unread = "Failed to process a message" in str(fields.get("note"))  # a frame that is no JSON
        return name in _CRASHES or (name == "slack.library" and fields.get("level") == "error" and not unread)

    return [f"{name}: {fields}" for name, fields in house.events.emitted if is_fault(name, fields)]


async def _judge(house: House, counted: GotThrough, before: int) -> None:
    """Look for what broke and for what was taken: in events, prompts and rows."""
    assert house.daemon is not None
    if house.daemon.over:
        counted.crashes.append("the daemon ended")
        return
    counted.crashes += [one for one in _broken(house) if one not in counted.crashes]
    counted.crashes += [f"a dead row: {row['reason']}" for row in await house.rows(_DEAD)]
    marked = (prompt.step for prompt in house.prompts[before:] if _MARK in shown(prompt))
    counted.from_others += [f"in a prompt of {step}" for step in marked]
    for sender in OTHERS:
        taken = _STORED if sender in (Sender.WORKSPACE, Sender.APP) else _TAKEN
        rows = await house.rows(taken, IDS[sender])
        counted.from_others += [f"{sender}: {row['what']}" for row in rows]
    counted.from_others += [f"a replay: {row['ts']}" for row in await house.rows(_TWICE)]
    alive = await house.answered("Ada", "dm", "are you there?")
    counted.crashes += [] if "are you there?" in alive else ["no answer any more"]


_DEAD: Final = """
    SELECT reason FROM inbox WHERE state = 'dead' UNION ALL SELECT reason FROM jobs WHERE state = 'dead'
    UNION ALL SELECT reason FROM intentions WHERE state = 'dead'
"""
_TWICE: Final = """
    SELECT ts FROM turns WHERE speaker = 'person' GROUP BY conversation, author, ts HAVING count(*) > 1
"""
_TAKEN: Final = """
    SELECT 'feedback' AS what FROM feedback WHERE author = ?1
    UNION ALL SELECT 'a turn' FROM turns WHERE author = ?1 AND speaker = 'person'
    UNION ALL SELECT 'answered: ' || modality || ' ' || reason FROM inbox WHERE author = ?1 AND state = 'answered'
    UNION ALL SELECT 'a reminder' FROM intentions WHERE behalf = ?1
    UNION ALL SELECT 'how it works in a channel' FROM room_ways WHERE person = ?1
"""
_STORED: Final = f"{_TAKEN} UNION ALL SELECT 'stored' FROM inbox WHERE author = ?1"
