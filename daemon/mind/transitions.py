"""The entry conditions of mental processes, and the wishes that lead to them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from daemon.core.errors import ModelError
from daemon.core.perception import Modality
from daemon.core.value import Value
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.process import SPOKEN, Intent, ProcessContext, Transition
from daemon.mind.recall.visit import Visit
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.respond import NOTHING
from daemon.soul import Mode, Soul


class Situation(Value):
    """The input of entry conditions: visit, soul, and whether there is autonomous work or a session to ask."""

    visit: Visit
    soul: Soul
    autonomous: bool = False
    sessions: bool = False


class Entry(Value):
    """The allowed origins, and a check that returns why entry is refused (empty: allowed)."""

    origins: frozenset[str]
    why_refused: Callable[[Situation], str]


def _allowed(_: Situation) -> str:
    return ""


def _refused_greeting(situation: Situation) -> str:
    if situation.visit.met:
        return "they have met before"
    return "" if situation.visit.begins else "they have been talking already"


def _refused_returning(situation: Situation) -> str:
    if not situation.visit.met or situation.visit.number < 2:  # noqa: PLR2004 - the second visit is the first return
        return "this is their first visit"
    return "" if situation.visit.begins and situation.visit.fresh else "they have been talking already"


def _refused_curious(situation: Situation) -> str:
    return "the visit is too far on" if situation.visit.exchanges > _GETTING_TO_KNOW else ""


def _refused_without_mode(mode: str) -> Callable[[Situation], str]:
    return lambda situation: "" if situation.soul.mode(mode) else f"the soul has no mode {mode!r}"


def _refused_problem_solving(situation: Situation) -> str:
    return "" if situation.autonomous else "the autonomous loop is not enabled, or has nothing to look in here"


def _refused_liaising(situation: Situation) -> str:
    return "" if situation.sessions else "there is no session that could be asked from here"


_GETTING_TO_KNOW = 3  # replies after which a first visit is no longer a beginning

# The state of a conversation is decided in this order, for each perception:
# 1. `run_processes`: a scheduled perception visits the process it names, a decision the one that asked for it.
# 2. `opening_process`: a message that begins a visit enters `greeting` or `returning`.
# 3. `daemon.processes`: the process that runs first lets the model answer (`daemon.mind.pipelines.converse`).
# 4. `Lead`: if the answer's first word leads elsewhere, the transition happens before a word is said.
# 5. `why_refused`: every entry is checked against TABLE. The entry or its refusal is recorded.
TABLE: Mapping[str, Entry] = MappingProxyType(
    {
        "greeting": Entry(SPOKEN, _refused_greeting),
        "returning": Entry(SPOKEN, _refused_returning),
        "curious": Entry(frozenset({"greeting", "returning"}), _refused_curious),
        "engaged": Entry(SPOKEN, _allowed),
        "ready": Entry(SPOKEN, _allowed),
        "academic": Entry(SPOKEN, _refused_without_mode("academic")),
        "poetic": Entry(SPOKEN, _refused_without_mode("poetic")),
        "problem_solving": Entry(SPOKEN, _refused_problem_solving),
        "liaising": Entry(SPOKEN, _refused_liaising),
        "attending": Entry(SPOKEN | {"dormant", "exiting"}, _allowed),
        "dormant": Entry(SPOKEN, _allowed),
        "reflecting": Entry(SPOKEN | {"dormant", "exiting"}, _allowed),
        "exiting": Entry(SPOKEN | {"dormant"}, _allowed),
    }
)


def why_refused(origin: str, target: str, situation: Situation) -> str:
    """Return why a process may not be entered from another one now, or an empty string if it may."""
    entry = TABLE.get(target)
    if entry is None:
        return f"there is no process {target!r}"
    if not situation.soul.may_be(target):
        return f"{situation.soul.name} takes no part in {target!r}"
    if origin not in entry.origins:
        return f"nothing leads there from {origin!r}"
    return entry.why_refused(situation)


def opening_process(origin: str, situation: Situation) -> tuple[str, str] | None:
    """Return the process that a new visit begins with, and why, None if no visit begins."""
    for target, reason in (
        ("greeting", "they have never met here"),
        ("returning", f"visit {situation.visit.number} begins"),
    ):
        if situation.visit.begins and not why_refused(origin, target, situation):
            return target, reason
    return None


def situation_of(context: ProcessContext) -> Situation:
    return Situation(
        context.visit, context.soul, autonomous=context.autonomous, sessions=context.cycle.put_to_session is not None
    )


HANDED_OVER = "handed_over"
"""The param of a transition with the id of the perception that the target must answer without following a wish."""


class Lead:
    """The first word of one answer, checked against the table of entries before any text is shown."""

    def __init__(self, context: ProcessContext) -> None:
        self._context = context
        self._wishes = {wish.word: wish for wish in offered(context)}
        self._refused: dict[str, str] = {}

    @property
    def meanings(self) -> Mapping[str, str]:
        return {word: meaning_of(wish, self._context.soul) for word, wish in self._wishes.items()}

    def leads(self, word: str) -> bool:
        """Return whether this word is followed now. The reason for refusing an offered word is kept for `settle`."""
        wish = self._wishes.get(word)
        if wish is None or wish.to == self._context.state.process or wish in self._context.followed:
            return False
        if refused := why_not_followed(self._context, wish):
            self._refused[word] = refused
        return not refused

    def settle(self, calls_for: str | None, *, leads: bool, strays: int = 0) -> Intent | None:
        """Return the wish that an answer leads to, by the word that it begins with.

        A refused wish is written to the path. A word without a meaning, or `strays` further down, are logged.
        """
        for word, refused in self._refused.items():
            self._context.note("refuse", _target(self._context, self._wishes[word]), "model", refused)
        if fault := self._fault(calls_for, strays):
            self._context.cycle.emit("wish.ignored", trace=self._context.mind.trace_id, reason=fault)
        if not self._context.followed and (calls_for in self._wishes or calls_for == NOTHING):
            self._context.motor.annotate(calls_for=calls_for)
        return self._wishes[calls_for or ""] if leads else None

    def _fault(self, calls_for: str | None, strays: int) -> str:
        """Return the fault of the wish, never in the model's words, which may be private."""
        if calls_for == "":
            return "the element is empty"
        if calls_for not in (None, NOTHING, *self._wishes):
            return "its word is none of those that were offered"
        if strays:
            return "another one stands further down, where it counts for nothing"
        return ""


def offered(context: ProcessContext) -> tuple[Intent, ...]:
    """Return the wishes that may be followed at any moment with this soul, these settings and these sessions."""
    lasting = replace(situation_of(context), visit=Visit())
    places = [place for place in sorted(SPOKEN) if place == "engaged" or not why_refused("engaged", place, lasting)]

    def may_be_followed(wish: Intent) -> bool:
        return any(
            place in wish.origins and (not wish.to or not why_refused(place, wish.to, lasting)) for place in places
        )

    return tuple(wish for wish in context.cycle.wishes if wish.has_ground(context) and may_be_followed(wish))


def why_not_followed(context: ProcessContext, wish: Intent) -> str:
    """Return why a wish may not be followed now, or an empty string if it may."""
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


def follow(context: ProcessContext, wish: Intent) -> Transition:
    """Follow a wish: record it, and return the transition to its process."""
    context.followed.append(wish)
    context.motor.annotate(calls_for=wish.word)
    return Transition(context.memory, wish.to, wish.reason, execute_now=True, decided_by="model")


def meaning_of(wish: Intent, soul: Soul) -> str:
    """Return the meaning of a wish for the model, with the triggers and hints of the soul's mode."""
    mode = soul.mode(wish.mode) if wish.mode else None
    return "\n".join(filter(None, (f"{wish.meaning}.", *(_of_mode(mode) if mode else ()))))


def _of_mode(mode: Mode) -> tuple[str, str]:
    triggers = " ".join(mode.named_triggers)
    hints = ", ".join(mode.named_hints)
    return (f"  So also: {triggers}" if triggers else "", f"  A hint, no proof: {hints}." if hints else "")


def may_leave_a_mode(context: ProcessContext) -> bool:
    """Return whether a wish that only this process has may be followed now."""
    return any(wish.origins != SPOKEN and not why_not_followed(context, wish) for wish in offered(context))


async def confirmed(context: ProcessContext, statement: str) -> bool:
    """Return whether the model judges a statement true, False if it fails. It leaves no memory."""
    try:
        _, true = await context.mind.run(context.memory, with_soul_creativity(context.soul, mental_query(statement)))
    except ModelError:
        return False
    return true


def _target(context: ProcessContext, wish: Intent) -> str:
    return wish.to or context.state.process
