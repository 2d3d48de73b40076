"""Parts for testing actions one by one: a context with a scripted model, a library, a toolbox and a real store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from daemon.core.errors import ToolFailed
from daemon.core.expectations import Limits
from daemon.core.perception import Audience, AudienceKind, Modality, Perception, Place
from daemon.core.ports.library import Passage, Tool
from daemon.core.ports.services import Task
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.memory.database import Database
from daemon.memory.queues.approvals import Approval, Approvals, NewApproval, store_approval
from daemon.memory.records import ProcessState
from daemon.mind.motor import Motor
from daemon.mind.process import Interrupt, ProcessContext, Stay, Transition
from daemon.mind.recall.visit import Visit
from daemon.soul import Soul
from tests.fakes import FakeClock, FakeSpeech
from tests.given import DM
from tests.models import ScriptedLLM
from tests.unit.ism_parts import Bench
from tests.unit.process_parts import capabilities, current_cycle

LIMITS = Limits(loops=5, tokens=10_000, usd=1.0, seconds=60.0)
READER = Tool("shelf/look_up", "Explain a word.", {"type": "object"}, writes=False, fingerprint="f1")
WRITER = Tool("shelf/write_down", "Write a line.", {"type": "object"}, writes=True, fingerprint="f1")
WORDS = Perception("p1", DM, Modality.WORDS, "why?", "UADA", Audience(AudienceKind.DM, "D1"), Place.DM, "1.0", 1, "Ada")

FOUND = (Passage("a.md:1", "clay"), Passage("b.md:2", "fire"))


@dataclass
class Shelf:
    """A toolbox that counts its uses; each raises `failing`, if given."""

    offered: tuple[Tool, ...] = (READER, WRITER)
    failing: ToolFailed | None = None
    used: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)

    @property
    def known(self) -> tuple[Tool, ...]:
        return self.offered

    async def tools(self) -> tuple[Tool, ...]:
        return self.offered

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Count a use. Raises `failing`."""
        assert fingerprint in {one.fingerprint for one in self.offered if one.name == name}
        self.used.append((name, arguments))
        if self.failing is not None:
            raise self.failing
        return Passage(name, "the shelf says so")


@dataclass
class Books:
    """A library that finds the same passages for every query, or only for those that contain `under`."""

    passages: tuple[Passage, ...] = ()
    under: str = ""
    documents: Mapping[str, tuple[Passage, ...]] = field(default_factory=dict)

    @property
    def folders(self) -> Mapping[str, int]:
        return {"docs": 2}

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        return tuple(one for one in self.documents.get(document, ()) if one.line >= line)[:most]

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        return self.passages[:limit] if self.under in query else ()


@dataclass
class ActionBench:
    """The surroundings of one action: `llm` gives the scripted answers, `context` is the action's context."""

    llm: ScriptedLLM
    context: ProcessContext

    def having(self, **changed: object) -> "ActionBench":
        """The same bench with other fields of Capabilities or CurrentCycle."""
        context = self.context
        for name, value in changed.items():
            part = "cycle" if hasattr(context.cycle, name) else "capabilities"
            context = replace(context, **{part: replace(getattr(context, part), **{name: value})})
        return ActionBench(self.llm, context)

    async def act(self, action: Action, words: str = "") -> Recurse | Stay | Transition:
        memory = self.context.memory
        return await action.handler(ActionUse(memory, WorkingMemory("Tess"), words, 1))


def scene(*answers: str, perception: Perception = WORDS, clock: FakeClock | None = None, **soul: object) -> ActionBench:
    """A bench with a soul called Tess, with these further fields, and a model that gives these answers."""
    llm = ScriptedLLM(*answers)
    bench = Bench(llm, clock=clock or FakeClock(auto=True))
    made = Soul(name="tess", display_name="Tess", personality="You are Tess.", **soul)  # type: ignore[arg-type]  # fields of Soul
    context = ProcessContext(
        memory=WorkingMemory("Tess").with_memory(Memory(Role.USER, perception.content, name=perception.name)),
        perception=perception,
        mind=bench.mind,
        motor=Motor(FakeSpeech()),
        soul=made,
        interrupt=Interrupt(),
        visit=Visit(),
        capabilities=capabilities(),
        cycle=current_cycle(LIMITS),
        state=ProcessState("problem_solving"),
    )
    return ActionBench(llm, context)


async def allowed(
    database: Database, approvals: Approvals, clock: FakeClock, new: NewApproval, state: str = "approved"
) -> Approval:
    """A question for permission in this state, in memory.db."""
    audience = Audience(AudienceKind.DM, "D1")
    await database.write(
        lambda it: store_approval(it, new, conversation=DM, turn=1, audience=audience, now=clock.now_ms())
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
    assert isinstance(result, Recurse)
    return result.observation


def tasks(one: ActionBench) -> Sequence[Task]:
    speech = one.context.motor._speech
    assert isinstance(speech, FakeSpeech)
    return speech.tasks
