"""The effects of a cycle: turns, visit state, scheduled timeouts, and the jobs to enqueue."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.config import Settings
from daemon.core.initiative import NEVER_QUIET
from daemon.core.perception import Modality, Perception
from daemon.core.ports.arrivals import Source
from daemon.core.ports.channel import Channel
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.soul_states import PathStep
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import IDLE
from daemon.memory.records import Claim, Dismissal, InboxMessage, ProcessState, Speaks, Turn, VisitState
from daemon.mind.motor import Motor
from daemon.mind.pipelines import ProcessRun
from daemon.mind.recall.visit import Visit
from daemon.runtime.away import away_note
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import Thinking, effect_of_cycle, newer_than
from daemon.runtime.triage import Admit, Triage
from daemon.soul import Budgets, Soul
from tests.fakes import Events, FakeClock
from tests.given import soul
from tests.unit.playing import NOW_MS, WORDS, due

SOUL = soul()
SETTINGS = Settings(_env_file=None, visit_silence=4, dormant_after=1, schedule_max=9)
CLAIM = Claim(WORDS.conversation, "w", 1, 4, WORDS.audience, ())
STATE = ProcessState("engaged", "curious", 3)
PATH = (PathStep(0, "stay", "engaged", "engaged", "rule", ""),)
SILENCE = replace(due("dormant"), content="")
LONG_AGO = VisitState(visit=2, exchanges=3, spoken_ms=NOW_MS - 1_000)


class Under:
    def reply_to(self, _: Perception) -> str:
        return "1.0"


HERE = Channels(cast("Channel", Under()), {})


def effect(
    *perceptions: Perception,
    who: Soul = SOUL,
    reply: str = "Hello.",
    visit_state: VisitState = LONG_AGO,
    visit: Visit | None = None,
    settings: Settings = SETTINGS,
    transcript: Transcript | None = None,
    motor: Motor | None = None,
    thought: Mapping[str, object] | None = None,
) -> CycleEffect:
    stores = motor or Motor(None)
    stores.settle(reply)
    stores.annotate(**(thought or {}))
    clock = FakeClock(start_ms=NOW_MS)
    given = SimpleNamespace(
        channels=HERE,
        clock=clock,
        visit_timeout_ms=int(settings.visit_silence * 1000),
        learning_lull_ms=int(min(settings.learn_after, settings.visit_silence) * 1000),
        settings=settings,
        soul=lambda: who,
        tick_budget=lambda _: None,
        quiet_hours=NEVER_QUIET,
    )
    services = cast("CycleServices", given)
    messages = tuple(InboxMessage(one, Source.LIVE, 0, 1) for one in perceptions or (WORDS,))
    claim = replace(CLAIM, visit_state=visit_state, messages=messages)
    cycle = Cycle(services, claim, "t", messages, {"x": Dismissal("guest")})
    thinking = Thinking(
        soul=who,
        motor=stores,
        run=ProcessRun(WorkingMemory("Kothar"), STATE, PATH),
        transcript=transcript or Transcript("", 0, ()),
        visit=visit or Visit(number=2, exchanges=3, met=True),
    )
    return effect_of_cycle(cycle, thinking, (reply,) if reply else ())


def taking_part(*processes: str) -> Soul:
    return SOUL.model_copy(update={"processes": processes})


def idle(made: CycleEffect) -> list[tuple[str, int]]:
    return [(one.process, one.due_ms - NOW_MS) for one in made.intentions if one.slot == IDLE]


def test_all_messages_and_the_reply_become_turns_and_a_scheduled_perception_none() -> None:
    other = replace(WORDS, content="and?", ts="2.0", author="U0BEN", name="Ben")
    made = effect(WORDS, other, thought={"monologue": "Hm."})
    here = {"readers": {"audience": str(WORDS.audience), "members_only": False}}
    assert made.turns == (
        Turn(Speaks.PERSON, "U0ADA", "Ada", "1.000001", "hello"),
        Turn(Speaks.PERSON, "U0BEN", "Ben", "2.0", "and?"),
        Turn(Speaks.SOUL, SOUL.name, SOUL.display_name, "2.0", "Hello.", {"monologue": "Hm.", **here}),
    )
    assert (made.recipient, made.reply_to, made.newer_than_ts) == ("U0BEN", "1.0", "1.000001")
    assert (made.state, made.path, made.dismissed) == (STATE, PATH, {"x": Dismissal("guest")})
    assert [turn.speaker for turn in effect(due("academic")).turns] == [Speaks.SOUL]
    assert effect(SILENCE, reply="").turns == ()
    assert newer_than(WORDS) == "1.000001"
    assert newer_than(replace(SILENCE, ts="1000.5")) == "400.500000"
    assert newer_than(replace(SILENCE, ts="2.0")) == "0.000000"


def test_a_message_continues_the_visit_or_begins_the_next_and_a_time_event_leaves_it_unchanged() -> None:
    assert effect().visit_state == VisitState(visit=2, exchanges=4, spoken_ms=NOW_MS)
    begun = effect(visit=Visit(number=3, exchanges=0, met=True, fresh=True))
    assert begun.visit_state == VisitState(visit=3, exchanges=1, spoken_ms=NOW_MS)
    assert effect(SILENCE, reply="").visit_state == LONG_AGO
    assert effect(SILENCE).visit_state == LONG_AGO


def test_dormancy_and_then_the_visits_end_are_scheduled_where_the_soul_uses_them() -> None:
    for modality in (Modality.WORDS, Modality.DECISION):
        made = effect(replace(WORDS, modality=modality))
        assert idle(made) == [("dormant", 1_000)]
        assert made.intentions[0].behalf == "U0ADA"
    assert idle(effect(SILENCE, reply="")) == [("exiting", 3_000)]
    assert idle(effect(SILENCE, reply="", visit_state=replace(LONG_AGO, spoken_ms=1))) == [("exiting", 0)], (
        "never in the past"
    )
    assert idle(effect(replace(SILENCE, process="exiting"), reply="")) == []
    assert idle(effect(due("academic"))) == []
    assert idle(effect(replace(due("academic"), process=None))) == []
    table: dict[tuple[tuple[str, ...], int], list[tuple[str, int]]] = {
        (("engaged", "exiting"), 1_000): [("exiting", 4_000)],
        ((), 4_000): [("exiting", 4_000)],
        (("engaged", "dormant"), 1_000): [("dormant", 1_000)],
        (("engaged", "dormant"), 4_000): [],
        (("engaged",), 1_000): [],
    }
    for (processes, dormant_ms), expected in table.items():
        made = effect(
            who=taking_part(*processes), settings=SETTINGS.model_copy(update={"dormant_after": dormant_ms / 1000})
        )
        assert idle(made) == expected, (processes, dormant_ms)
    assert idle(effect(SILENCE, reply="", who=taking_part("engaged", "dormant"))) == [], "it never exits"


def test_intentions_of_the_soul_are_stored_beside_the_timeout() -> None:
    motor = Motor(None)
    motor.schedule(NewIntention(slot="tea", due_ms=1, behalf="U0ADA"))
    motor.cancel("kiln")
    made = effect(motor=motor)
    assert [one.slot for one in made.intentions] == ["tea", IDLE]
    assert made.cancelled == ("kiln",)
    assert (made.most_intentions, made.visit_timeout_ms) == (9, 4_000)


def test_the_replys_checks_its_number_and_the_budget_decide_which_jobs_are_enqueued() -> None:
    assert effect().jobs == ("models_the_visitor",)
    assert effect(thought={"user_model_check": False, "soul_state_check": False}).jobs == ()
    both = effect(thought={"user_model_check": True, "soul_state_check": True}).jobs
    assert both == ("models_the_visitor", "keeps_its_own_state")
    jobs = [effect(visit=Visit(exchanges=number, met=True)).jobs for number in range(6)]
    assert ["keeps_its_own_state" in names for names in jobs] == [False, False, True] * 2
    asked = effect(visit=Visit(exchanges=2, met=True), thought={"soul_state_check": False}).jobs
    assert "keeps_its_own_state" not in asked
    old = tuple(Turn(Speaks.PERSON, "U0ADA", "Ada", f"{number}.0", "words " * 50) for number in range(5))
    small = SOUL.model_copy(update={"budgets": Budgets(transcript=100)})
    checks = {"user_model_check": False}
    assert effect(who=small, transcript=Transcript("", 0, old), thought=checks).jobs == ("summarizes_the_conversation",)
    assert effect(transcript=Transcript("", 0, old), thought=checks).jobs == ()
    assert effect(SILENCE, reply="").jobs == ()
    own = SOUL.model_copy(update={"subprocesses": ("counts_the_looms",)})
    assert effect(who=own).jobs == ("counts_the_looms",)
    assert effect(SILENCE, reply="", who=own).jobs == ()


def test_a_conversation_hears_of_each_message_that_grew_too_old_and_of_none_twice() -> None:
    gate = Triage(cast("Admit", None), FakeClock(), Events(), stale_after=1_800)
    given = SimpleNamespace(
        channels=HERE,
        clock=FakeClock(start_ms=NOW_MS),
        triage=gate,
        soul=lambda: SOUL,
        settings=SETTINGS,
    )
    told_ms = NOW_MS - 900_000
    for written_ms, tells in ((told_ms - 1_800_001, False), (told_ms - 1_799_999, True)):
        stale = InboxMessage(replace(WORDS, ts=f"{written_ms / 1_000:.6f}"), Source.BACKFILL, 0, 1)
        claim = replace(CLAIM, away_told_ms=told_ms, messages=(stale,))
        cycle = Cycle(cast("CycleServices", given), claim, "t", (), {}, unanswered=(stale,))
        assert (away_note(cycle) is not None) is tells
