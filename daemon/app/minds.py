"""Which models speak and think: a soul's own, the settings', or in the first minute one found on this machine."""

from collections.abc import Collection, Iterable, Sequence

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.llm.model_id import ECHO
from daemon.llm.nearby import find_model
from daemon.llm.router import choose_models
from daemon.mind.step_names import STEPS
from daemon.soul import Soul

_ADD_KEY = "Set ANTHROPIC_API_KEY=… in .env and start again."


def with_models_of(settings: Settings, soul: Soul) -> Settings:
    """The settings with the models named in `soul.toml` in place of the configured ones. Raises ConfigError."""
    own = {
        "persona_model": soul.models.persona,
        "thinking_model": soul.models.thinking,
        "persona_standby": soul.models.persona_standby,
        "thinking_standby": soul.models.thinking_standby,
    }
    steps = dict(part.partition("=")[::2] for part in settings.step_models) | dict(soul.models.steps)
    require_known(steps, STEPS)
    chosen = {name: model for name, model in own.items() if model}
    return settings.model_copy(update=chosen | {"step_models": tuple(f"{step}={steps[step]}" for step in steps)})


def require_known(steps: Iterable[str], known: Collection[str]) -> None:
    """Raises ConfigError for a name that is no cognitive step, with those that there are."""
    for step in steps:
        if step.strip() not in known:
            hint = f"correct SOUL_STEP_MODELS or [models.steps] in soul.toml; there are {', '.join(known)}"
            raise ConfigError(f"there is no cognitive step {step.strip()[:80]!r}", hint=hint)


async def first_mind(settings: Settings, souls: Sequence[Soul], *, may_speak: bool) -> tuple[Settings, str]:
    """The settings with which the souls are to speak, and a line that says who speaks; the first soul is the main one.

    Where one of them has neither a model nor a key, a model server on this machine is looked for. Its model speaks only
    where `may_speak`: the words of a whole workspace go to no program that nobody named. Raises ConfigError.
    """
    if not any(_is_mute(settings, soul) for soul in souls):
        return settings, _line(settings, souls[0])
    found = await find_model(settings) if settings.local_models else None
    if found is None:
        looked = " and no model server was found on this machine" if settings.local_models else ""
        silent = f"No model key is set{looked}: a placeholder answers, which only repeats each message. {_ADD_KEY}"
        return settings, silent if _is_mute(settings, souls[0]) else _line(settings, souls[0])
    if not may_speak:
        way = [f"SOUL_PERSONA_MODEL={found.full}"]
        if found.server.url not in {settings.ollama_url, settings.local_url}:
            way.append(f"SOUL_LOCAL_URL={found.server.url}")
        offered = f"{found.where} offers {found.name}: {' and '.join(way)} in .env let it speak."
        return settings, f"No model key is set: a placeholder answers, which only repeats each message. {offered}"
    speaking = found.speaking(settings)
    if not _is_mute(settings, souls[0]):
        return speaking, _line(speaking, souls[0])
    return speaking, f"No model key is set, so {found.name} speaks, which {found.where} offers on this machine."


def _is_mute(settings: Settings, soul: Soul) -> bool:
    return choose_models(with_models_of(settings, soul))[0] == ECHO


def _line(settings: Settings, soul: Soul) -> str:
    persona, thinking = choose_models(with_models_of(settings, soul))
    return f"{persona} speaks, {thinking} thinks."
