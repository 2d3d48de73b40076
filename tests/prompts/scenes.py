"""Scenes that together run every cognitive step in every mental process and subprocess; each gives its prompts."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from daemon.core.perception import Modality, Perception, Readers
from daemon.core.ports import Prompt
from daemon.memory.database import open_database
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.records import ProcessState, TurnKind
from daemon.mind.cognition import Mind
from daemon.mind.interrupts import Interrupt
from daemon.mind.matter import Matter
from daemon.mind.mental_process import ProcessContext
from daemon.mind.motor import Motor
from daemon.mind.recall import RecalledFacts, recall
from daemon.mind.recall.visit import Visit
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul_engine import build_prompt, integrate
from tests.fakes import FakeClock
from tests.given import wanting
from tests.models import ScriptedLLM
from tests.prompts.answers import Answers
from tests.prompts.facts import FOUND, HERE, IN_PUBLIC, IN_ROOM, NONCE, NOW_MS, TOOLS, WORDS, facts, soul
from tests.prompts.facts import transcript as talk
from tests.prompts.facts import turns as said
from tests.unit.process_parts import capabilities, current_cycle
from tests.unit.solving_parts import LIMITS, Books, Shelf
from tests.unit.subprocess_parts import DM as BENCH_DM
from tests.unit.subprocess_parts import IN_DM, SubprocessBench

SILENCE = replace(WORDS, modality=Modality.TIME, content="")
DUE = replace(WORDS, modality=Modality.TIME, content="look at the valve")
LONG_AWAY = Visit(number=3, exchanges=0, silence=3 * 86_400, met=True, fresh=True)


@dataclass(frozen=True, slots=True)
class ProcessScene:
    """One perception in one mental process."""

    process: str
    perception: Perception = WORDS
    pipeline: str = "unified"
    transcript: Transcript = field(default_factory=talk)
    known: RecalledFacts = field(default_factory=facts)
    visit: Visit = field(default_factory=lambda: Visit(number=3, exchanges=2, met=True))
    answers: Callable[[], Answers] = Answers
    solves: bool = False

    async def prompts(self, _: Path) -> list[Prompt]:
        """What the model is asked while the process runs."""
        llm, who = ScriptedLLM(default=self.answers()), soul(self.pipeline)
        mind = Mind(
            llm=llm,
            render=lambda memory, step: build_prompt(memory, step, budgets=who.budgets, nonce=NONCE),
            clock=FakeClock(start_ms=NOW_MS),
            record=lambda _: None,
            cost=lambda _: None,
            trace_id="t",
        )
        memory = recall(who, self.perception, self.transcript, known=self.known, now_ms=NOW_MS)
        able, cycle = capabilities(), current_cycle(LIMITS if self.solves else None)
        if self.solves:
            able = replace(able, library=Books(FOUND, under="valve"), toolbox=Shelf(TOOLS))
        context = ProcessContext(
            memory=integrate(memory, self.perception),
            perception=self.perception,
            mind=mind,
            motor=Motor(None),
            soul=who,
            interrupt=Interrupt(),
            visit=self.visit,
            own_state=self.known.own_state,
            capabilities=able,
            cycle=replace(cycle, readers=self.known.readers),
            state=ProcessState(self.process),
        )
        await PROCESSES[self.process](context)
        return llm.prompts


@dataclass(frozen=True, slots=True)
class AfterReply:
    """A subprocess that runs after two exchanges whose checks said these things."""

    subprocess: str
    checks: Mapping[str, object]

    async def prompts(self, folder: Path) -> list[Prompt]:
        """What the model is asked after the reply."""
        clock = FakeClock(start_ms=NOW_MS, auto=True)
        async with open_database(folder / "memory.db", clock) as database:
            who = soul()
            small = who.budgets.model_copy(update={"transcript": 60 if self.subprocess.startswith("summ") else 2200})
            bench = SubprocessBench(database, clock, soul=who.model_copy(update={"budgets": small}))
            bench.script()
            bench.llm.default = Answers()
            await bench.open(BENCH_DM, IN_DM)
            await bench.say("U1", "The figures of last week look odd.", "The pump ran all weekend.", self.checks)
            await bench.say("U1", "I see. I lead the pump team.", "Then I'll draw you a plan by Monday.", self.checks)
            matter = json.dumps(Matter("the second pump", exchanges=3).to_json())
            await bench._run("UPDATE conversations SET process = 'engaged', process_memory = :matter", matter=matter)
            await SUBPROCESSES[self.subprocess](bench.context())
            return bench.llm.prompts


_SOLVED = Answers
_NEW = Visit(number=1, met=False, fresh=True)
_OPEN = Readers(IN_ROOM, members_only=True)
_REMIND = replace(WORDS, content="Please remind me tomorrow at nine to look at the valve.")
_POEM = replace(WORDS, content="Write me a poem about that water.")
_UNKNOWN = RecalledFacts(HERE)


def _solving(*choices: tuple[str, str]) -> Callable[[], Answers]:
    return lambda: Answers([[one] for one in choices])


SCENES: Mapping[str, ProcessScene | AfterReply] = {
    "greeting": ProcessScene("greeting", transcript=Transcript("", 0, ()), known=_UNKNOWN, visit=_NEW),
    "curious": ProcessScene("curious", known=_UNKNOWN),
    "engaged": ProcessScene("engaged"),
    "engaged in a channel": ProcessScene("engaged", IN_PUBLIC, known=facts(_OPEN)),
    "engaged, late": ProcessScene("engaged", replace(WORDS, late=True, received_ms=NOW_MS + 40 * 60_000)),
    "engaged, after a reply that was cut": ProcessScene("engaged", transcript=talk(said(TurnKind.CUT))),
    "engaged, after an apology": ProcessScene("engaged", transcript=talk(said(TurnKind.APOLOGY))),
    "engaged, repaired": ProcessScene("engaged", answers=lambda: Answers(first=["<external_dialogue>"])),
    "engaged, a reminder": ProcessScene("engaged", _REMIND, answers=lambda: Answers(first=[wanting("reminder")])),
    "engaged, what fell due": ProcessScene("engaged", DUE),
    "engaged, split": ProcessScene("engaged", pipeline="split"),
    "ready": ProcessScene("ready"),
    "returning": ProcessScene("returning", visit=LONG_AWAY),
    "dormant": ProcessScene("dormant", SILENCE),
    "exiting": ProcessScene("exiting", SILENCE),
    "academic": ProcessScene("academic"),
    "academic, split": ProcessScene("academic", pipeline="split", answers=lambda: Answers(first=['{"holds": false}'])),
    "poetic": ProcessScene("poetic", _POEM),
    "poetic, split": ProcessScene(
        "poetic", _POEM, pipeline="split", answers=lambda: Answers(first=['{"holds": false}'])
    ),
    "poetic, repaired": ProcessScene("poetic", _POEM, answers=lambda: Answers(first=['{"choice": "a hymn"}'])),
    "solving, thought and answered": ProcessScene(
        "problem_solving", answers=_solving(("Think", "the cause"), ("Research", "the valve")), solves=True
    ),
    "solving, nothing found": ProcessScene("problem_solving", answers=_solving(("Research", "the pump")), solves=True),
    "solving, asked back": ProcessScene("problem_solving", answers=_solving(("Ask", "which pump")), solves=True),
    "solving, handed on": ProcessScene("problem_solving", answers=_solving(("Escalate", "Ben")), solves=True),
    "after a reply, learned": AfterReply("models_the_visitor", {"user_model_check": True}),
    "after a reply, asked whether learned": AfterReply("models_the_visitor", {}),
    "after a reply, asked whether moved": AfterReply("keeps_its_own_state", {}),
    "after a reply, moved": AfterReply("keeps_its_own_state", {"soul_state_check": True}),
    "after a reply, outgrown": AfterReply("summarizes_the_conversation", {}),
    "after a reply, deeper": AfterReply("thinks_the_matter_over", {}),
}

Prompts = Callable[[Path], Awaitable[list[Prompt]]]
