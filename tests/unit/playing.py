"""Mental processes made of plain functions, and the state machine that runs them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.working_memory import WorkingMemory
from daemon.memory.records import ProcessState
from daemon.mind.motor import Motor
from daemon.mind.pipelines import ProcessRun, run_processes
from daemon.mind.process import Interrupt, MentalProcess, Outcome, ProcessContext, Stay, Transition
from daemon.mind.recall.visit import Visit
from daemon.soul import Mode
from daemon.soul_engine import integrate
from tests.given import soul
from tests.unit.process_parts import capabilities, current_cycle
from tests.unit.thinking import END, head

SOUL = soul().model_copy(
    update={"modes": (Mode(name="academic", personality="Scholarly."), Mode(name="poetic", personality="Singing."))}
)
NOW_MS = 1_750_000_000_000
WORDS = Perception(
    id="1",
    conversation=ConversationKey("minoan", "T1", "D1"),
    modality=Modality.WORDS,
    content="hello",
    author="U0ADA",
    audience=Audience(AudienceKind.DM, "D1"),
    place=Place.DM,
    ts="1.000001",
    received_ms=NOW_MS,
    name="Ada",
)
Act = Callable[[ProcessContext], Outcome]


@dataclass
class Play:
    """Processes made of plain functions, and the context of every run."""

    acts: Mapping[str, Act]
    ran: list[ProcessContext] = field(default_factory=list)
    state: ProcessState = field(default_factory=ProcessState)

    async def perceive(self, perception: Perception = WORDS, *, motor: Motor | None = None) -> ProcessRun:
        """Run one perception through the processes; the state is kept for the next one."""
        context = ProcessContext(
            memory=integrate(WorkingMemory("Kothar"), perception),
            perception=perception,
            mind=head(["Hello.", END]).mind,
            motor=motor or Motor(None),
            soul=SOUL,
            interrupt=Interrupt(),
            visit=Visit(exchanges=1, met=True),
            capabilities=capabilities(),
            cycle=current_cycle(),
        )
        run = await run_processes(context, self.state, {name: self._process(act) for name, act in self.acts.items()})
        self.state = run.state
        return run

    def _process(self, act: Act) -> MentalProcess:
        async def process(context: ProcessContext) -> Outcome:
            self.ran.append(context)
            return act(context)

        return process

    @property
    def names(self) -> list[str]:
        return [one.state.process for one in self.ran]


def stay(context: ProcessContext) -> Outcome:
    return Stay(context.memory)


def keep_count(context: ProcessContext) -> Outcome:
    return Stay(context.memory, {"runs": context.state.invocations + 1})


def to(name: str, *, now: bool = False, **params: object) -> Act:
    return lambda context: Transition(context.memory, name, "because", params, execute_now=now)


def due(process: str, **params: object) -> Perception:
    return Perception(
        id="2",
        conversation=WORDS.conversation,
        modality=Modality.TIME,
        content="it is time",
        author="U0ADA",
        audience=WORDS.audience,
        place=Place.DM,
        ts="2.000001",
        received_ms=NOW_MS,
        process=process,
        params=params,
    )
