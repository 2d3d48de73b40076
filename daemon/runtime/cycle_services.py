"""The services that all cycles of one soul share, built once by the composition root."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.config import Settings
from daemon.core.expectations import Limits
from daemon.core.initiative import QuietHours
from daemon.core.lru import Lru
from daemon.core.perception import Audience
from daemon.core.ports.channel import Channel
from daemon.core.ports.services import LLM, Clock, Emit, LLMCall, ModelRole, Prompt
from daemon.core.sentences import Words
from daemon.core.spending import Charge, TickBudget
from daemon.core.text import ids_in, with_names
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.memory.knowledge.senses import Senses
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.retrieval.reasons import Reasons
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.store import Store
from daemon.mind.cognition import Mind
from daemon.mind.process import Capabilities
from daemon.mind.thought_input import Labels
from daemon.runtime.file_sensing import FileSensing, admit
from daemon.runtime.till import SpendingBudget
from daemon.runtime.triage import Triage
from daemon.shared.asking import SessionQuestions
from daemon.shared.events import SoulAtWork, SoulNotes
from daemon.shared.news import StoreNews
from daemon.soul import Soul
from daemon.soul_engine import build_prompt

_KEPT: Final = 2_000
_ASKED: Final = 10  # newest ids of one prompt; each may cost one question to the platform


class PromptNames:
    """The names of users and channels as they were last learned, for all prompts of this daemon."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._names = Lru[str, str](_KEPT)

    async def learn(self, texts: Iterable[str]) -> None:
        """Ask the platform for the names in texts. Names that take longer than a moment stay as they are known."""
        wanted = ids_in(texts)[-_ASKED:]
        if wanted:
            self._names.update(await self._channel.names_of(wanted))

    def in_reply(self, reply: str) -> str:
        """Replace the ids in a reply by known names, which are readable and notify no user."""
        return with_names(reply, self._names)

    def shown(self, prompt: Prompt) -> Prompt:
        return replace(
            prompt,
            system=tuple(replace(one, text=with_names(one.text, self._names)) for one in prompt.system),
            messages=tuple(replace(one, text=with_names(one.text, self._names)) for one in prompt.messages),
        )


MONOLOGUE = "internal_monologue"
"""The step whose whole answer is a private thought."""


@dataclass(slots=True)
class CycleServices:
    """One soul's settings, stores, model, channels, clock and log, and the parts that all souls of a daemon share.

    `limits` returns the limits of a soul's autonomous loop, None where it may not run. `surfacing` finds memories
    before a reply and for a search, and `reasons` leads from a reply back to them. `news` signals a change of what is
    shared. `at_work` shows what this soul does. `notes` are those between souls, and `wake` makes the dispatchers look
    for one. `asking` are people's sessions of Claude Code and the questions to them. `names` replaces ids in prompts.
    `forgetting` erases people. `till` pays for model calls, `tick_budget` for unasked ones, None where the soul makes
    none. In people's `quiet_hours` nothing is said unasked. `labels` describe a percept in three labels.
    """

    settings: Settings
    store: Store
    llm: LLM
    channels: Channels
    clock: Clock
    emit: Emit
    soul: Callable[[], Soul]
    till: SpendingBudget
    senses: Senses
    file_sensing: FileSensing
    capabilities: Capabilities
    limits: Callable[[Soul], Limits | None]
    tick_budget: Callable[[Soul], TickBudget | None]
    forgetting: ForgettingPeople
    surfacing: Surfacing
    reasons: Reasons
    news: StoreNews
    wake: Callable[[], None]
    at_work: SoulAtWork
    asking: SessionQuestions
    notes: SoulNotes
    labels: Labels
    triage: Triage = field(init=False)
    quiet_hours: QuietHours = field(init=False)
    names: PromptNames = field(init=False)

    def __post_init__(self) -> None:
        ask_gate = partial(admit, self.channels, self.store.events)
        self.triage = Triage(ask_gate, self.clock, self.emit, stale_after=self.settings.stale_after)
        self.quiet_hours = QuietHours.parse(self.settings.quiet_hours)
        self.names = PromptNames(self.channels.main)

    @property
    def visit_timeout_ms(self) -> int:
        """Return the milliseconds of silence that end a visit."""
        return int(self.settings.visit_silence * 1000)

    @property
    def learning_lull_ms(self) -> int:
        return int(min(self.settings.learn_after, self.settings.visit_silence) * 1000)

    @property
    def thinks_by_itself(self) -> bool:
        return self.tick_budget(self.soul()) is not None

    async def words_for(self, person: str) -> Words:
        """Return the soul's words in the language of a person, by platform id."""
        return self.soul().words_in(await self.channels.main.language_of(person) if person else "")

    async def mind(
        self,
        soul: Soul,
        record: Callable[[LLMCall], None],
        charge: Charge,
        audiences: Sequence[Audience],
        nonce: str,
    ) -> Mind:
        """Make a mind for one cycle or job. Prompts keep the soul's budgets, and each call is logged and recorded.

        `charge` names the payer. The prompts hold words of `audiences`, the conversation's own first. `nonce` is the
        code of its fences. Raises StoreError.
        """
        audience, *rooms = audiences
        models = {model for role in ModelRole for model in self.llm.candidates(role, audience)}
        models |= {self.llm.model_for(role) for role in ModelRole}  # a model that is down may be tried again
        steps = self.llm.step_models()
        models |= set(steps.values())
        habits = await self.store.model_habits.of(*sorted(models))

        def record_and_log(call: LLMCall) -> None:
            record(self.till.charged(call, charge))
            log_call(call, self.emit)
            log_standby(call, steps.get(call.step) or self.llm.model_for(call.role), self.emit)
            log_habit(habits.get(call.model, ModelHabit(call.model)), call, self.emit)

        return Mind(
            llm=self.llm,
            render=lambda memory, step: self.names.shown(build_prompt(memory, step, budgets=soul.budgets, nonce=nonce)),
            clock=self.clock,
            record=record_and_log,
            cost=self.till.terms.cost,
            trace_id=charge.trace_id,
            habits=habits,
            audience=audience,
            rooms=rooms,
            reserve=partial(self.till.reserve, charge),
        )


def log_call(call: LLMCall, emit: Emit) -> None:
    """Log a finished model call. The log level decides how much of its text is shown (seed 000)."""
    if call.step == MONOLOGUE:
        emit("monologue.thought", trace=call.trace_id, monologue=call.response)
    emit(
        "step.completed",
        step=call.step,
        role=call.role,
        outcome=call.outcome,
        provider=call.model.partition("/")[0],
        model=call.model,
        tokens_in=call.tokens_in,
        tokens_cached=call.tokens_cached,
        tokens_out=call.tokens_out,
        cost_usd=call.cost_usd,
        cost_bound=call.cost_bound,
        duration_ms=call.latency_ms,
        trace=call.trace_id,
        repair=call.repair,
        prompt=call.prompt,
        response=call.response,
    )


def log_standby(call: LLMCall, first: str, emit: Emit) -> None:
    if call.model != first and call.outcome == "ok":
        emit("model.stood_in", role=call.role, model=call.model, instead_of=first, step=call.step, trace=call.trace_id)


def log_habit(before: ModelHabit, call: LLMCall, emit: Emit) -> None:
    """Log when a model begins to speak in plain words for a while, or is found to think aloud."""
    after = before.after(call)
    if after.split_until_ms > before.split_until_ms:
        hours = after.split_for_ms / 3_600_000
        emit("model.speaks_split", model=call.model, malformed=after.malformed, hours=hours, trace=call.trace_id)
    if after.hold_back > before.hold_back:
        emit("model.thinks_aloud", model=call.model, step=call.step, trace=call.trace_id)
