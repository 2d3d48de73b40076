"""What makes up the mind: settings, the soul's files, the models and their keys."""

from daemon.cli.checks.finding import Finding, fail, ok, warn
from daemon.config import Settings, load_settings, unknown_settings
from daemon.errors import ConfigError, SoulError
from daemon.llm.router import choose_models
from daemon.soul import find_souls_directory, load_soul

_ONE_LINE = "put ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, OPENROUTER_API_KEY, GROQ_API_KEY) into .env and start again"


def settings_in_force() -> tuple[Settings | None, list[Finding]]:
    """The settings, None when they are wrong, and a finding for every fault and every variable that means nothing."""
    try:
        settings = load_settings()
    except ConfigError as error:
        return None, [fail("settings", error.message, error.hint)]
    strange = [warn("settings", told, "correct or remove it") for told in unknown_settings()]
    level = settings.effective_log_level
    if level == "debug":
        strange.append(warn("settings", "the log shows private thoughts", "remove SOUL_DEBUG and SOUL_LOG_LEVEL=debug"))
    return settings, strange or [ok("settings", f"{len(settings.model_fields_set)} set, all others at their defaults")]


def soul(settings: Settings) -> Finding:
    """The soul's files are whole and valid; a fault names file and line."""
    try:
        directory = find_souls_directory(settings.souls_dir, settings.home, settings.name)
        found = load_soul(directory, settings.name)
    except SoulError as error:
        return fail("soul", error.message, error.hint)
    return ok("soul", f"{found.display_name}, from {directory / settings.name}")


def models(settings: Settings) -> Finding:
    """Which models speak and think, and whether their keys are there; nobody is called."""
    try:
        persona, thinking = choose_models(settings)
    except ConfigError as error:
        return fail("models", error.message, error.hint)
    if persona.startswith("placeholder/"):
        return warn("models", "no model is set up: the placeholder repeats what it hears", _ONE_LINE)
    return ok("models", f"{persona} speaks, {thinking} thinks; their keys are set")
