"""The choice of the model for each role, and of the adapter for each vendor."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib import import_module

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import Clock, Completion, Emit, ModelRole, Prompt
from daemon.core.value import Value
from daemon.llm import prices
from daemon.llm.answers import ECHO, REHEARSAL, ModelId, Vendor, parse_model_id
from daemon.llm.chat_completions import ChatCompletions
from daemon.llm.endpoint import Provider, endpoint_for, load_http, provider_named
from daemon.llm.placeholder import Placeholder, rehearsal_answer
from daemon.llm.providers import AnthropicMessages
from daemon.llm.resilience import CallLimits, ResilientLLM

_SETTINGS = {
    AudienceKind.DM: "SOUL_STANDBY_DM",
    AudienceKind.CHANNEL: "SOUL_STANDBY_CHANNEL",
    AudienceKind.WORKSPACE: "SOUL_STANDBY_WORKSPACE",
}


class Standby(Value):
    """The fallback model of each role, if any, and the vendors that each kind of audience allows."""

    models: Mapping[ModelRole, ModelId]
    allowed: Mapping[AudienceKind, frozenset[str]]

    def model_for(self, role: ModelRole, first: ModelId, audience: Audience | None) -> ModelId | None:
        """Return the fallback model that may replace the first for an audience, or None.

        An unknown audience allows none. The first model's vendor has the words anyway, except OpenRouter, which passes
        them on to another company.
        """
        second = self.models.get(role)
        if second is None or second == first or audience is None:
            return None
        own = second.vendor is first.vendor and second.vendor is not Vendor.OPENROUTER
        return second if own or second.vendor in self.allowed.get(audience.kind, frozenset()) else None

    def closed_to(self, role: ModelRole, first: ModelId) -> tuple[str, ...]:
        """Return the settings that never allow the vendor of the role's fallback model."""
        if role not in self.models:
            return ()
        kinds = [kind for kind in _SETTINGS if self.model_for(role, first, Audience(kind, "")) is None]
        return tuple(_SETTINGS[kind] for kind in kinds)


def choose_standby(settings: Settings) -> Standby:
    """Return the configured fallback models. The persona's also thinks, unless there is one for thinking.

    Raises ConfigError for a missing key, for a placeholder, and for an unknown vendor.
    """
    persona = settings.persona_standby.strip()
    ids = {ModelRole.PERSONA: persona, ModelRole.THINKING: settings.thinking_standby.strip() or persona}
    models = {role: parse_model_id(text) for role, text in ids.items() if text}
    for model in models.values():
        if model.vendor is Vendor.PLACEHOLDER:
            raise ConfigError(
                f"{model.full} can't stand by for a model",
                hint="name a real model in SOUL_PERSONA_STANDBY and SOUL_THINKING_STANDBY, or none",
            )
        endpoint_for(settings, model)
    return Standby(models, _allowed(settings))


def _allowed(settings: Settings) -> dict[AudienceKind, frozenset[str]]:
    given = {
        AudienceKind.DM: settings.standby_dm,
        AudienceKind.CHANNEL: settings.standby_channel,
        AudienceKind.WORKSPACE: settings.standby_workspace,
    }
    vendors = [vendor.value for vendor in Vendor if vendor is not Vendor.PLACEHOLDER]
    for kind, names in given.items():
        if unknown := sorted(set(names) - set(vendors)):
            raise ConfigError(
                f"{_SETTINGS[kind]} names {unknown[0]!r}, which is no vendor of models",
                hint=f"use the prefixes of model ids: {', '.join(vendors)}",
            )
    return {kind: frozenset(names) for kind, names in given.items()}


def build_llm(settings: Settings, clock: Clock, emit: Emit, *, pace: float = 0.0) -> ResilientLLM:
    """Return the configured models as one LLM with limits and retries.

    `pace` slows the placeholder, in seconds per word. Call its `aclose` at the end. Raises ConfigError as
    `choose_models` and `choose_standby` do.
    """
    limits = CallLimits(total=settings.model_timeout, silence=settings.model_silence)
    return ResilientLLM(Router(settings, clock, pace=pace), clock, limits, emit)


def choose_models(settings: Settings) -> tuple[str, str]:
    """Return the ids for (persona, thinking): from the settings, else by the configured keys, else the placeholder.

    Without a thinking model in the settings, the persona's model thinks too, unless both are chosen by keys. Raises
    ConfigError with the name of the variable if a model's key is missing.
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
    """Return the full model ids of single steps, by the step's name.

    Raises ConfigError for an invalid pair, for an unknown vendor and for a missing key.
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
    """Import the modules that messages need and no module imports at its top. Takes seconds; call it in a thread.

    An import fails while the machine lacks file descriptors or memory, and must not fail during a message. Modules that
    a message needs are therefore imported at the top of a module, or here. Raises OSError, ImportError.
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
    """An `LLM` that passes each prompt to its model or that of its role. It builds each adapter at its first call."""

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
        return self._models[role].full

    def step_models(self) -> Mapping[str, str]:
        return self._steps

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        """Return the models as `LLM.candidates` requires. Their availability is not known here."""
        first = self._models[role]
        second = self._standby.model_for(role, first, audience)
        return (first.full,) if second is None else (first.full, second.full)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """Stream the answer as `LLM.stream` requires. Pieces may be empty, as in `Provider.stream`."""
        model = parse_model_id(prompt.model) if prompt.model else self._models[prompt.role]
        async with aclosing(self._provider_for(model).stream(model, prompt)) as pieces:
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
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
