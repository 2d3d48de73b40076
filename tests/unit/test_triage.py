"""Triage: which messages are answered now, which are dismissed and why, which wait."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.errors import NotDelivered
from daemon.core.perception import Modality, Perception, Place
from daemon.core.ports.arrivals import Source
from daemon.core.ports.services import GateDecision
from daemon.memory.records import InboxMessage
from daemon.runtime.triage import IDLE, Triage, Triaged
from tests import given
from tests.fakes import FakeClock

NOW = FakeClock().now_ms()


@dataclass
class ListGate:
    out: tuple[str, ...] = ()
    down: bool = False
    asked: list[Perception] = field(default_factory=list)

    async def admit(self, perception: Perception) -> GateDecision:
        self.asked.append(perception)
        if self.down:
            raise NotDelivered("Slack can't be asked", hint="wait")
        if perception.author in self.out:
            return GateDecision(admitted=False, reason="guest", say="I may not talk with guests.")
        return GateDecision(admitted=True, name=f"Name of {perception.author}")


def message(
    name: str = "1",
    author: str = "U1",
    *,
    modality: Modality = Modality.WORDS,
    process: str | None = None,
    ago: float = 0.0,
    source: Source = Source.LIVE,
) -> InboxMessage:
    known = given.perception(
        channel="D1", source=author, place=Place.DM, ts=f"{NOW / 1000 - ago:.6f}", modality=modality
    )
    received = NOW if source is Source.BACKFILL else int(NOW - ago * 1000)
    perception = replace(known, id=name, received_ms=received, process=process)
    return InboxMessage(perception, source, revision=0, attempts=1)


async def sort(*what: InboxMessage, gate: ListGate | None = None, events: list[str] | None = None) -> Triaged:
    def emit(event: str, /, **_: object) -> None:
        if events is not None:
            events.append(event)

    return await Triage((gate or ListGate()).admit, FakeClock(), emit, stale_after=3600).sort(what)


def idle(name: str = "9", process: str = "dormant") -> InboxMessage:
    return message(name, modality=Modality.TIME, process=process)


def names(what: Sequence[InboxMessage]) -> list[str]:
    return [one.id for one in what]


def reasons(found: Triaged) -> dict[str, str]:
    return {row: one.reason for row, one in found.dismissed.items()}


async def test_words_are_answered_together_before_what_falls_due_and_cancel_a_silence_timer() -> None:
    found = await sort(message("1"), message("2", "U2"))
    assert names(found.messages) == ["1", "2"]
    assert [one.perception.name for one in found.messages] == ["Name of U1", "Name of U2"]
    assert (reasons(found), found.refusal) == ({}, "")
    note, other = (message(name, modality=Modality.TIME) for name in ("1", "2"))
    found = await sort(note, other, idle())
    assert (names(found.messages), reasons(found)) == (["1"], {})
    found = await sort(message("1", modality=Modality.TIME, process="academic"), message("2"))
    assert (names(found.messages), reasons(found)) == (["2"], {})
    for process in IDLE:
        gate = ListGate()
        found = await sort(message(), idle(process=process), gate=gate)
        assert (names(found.messages), reasons(found)) == (["1"], {"9": "no longer idle"}), process
        assert len(gate.asked) == 1, process
    decision = message("2", modality=Modality.DECISION)
    assert names((await sort(decision, idle())).messages) == ["2"]
    both = await sort(decision, message("1"))
    assert (names(both.messages), reasons(both)) == (["1"], {}), "the decision waits for the next claim"


async def test_an_outsider_is_noted_and_a_refused_user_gets_one_polite_reply() -> None:
    events = list[str]()
    found = await sort(message("1", "U2"), message("2"), message("3", "U2"), gate=ListGate(("U2",)), events=events)
    assert names(found.messages) == ["2"]
    assert reasons(found) == {"1": "guest", "3": "guest"}
    assert found.refusal == "I may not talk with guests."
    assert events == ["gate.refused"] * 2
    for modality in (Modality.TIME, Modality.DECISION):
        found = await sort(message(modality=modality), gate=ListGate(("U1",)))
        assert (found.messages, found.refusal, reasons(found)) == ((), "", {"1": "guest"}), modality
    with pytest.raises(NotDelivered):
        await sort(message(), gate=ListGate(down=True))
    assert await sort() == Triaged()

    class OutsiderGate(ListGate):
        async def admit(self, perception: Perception) -> GateDecision:
            return replace(await super().admit(perception), outsider=perception.author == "U2")

    for out in ((), ("U2",)):
        gate = OutsiderGate(out=out)
        assert (await sort(message("1"), message("2", "U2"), message("3"), gate=gate)).outsider_spoke
        assert not (await sort(message("1"), message("3"), gate=gate)).outsider_spoke


async def test_only_users_whom_the_gate_admits_are_told_of_a_stale_message_and_only_within_a_day() -> None:
    for source in (Source.LIVE, Source.BACKFILL):
        events, gate = list[str](), ListGate()
        heard = [message(name, ago=ago, source=source) for name, ago in (("1", 3601), ("2", 121), ("3", 119))]
        found = await sort(*heard, gate=gate, events=events)
        assert reasons(found) == {"1": "too old to answer"}, source
        assert found.dismissed["1"].stale, source
        assert events == ["inbox.stale"], source
        assert [one.perception.late for one in found.messages] == [True, False], source
        assert found.messages[0].perception.received_ms == NOW, source
        assert names(found.unanswered) == ["1"], source
        assert [one.late for one in gate.asked] == [False, True, False], source
    for what in (
        message("1", "U2", ago=3601),
        message("1", ago=3601, modality=Modality.TIME),
        message("1", ago=3601, modality=Modality.DECISION),
        message("1", ago=3601 + 86_400),
    ):
        found = await sort(what, gate=ListGate(("U2",)))
        assert found.dismissed["1"].stale, what
        assert (found.unanswered, found.refusal) == ((), ""), what


ANYTHING = st.lists(
    st.builds(
        lambda author, modality, process, ago: (author, modality, process, ago),
        st.sampled_from(("U1", "U2")),
        st.sampled_from(Modality),
        st.sampled_from((None, "dormant", "exiting", "academic")),
        st.sampled_from((0, 200, 4000)),
    ),
    max_size=8,
)


@drawn(what=ANYTHING)
async def test_each_message_is_answered_dismissed_or_left_and_at_least_one_is_settled(
    what: list[tuple[str, Modality, str | None, int]],
) -> None:
    all_heard = [
        message(str(number), author, modality=modality, process=process, ago=ago)
        for number, (author, modality, process, ago) in enumerate(what)
    ]
    found = await sort(*all_heard, gate=ListGate(("U2",)))
    answered, ignored = set(names(found.messages)), set(found.dismissed)
    assert not answered & ignored
    assert answered | ignored <= set(names(all_heard))
    assert bool(all_heard) == bool(answered | ignored), "or a claim would come round without end"
    assert len({one.perception.modality for one in found.messages}) <= 1
    assert all(one.perception.author == "U1" for one in found.messages)
