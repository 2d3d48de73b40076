"""Parts for trying actions out one by one: a context with a scripted model, a library, a toolbox and a real store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from daemon.core.errors import ToolFailed
from daemon.core.limits import Limits
from daemon.core.perception import Audience, AudienceKind, Modality, Perception, Place
from daemon.core.ports import Passage, Speech, Task, Tool
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.memory.database import Database
from daemon.memory.queues.approvals import Approval, Approvals, NewApproval, store_approvals
from daemon.memory.records import ProcessState
from daemon.mind.interrupts import Interrupt
from daemon.mind.mental_process import Capabilities, ProcessContext, Stay, Transition
from daemon.mind.motor import Motor
from daemon.soul import Soul
from tests.fakes import FakeClock, ScriptedLLM
from tests.store.parts import DM
from tests.unit.ism_parts import Bench

LIMITS = Limits(loops=5, tokens=10_000, usd=1.0, seconds=60.0)
READER = Tool("shelf/look_up", "Explain a word.", {"type": "object"}, writes=False)
WRITER = Tool("shelf/write_down", "Write a line.", {"type": "object"}, writes=True)
WORDS = Perception("p1", DM, Modality.WORDS, "why?", "UADA", Audience(AudienceKind.DM, "D1"), Place.DM, "1.0", 1, "Ada")


@dataclass
class Shelf:
    """A toolbox that counts; `failing` is what every use ends in."""

    offered: tuple[Tool, ...] = (READER, WRITER)
    failing: ToolFailed | None = None
    used: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)

    async def tools(self) -> tuple[Tool, ...]:
        """What it offers."""
        return self.offered

    async def use(self, name: str, arguments: Mapping[str, object]) -> Passage:
        """Count a use. Raises what it was told to."""
        self.used.append((name, arguments))
        if self.failing is not None:
            raise self.failing
        return Passage(name, "the shelf says so")


@dataclass
class Books:
    """A library that has the same passages for every query, or only for one that holds `under`."""

    passages: tuple[Passage, ...] = ()
    under: str = ""

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """The first of them."""
        return self.passages[:limit] if self.under in query else ()


class Shown(Speech):
    """A speech that keeps the tasks it is shown."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    async def say(self, text: str) -> None:
        """Nobody listens."""

    async def show(self, task: Task) -> None:
        """Keep it."""
        self.tasks.append(task)

    async def settle(self) -> None:
        """Nothing is under way."""


@dataclass
class Scene:
    """One action's surroundings: `llm` answers what it is told to, `context` is what the action works with."""

    llm: ScriptedLLM
    context: ProcessContext

    def with_means(self, **capabilities: object) -> "Scene":
        """The same with other means."""
        changed = replace(self.context.capabilities, **capabilities)  # type: ignore[arg-type]  # fields of Means, by name
        return Scene(self.llm, replace(self.context, capabilities=changed))

    async def act(self, action: Action, words: str = "") -> Recurse | Stay | Transition:
        """Carry an action out."""
        memory = self.context.memory
        return await action.handler(ActionUse(memory, WorkingMemory("Tess"), words, 1))


def scene(*answers: str, perception: Perception = WORDS, clock: FakeClock | None = None, **soul: object) -> Scene:
    """A scene with a soul called Tess, of these further fields, and a model that gives these answers."""
    llm = ScriptedLLM(*answers)
    bench = Bench(llm, clock=clock or FakeClock(auto=True))
    made = Soul(name="tess", display_name="Tess", personality="You are Tess.", **soul)  # type: ignore[arg-type]  # fields of Soul
    context = ProcessContext(
        memory=WorkingMemory("Tess").with_memory(Memory(Role.USER, perception.content, name=perception.name)),
        perception=perception,
        mind=bench.mind,
        motor=Motor(Shown()),
        soul=made,
        interrupt=Interrupt(),
        state=ProcessState("problem_solving"),
        capabilities=Capabilities(limits=LIMITS),
    )
    return Scene(llm, context)


async def allowed(
    database: Database, approvals: Approvals, clock: FakeClock, new: NewApproval, state: str = "approved"
) -> Approval:
    """A question that has come to a state, in memory.db."""
    audience = Audience(AudienceKind.DM, "D1")
    await database.write(
        lambda it: store_approvals(it, conversation=DM, turn=1, audience=audience, approvals=(new,), now=clock.now_ms())
    )
    await database.write(
        lambda it: it.run(
            "UPDATE approvals SET state = :state, decided_ms = :now WHERE id = :id",
            state=state,
            now=clock.now_ms() if state != "waiting" else None,
            id=new.id,
        )
    )
    found = await approvals.status(new.id)
    assert found is not None
    return found


def observation(result: Recurse | Stay | Transition) -> str:
    """What the next choice is told."""
    assert isinstance(result, Recurse)
    return result.observation


def tasks(one: Scene) -> Sequence[Task]:
    """What people were shown."""
    speech = one.context.motor._speech
    assert isinstance(speech, Shown)
    return speech.tasks
