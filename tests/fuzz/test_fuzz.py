"""No payload breaks the daemon, nothing is taken from those who may not speak to it; a door left open is noticed."""

import asyncio
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from daemon.channels.slack import listener
from daemon.channels.slack.gate import SlackGate
from daemon.core.ports.services import GateDecision
from tests import chance
from tests.fuzz.play import play
from tests.fuzz.senders import Sender

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


async def test_odd_and_foreign_payloads_crash_nothing_and_nothing_is_taken_from_others() -> None:
    counted = await play(160, chance.SEED)
    print(counted.line)
    assert (counted.crashes, counted.from_others) == ([], [])
    assert counted.replays
    assert counted.frames


@settings(max_examples=2, phases=[Phase.generate])
@given(seed=st.integers(0, 10**9), odd=st.lists(JSON, min_size=10, max_size=60))
def test_any_value_in_any_place_crashes_nothing(seed: int, odd: list[Any]) -> None:
    counted = asyncio.run(play(40, seed, odd))
    assert (counted.crashes, counted.from_others) == ([], [])


async def _admitted(*_: object) -> tuple[GateDecision, None]:
    return GateDecision(admitted=True, name="anybody"), None


async def test_a_gate_that_admits_everybody_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlackGate, "_judge", _admitted)
    assert (await play(40, 1, others=[Sender.GUEST])).from_others


async def test_a_listener_that_hears_for_other_apps_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "meant_for", lambda *_: True)
    assert (await play(40, 1, others=[Sender.APP])).from_others
