"""Every cognitive step made from the same, possibly hostile, words, for tests of properties of all steps."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import daemon.mind.steps
from daemon.core.errors import MalformedReply
from daemon.core.ports.library import Tool
from daemon.core.ports.services import Prompt
from daemon.core.step import Step
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.reply import AnswerFilter
from daemon.mind.steps.brainstorm import brainstorm
from daemon.mind.steps.choose_actions import choose_actions
from daemon.mind.steps.close_episode import close_episode
from daemon.mind.steps.decision import decision
from daemon.mind.steps.digest import digest
from daemon.mind.steps.distil import distil
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.feel import feel
from daemon.mind.steps.instruction import instruction
from daemon.mind.steps.intend import intend
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.mind.steps.liaise import liaise
from daemon.mind.steps.look import look
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.note_down import note_down
from daemon.mind.steps.poetic_composition import poetic_composition
from daemon.mind.steps.respond import respond
from daemon.mind.steps.same_lines import same_lines
from daemon.mind.steps.summarize import summarize
from daemon.mind.steps.think import think
from daemon.mind.steps.use_tool import use_tool
from daemon.mind.steps.visitor_notes import visitor_notes
from daemon.mind.steps.visitor_whispers import visitor_whispers
from daemon.soul import Budgets
from daemon.soul_engine import build_prompt
from tests.given import soul

T = TypeVar("T")

FAMILY = frozenset(path.stem for path in Path(daemon.mind.steps.__path__[0]).glob("[a-z]*.py"))
"""The names of all the modules of the family."""

MEMORY = WorkingMemory("Kothar").with_memory(Memory(Role.USER, "hello", name="Ada"))


class Made(Value):
    """A step without its type: its prompt, and the outcome of an answer."""

    step: Step[Any]  # of any value
    outcome: Callable[[str], tuple[object, tuple[Memory, ...]]]
    refuses: Callable[[str], bool]
    seen: Callable[[list[str]], str]

    def prompt(self, memory: WorkingMemory = MEMORY) -> Prompt:
        return build_prompt(memory, self.step, budgets=Budgets(), nonce="n0nce")


def every_step(words: str = "Something") -> Mapping[str, Made]:
    """All steps by name, each made with these words wherever it takes text."""
    return {
        made.step.name: made
        for made in (
            _made(respond(soul())),
            _made(think(soul())),
            _made(external_dialog(soul(), words, verb=words)),
            _made(poetic_composition(soul(), words, register=words, image_domain=words)),
            _made(internal_monologue("Kothar", words)),
            _made(instruction(words, name="Kothar")),
            _made(mental_query(words)),
            _made(intend(words, 3)),
            _made(note_down()),
            _made(liaise()),
            _made(decision(words, [f"{words} yes", f"{words} no"])),
            _made(brainstorm(words, count=3)),
            _made(summarize("Kothar")),
            _made(digest(soul())),
            _made(visitor_notes([words, "Likes tea"], person=words, focus=words)),
            _made(visitor_whispers(words, words)),
            _made(choose_actions([f"Do {words}", "Respond"])),
            _made(feel(soul(), words)),
            _made(look(2)),
            _made(close_episode(words)),
            _made(distil(words, 8)),
            _made(same_lines(3)),
            _made(use_tool(words, [Tool("server/look", words, {}, writes=False, fingerprint="f1")])),
        )
    }


def _made(step: Step[T]) -> Made:
    def read_of(answer: str) -> str:
        return filtered(step, [answer], ModelHabit(""))[1]

    def outcome(answer: str) -> tuple[object, tuple[Memory, ...]]:
        try:
            value = step.read(read_of(answer))
        except MalformedReply as fault:
            if not fault.hint:
                raise AssertionError("a malformed answer needs a hint") from fault
            return (fault.message, fault.hint, fault.reply), ()
        return value, step.remember(value)

    def refuses(answer: str) -> bool:
        try:
            step.read(read_of(answer))
        except MalformedReply:
            return True
        return False

    def seen(pieces: list[str]) -> str:
        return filtered(step, pieces, ModelHabit("", hold_back=0))[0]

    return Made(step, outcome, refuses, seen)


def filtered(step: Step[Any], pieces: Sequence[str], habit: ModelHabit) -> tuple[str, str]:  # of any value
    """What the Mind's filter shows of an answer, piece by piece, and what of it the step reads."""
    gate = AnswerFilter(step, habit)
    shown = "".join([*map(gate.feed, pieces), gate.finish()])
    return shown, gate.answer
