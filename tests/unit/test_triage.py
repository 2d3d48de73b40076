"""Who is answered now, what is ignored and why, what has to wait: the sorting of what was heard."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import NotDelivered
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.ports import GateDecision as Verdict
from daemon.core.ports import Source
from daemon.memory.records import InboxMessage
from daemon.runtime.triage import IDLE, Triage, Triaged
from tests.fakes import FakeClock

NOW = FakeClock().now_ms()


@dataclass
class Doorman:
    """A gate that lets in everybody but those named, and remembers who was asked about."""

    out: tuple[str, ...] = ()
    down: bool = False
    asked: list[Perception] = field(default_factory=list)

    async def admit(self, perception: Perception) -> Verdict:
        """See `Gate.admit`."""
        self.asked.append(perception)
        if self.down:
            raise NotDelivered("Slack can't be asked", hint="wait")
        if perception.author in self.out:
            return Verdict(admitted=False, reason="guest", say="I may not talk with guests.")
        return Verdict(admitted=True, name=f"Name of {perception.author}")


def heard(
    name: str = "1",
    author: str = "U1",
    *,
    modality: Modality = Modality.WORDS,
    process: str | None = None,
    ago: float = 0.0,
    source: Source = Source.LIVE,
) -> InboxMessage:
    """Something that came in so many seconds ago."""
    perception = Perception(
        id=name,
        conversation=ConversationKey("ada", "T1", "D1"),
        modality=modality,
        content="words",
        author=author,
        audience=Audience(AudienceKind.DM, "D1"),
        place=Place.DM,
        ts=f"{NOW / 1000 - ago:.6f}",
        received_ms=NOW if source is Source.BACKFILL else int(NOW - ago * 1000),
        process=process,
    )
    return InboxMessage(perception, source, revision=0, attempts=1)


async def sort(*what: InboxMessage, gate: Doorman | None = None, told: list[str] | None = None) -> Triaged:
    def emit(event: str, /, **_: object) -> None:
        if told is not None:
            told.append(event)

    return await Triage(gate or Doorman(), FakeClock(), emit, stale_after=3600).sort(what)


def idle(name: str = "9", process: str = "dormant") -> InboxMessage:
    return heard(name, modality=Modality.TIME, process=process)


def names(what: Sequence[InboxMessage]) -> list[str]:
    return [one.id for one in what]


def reasons(found: Triaged) -> dict[str, str]:
    return {row: one.reason for row, one in found.dismissed.items()}


async def test_words_are_answered_together_under_the_names_that_the_gate_knows() -> None:
    found = await sort(heard("1"), heard("2", "U2"))
    assert names(found.messages) == ["1", "2"]
    assert [one.perception.name for one in found.messages] == ["Name of U1", "Name of U2"]
    assert (reasons(found), found.refusal) == ({}, "")


async def test_who_may_not_be_heard_is_ignored_with_the_reason_and_told_courteously_once() -> None:
    told = list[str]()
    found = await sort(heard("1", "U2"), heard("2"), heard("3", "U2"), gate=Doorman(("U2",)), told=told)
    assert names(found.messages) == ["2"]
    assert reasons(found) == {"1": "guest", "3": "guest"}
    assert found.refusal == "I may not talk with guests."
    assert told == ["gate.refused"] * 2


@pytest.mark.parametrize("modality", [Modality.TIME, Modality.DECISION])
async def test_nobody_is_refused_aloud_who_has_not_spoken(modality: Modality) -> None:
    found = await sort(heard(modality=modality), gate=Doorman(("U1",)))
    assert (found.messages, found.refusal, reasons(found)) == ((), "", {"1": "guest"})


@pytest.mark.parametrize("process", IDLE)
async def test_words_end_a_silence_without_the_gate_being_asked_about_it(process: str) -> None:
    gate = Doorman()
    found = await sort(heard(), idle(process=process), gate=gate)
    assert (names(found.messages), reasons(found)) == (["1"], {"9": "no longer idle"})
    assert len(gate.asked) == 1


async def test_a_decision_ends_a_silence_too_but_words_come_first() -> None:
    decision = heard("2", modality=Modality.DECISION)
    assert names((await sort(decision, idle())).messages) == ["2"]
    both = await sort(decision, heard("1"))
    assert (names(both.messages), reasons(both)) == (["1"], {}), "the decision waits for the next claim"


async def test_things_that_fell_due_are_taken_one_by_one() -> None:
    note, other = (heard(name, modality=Modality.TIME) for name in ("1", "2"))
    found = await sort(note, other, idle())
    assert (names(found.messages), reasons(found)) == (["1"], {})


async def test_a_note_waits_for_its_turn_while_words_are_answered() -> None:
    found = await sort(heard("1", modality=Modality.TIME, process="academic"), heard("2"))
    assert (names(found.messages), reasons(found)) == (["2"], {})


@pytest.mark.parametrize("source", [Source.LIVE, Source.BACKFILL])
async def test_what_is_too_old_is_reported_and_what_is_late_is_marked(source: Source) -> None:
    told, gate = list[str](), Doorman()
    what = [heard(name, ago=ago, source=source) for name, ago in (("1", 3601), ("2", 121), ("3", 119))]
    found = await sort(*what, gate=gate, told=told)
    assert reasons(found) == {"1": "too old to answer"}
    assert found.dismissed["1"].stale
    assert told == ["inbox.stale"]
    assert [one.perception.late for one in found.messages] == [True, False]
    assert found.messages[0].perception.received_ms == NOW
    assert [one.late for one in gate.asked] == [True, False]


async def test_a_gate_that_can_not_be_asked_lets_nobody_in() -> None:
    with pytest.raises(NotDelivered):
        await sort(heard(), gate=Doorman(down=True))


async def test_nothing_heard_is_nothing_sorted() -> None:
    assert await sort() == Triaged()


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


@given(what=ANYTHING)
async def test_everything_is_answered_ignored_or_left_waiting_and_something_always_ends(
    what: list[tuple[str, Modality, str | None, int]],
) -> None:
    all_heard = [
        heard(str(number), author, modality=modality, process=process, ago=ago)
        for number, (author, modality, process, ago) in enumerate(what)
    ]
    found = await sort(*all_heard, gate=Doorman(("U2",)))
    answered, ignored = set(names(found.messages)), set(found.dismissed)
    assert not answered & ignored
    assert answered | ignored <= set(names(all_heard))
    assert bool(all_heard) == bool(answered | ignored), "or a claim would come round without end"
    assert len({one.perception.modality for one in found.messages}) <= 1
    assert all(one.perception.author == "U1" for one in found.messages)
