"""Follows what a message calls for: the model says so at the beginning of its answer, or of its thought."""

from collections.abc import Mapping
from dataclasses import replace

from daemon.core.errors import ModelError
from daemon.core.perception import Modality
from daemon.mind.creativity import with_soul_creativity
from daemon.mind.mental_process import SPOKEN, ProcessContext, Transition, Wish
from daemon.mind.recall.visit import Visit
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.respond import NOTHING
from daemon.mind.transitions import situation_of, why_refused
from daemon.soul import Mode, Soul

HANDED_OVER = "handed_over"
"""Param of a transition: the id of the perception that the target must answer itself, without following a wish."""


class Lead:
    """What one answer begins with, weighed against the table of entries before a word of it is shown."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._wishes = {wish.word: wish for wish in offered(context)}
        self._refused: dict[str, str] = {}

    @property
    def meanings(self) -> Mapping[str, str]:
        """The words that are offered with their meanings: the same in each turn of one soul."""
        return {word: meaning_of(wish, self._context.soul) for word, wish in self._wishes.items()}

    def leads(self, word: str) -> bool:
        """Whether this word is followed now; why an offered one is not is kept for `settle`."""
        wish = self._wishes.get(word)
        if wish is None or wish.to == self._context.state.process or wish in self._context.followed:
            return False
        if refused := why_not_followed(self._context, wish):
            self._refused[word] = refused
        return not refused

    def settle(self, calls_for: str | None, *, leads: bool, strays: int = 0) -> Wish | None:
        """The wish that an answer leads to, by the word that it begins with.

        A refused one goes into the path; one without a meaning, or `strays` further down, into the log.
        """
        for word, refused in self._refused.items():
            self._context.note("refuse", _target(self._context, self._wishes[word]), "model", refused)
        if fault := self._fault(calls_for, strays):
            self._context.cycle.emit("wish.ignored", trace=self._context.mind.trace_id, reason=fault)
        if not self._context.followed and (calls_for in self._wishes or calls_for == NOTHING):
            self._context.motor.annotate(calls_for=calls_for)
        return self._wishes[calls_for or ""] if leads else None

    def _fault(self, calls_for: str | None, strays: int) -> str:
        """What is wrong with the wish; never in the model's words, which may be private."""
        if calls_for == "":
            return "the element is empty"
        if calls_for not in (None, NOTHING, *self._wishes):
            return "its word is none of those that were offered"
        if strays:
            return "another one stands further down, where it counts for nothing"
        return ""


def offered(context: ProcessContext) -> tuple[Wish, ...]:
    """The wishes that may be followed with this soul, these settings and the sessions that are there, at any moment."""
    lasting = replace(situation_of(context), visit=Visit())
    places = [place for place in sorted(SPOKEN) if place == "engaged" or not why_refused("engaged", place, lasting)]

    def may_be_followed(wish: Wish) -> bool:
        return any(
            place in wish.origins and (not wish.to or not why_refused(place, wish.to, lasting)) for place in places
        )

    return tuple(wish for wish in context.cycle.wishes if wish.has_ground(context) and may_be_followed(wish))


def why_not_followed(context: ProcessContext, wish: Wish) -> str:
    """Why a wish may not be followed now; empty if it may."""
    origin = context.state.process
    modality = context.perception.modality
    if modality is not Modality.WORDS and not (modality is Modality.NOTE and wish.to == "problem_solving"):
        return "it was no message that could call for anything"
    if context.state.params.get(HANDED_OVER) == context.perception.id:
        return f"the message was handed over to {origin!r}"
    if wish.to and any(one.to for one in context.followed):
        return "the message was led to another process already"
    if origin not in wish.origins:
        return f"nothing leads there from {origin!r}"
    return why_refused(origin, wish.to, situation_of(context)) if wish.to else ""


def follow(context: ProcessContext, wish: Wish) -> Transition:
    """The transition to the process that a wish leads to."""
    context.followed.append(wish)
    context.motor.annotate(calls_for=wish.word)
    return Transition(context.memory, wish.to, wish.reason, execute_now=True, decided_by="model")


def meaning_of(wish: Wish, soul: Soul) -> str:
    """What the model is told of a wish, with the triggers and hints of the soul's mode."""
    mode = soul.mode(wish.mode) if wish.mode else None
    return "\n".join(filter(None, (f"{wish.meaning}.", *(_of_mode(mode) if mode else ()))))


def _of_mode(mode: Mode) -> tuple[str, str]:
    triggers = " ".join(mode.named_triggers)
    hints = ", ".join(mode.named_hints)
    return (f"  So also: {triggers}" if triggers else "", f"  A hint, no proof: {hints}." if hints else "")


def may_leave_a_mode(context: ProcessContext) -> bool:
    """Whether this process has a wish of its own by which it may be left now."""
    return any(wish.origins != SPOKEN and not why_not_followed(context, wish) for wish in offered(context))


async def confirmed(context: ProcessContext, statement: str) -> bool:
    """Whether the model judges a statement about the conversation true; False if it fails. Leaves no memory."""
    try:
        _, true = await context.mind.run(context.memory, with_soul_creativity(context.soul, mental_query(statement)))
    except ModelError:
        return False
    return true


def _target(context: ProcessContext, wish: Wish) -> str:
    return wish.to or context.state.process
