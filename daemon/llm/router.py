"""Chooses the model for each role, and the adapter for each vendor."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib import import_module

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.perception import Audience
from daemon.core.ports.clock import Clock
from daemon.core.ports.models import Completion, ModelRole, Prompt
from daemon.core.ports.telemetry import Emit
from daemon.llm import prices
from daemon.llm.anthropic_messages import AnthropicMessages
from daemon.llm.chat_completions import ChatCompletions
from daemon.llm.endpoint import endpoint_for
from daemon.llm.extended import provider_named
from daemon.llm.http_client import load_http
from daemon.llm.model_id import ECHO, REHEARSAL, ModelId, Vendor, parse_model_id
from daemon.llm.placeholder import Placeholder
from daemon.llm.provider import Provider
from daemon.llm.rehearsal import rehearsal_answer
from daemon.llm.resilience import CallLimits, ResilientLLM
from daemon.llm.standby import choose_standby


def build_llm(settings: Settings, clock: Clock, emit: Emit, *, pace: float = 0.0) -> ResilientLLM:
    """The configured models as one LLM with limits and retries; `pace` slows the placeholder, in seconds per word.

    Call its `aclose` at the end. Raises ConfigError as `choose_models` and `choose_standby` do.
    """
    limits = CallLimits(total=settings.model_timeout, silence=settings.model_silence)
    return ResilientLLM(Router(settings, clock, pace=pace), clock, limits, emit)


def choose_models(settings: Settings) -> tuple[str, str]:
    """The ids for (persona, thinking): from the settings, else by the keys that are set, else the placeholder.

    Without a thinking model in the settings, the persona's model thinks too, unless both are chosen by keys. Raises
    ConfigError with the name of the variable when a model's key is missing.
    """
    persona, thinking = settings.persona_model.strip(), settings.thinking_model.strip()
    if not persona:
        persona, cheaper = _by_keys(settings)
        thinking = thinking or cheaper
    thinking = thinking or persona
    for model in (persona, thinking):
        endpoint_for(settings, parse_model_id(model))
    return persona, thinking


def choose_step_models(settings: Settings) -> Mapping[str, str]:
    """The full ids of the models that single steps have, by the step's name.

    Raises ConfigError for what is no pair, for an unknown vendor and for a missing key.
    """
    found = dict[str, str]()
    for pair in settings.step_models:
        step, given, model = (part.strip() for part in pair.partition("="))
        if not (step and given and model):
            hint = "write each as step=model, e.g. SOUL_STEP_MODELS=feel=groq/…,decision=openai/…"
            raise ConfigError(f"SOUL_STEP_MODELS: {pair!r} names no step and model", hint=hint)
        chosen = parse_model_id(model)
        endpoint_for(settings, chosen)
        found[step] = chosen.full
    return found


def load_for_messages(settings: Settings) -> None:
    """Import what messages need and no module at its top; it takes up to seconds, so call it in a thread.

    An import fails while the machine lacks file descriptors or memory, and no message may meet that: so what a message
    needs is imported at the top of a module, or here. Raises OSError, ImportError.
    """
    chosen = (*choose_models(settings), *choose_step_models(settings).values())
    vendors = {parse_model_id(one).vendor for one in chosen} - {Vendor.PLACEHOLDER, Vendor.EXTENSION}
    for vendor in vendors:
        load_http()
        prices.load()
        (AnthropicMessages if vendor is Vendor.ANTHROPIC else ChatCompletions).load()
    if settings.embedder != "none":
        import_module("numpy")  # for memories by meaning


def _by_keys(settings: Settings) -> tuple[str, str]:
    if settings.anthropic_api_key:
        return "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5"
    if settings.openai_api_key:
        return "openai/gpt-5.6-terra", "openai/gpt-5.6-terra"
    if settings.openrouter_api_key:
        return "qwen/qwen3-30b-a3b-instruct-2507", "qwen/qwen3-30b-a3b-instruct-2507"
    if settings.groq_api_key:
        return "groq/moonshotai/kimi-k2-instruct-0905", "groq/moonshotai/kimi-k2-instruct-0905"
    return ECHO, ECHO


class Router:
    """An `LLM` that passes each prompt to its model or that of its role; builds each adapter at its first call."""

    def __init__(self, settings: Settings, clock: Clock, *, pace: float = 0.0) -> None:
        persona, thinking = choose_models(settings)
        self._models = {
            ModelRole.PERSONA: parse_model_id(persona),
            ModelRole.THINKING: parse_model_id(thinking),
        }
        self._standby = choose_standby(settings)
        self._steps = choose_step_models(settings)
        self._settings = settings
        self._clock = clock
        self._pace = pace
        self._providers: dict[str, Provider] = {}

    def model_for(self, role: ModelRole) -> str:
        """See `LLM.model_for`."""
        return self._models[role].full

    def step_models(self) -> Mapping[str, str]:
        """See `LLM.step_models`."""
        return self._steps

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        """See `LLM.candidates`; whether a model is up is not known here."""
        first = self._models[role]
        second = self._standby.model_for(role, first, audience)
        return (first.full,) if second is None else (first.full, second.full)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`; pieces may be empty, as in `Provider.stream`."""
        model = parse_model_id(prompt.model) if prompt.model else self._models[prompt.role]
        async with aclosing(self._provider_for(model).stream(model, prompt)) as pieces:
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        """Close every connection."""
        for provider in self._providers.values():
            await provider.aclose()

    def _provider_for(self, model: ModelId) -> Provider:
        own = model.vendor is Vendor.EXTENSION
        key = model.full.rpartition("/")[0] if own else str(model.vendor)
        if key not in self._providers:
            self._providers[key] = provider_named(model).open() if own else self._new_provider(model)
        return self._providers[key]

    def _new_provider(self, model: ModelId) -> Provider:
        match model.vendor:
            case Vendor.PLACEHOLDER:
                return Placeholder(self._clock, {REHEARSAL: rehearsal_answer}, pace=self._pace)
            case Vendor.ANTHROPIC:
                return AnthropicMessages(endpoint_for(self._settings, model))
            case _:
                return ChatCompletions(endpoint_for(self._settings, model))
