"""Checks the settings, the souls' files, the models and their keys."""

import asyncio
from functools import partial
from pathlib import Path

from daemon.app.known_names import known_names
from daemon.app.minds import with_models_of
from daemon.cli.checks.finding import Finding, fail, ok, warn
from daemon.core.config import Settings, load_settings, unknown_settings
from daemon.core.errors import ConfigError, SoulError
from daemon.core.extensions import ExtensionGroup, origin_of
from daemon.core.ports.models import ModelRole
from daemon.llm.model_id import ECHO, REHEARSAL, ModelId, Vendor, parse_model_id
from daemon.llm.nearby import find_model
from daemon.llm.prices import load, price_is_known
from daemon.llm.router import choose_models, choose_step_models
from daemon.llm.standby import choose_standby
from daemon.soul import Soul, find_souls_directory, least_talk_budget, load_souls

_LITTLE_TALK = 500  # tokens of recent turns; about five short exchanges
_PRICES = "upgrade the package genai-prices, or read the costs as a bound"
_ADD_KEY = "put ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, OPENROUTER_API_KEY, GROQ_API_KEY) into .env and start again"


def settings_in_force() -> tuple[Settings | None, list[Finding]]:
    """The settings, None when they are wrong, with a finding for every fault and every unknown variable."""
    try:
        settings = load_settings()
    except ConfigError as error:
        return None, [fail("settings", error.message, error.hint)]
    findings = [warn("settings", note, "correct or remove it") for note in unknown_settings()]
    level = settings.effective_log_level
    if level == "debug":
        findings.append(
            warn("settings", "the log shows private thoughts", "remove SOUL_DEBUG and SOUL_LOG_LEVEL=debug")
        )
    return settings, findings or [ok("settings", f"{len(settings.model_fields_set)} set, all others at their defaults")]


def _extended(soul: Soul) -> list[Finding]:
    """The actions that a soul has of other packages, which run with all rights of the daemon."""
    listed = ", ".join(f"{one} ({origin_of(ExtensionGroup.ACTION, one)})" for one in soul.extensions.actions)
    return [ok("soul", f"{soul.display_name} is extended by {listed}")] if listed else []


def souls(settings: Settings) -> list[Finding]:
    """Whether the souls' files are valid and each further soul has channels; a fault names file and line."""
    find = partial(find_souls_directory, settings.souls_dir, settings.home)
    try:
        main, *others = souls_of(settings)
    except SoulError as error:
        return [fail("soul", error.message, error.hint)]
    findings = [ok("soul", f"{main.display_name}, from {find(main.name) / main.name}")]
    findings += [one for soul in (main, *others) for one in _extended(soul)]
    findings += [_crowded(soul) for soul in (main, *others) if least_talk_budget(soul) < _LITTLE_TALK]
    for soul in others:
        if soul.channels:
            where = ", ".join(soul.channels)
            findings.append(ok("soul", f"{soul.display_name} answers in its channels: {where}"))
        else:
            finding = f"{soul.display_name} has no channels and never answers"
            findings.append(warn("soul", finding, f"list channels in {find(soul.name) / soul.name}/soul.toml"))
    return findings


def souls_of(settings: Settings) -> tuple[Soul, ...]:
    """The souls that the settings name, the main one first. Raises SoulError."""
    find = partial(find_souls_directory, settings.souls_dir, settings.home)
    return tuple(load_souls(find, (settings.name, *settings.souls), known_names()))


def _crowded(soul: Soul) -> Finding:
    """A warning that a soul's texts leave little room for what was said lately."""
    finding = f"{soul.display_name}'s texts leave about {least_talk_budget(soul)} tokens of a prompt for recent talk"
    return warn("soul", finding, "shorten soul.md or the modes' soul.md, or raise budgets.prompt in soul.toml")


def research(settings: Settings) -> list[Finding]:
    """Whether library folders are readable, how much of the loop is on, and whether it fits the deadline."""
    folders = [_library(folder) for folder in (*settings.library, *settings.library_public)]
    return [*folders, _loop(settings)]


def _loop(settings: Settings) -> Finding:
    """How much of the autonomous loop is on; a soul's own soul.toml can say otherwise."""
    enabled = settings.ism_enabled
    if enabled is False or (enabled is None and not settings.has_sources):
        why = "ISM_ENABLED=false" if enabled is False else "neither SOUL_LIBRARY nor SOUL_MCP_SERVERS is set"
        return ok("ism", f"it looks nothing up by itself: {why}")
    if settings.ism_max_seconds >= settings.deadline:
        finding = f"a problem may take {settings.ism_max_seconds:g} s, but each message only {settings.deadline:g} s"
        return warn("ism", finding, "lower SOUL_ISM_MAX_SECONDS or raise SOUL_DEADLINE")
    if enabled:
        return ok("ism", "it solves problems by all actions: looks up, reads, asks, reminds, hands over")
    return ok(
        "ism", "it looks up and reads by itself; with ISM_ENABLED=true it also reminds, hands over, asks for clicks"
    )


def _library(folder: Path) -> Finding:
    if folder.is_dir():
        return ok("library", str(folder))
    return warn("library", f"{folder} is not a folder", "correct SOUL_LIBRARY or SOUL_LIBRARY_PUBLIC")


def models(settings: Settings) -> list[Finding]:
    """Which models speak, think and stand by, whether their keys are set and prices known; calls no model."""
    try:
        persona, thinking = choose_models(settings)
        standby = choose_standby(settings)
    except ConfigError as error:
        return [fail("models", error.message, error.hint)]
    if persona == ECHO:
        return [_nobody(settings)]
    if persona == REHEARSAL:
        found = f"{REHEARSAL} thinks what the lines of a message say, whoever wrote them, and understands nothing"
        return [warn("models", found, "for people, put a model into SOUL_PERSONA_MODEL")]
    findings = _providers(persona, thinking, *(one.full for one in standby.models.values()))
    findings += [ok("models", f"{persona} speaks, {thinking} thinks; their keys are set")]
    firsts = {ModelRole.PERSONA: parse_model_id(persona), ModelRole.THINKING: parse_model_id(thinking)}
    for role, second in standby.models.items():
        findings.append(_standby(role, second, standby.closed_to(role, firsts[role])))
    load()
    for model in dict.fromkeys((*firsts.values(), *standby.models.values())):
        if not price_is_known(model):
            found = f"the price of {model.full} is not known: its calls count with the most that they can cost"
            findings.append(warn("models", found, _PRICES))
    return findings


def _providers(*models: str) -> list[Finding]:
    """The providers of other packages that models name."""
    named = dict.fromkeys(
        one.name.partition("/")[0] for one in map(parse_model_id, models) if one.vendor is Vendor.EXTENSION
    )
    return [ok("models", f"the provider {one} is {origin_of(ExtensionGroup.PROVIDER, one)}") for one in named]


def step_models(settings: Settings) -> list[Finding]:
    """The steps of each soul that have a model of their own; whether its key is set and its price known."""
    try:
        souls = souls_of(settings)
    except SoulError:
        return []  # the check of the souls says so
    return [finding for soul in souls for finding in _step_models(settings, soul)]


def _step_models(settings: Settings, soul: Soul) -> list[Finding]:
    try:
        chosen = choose_step_models(with_models_of(settings, soul))
    except ConfigError as error:
        return [fail("models", f"{soul.display_name}: {error.message}", error.hint)]
    if chosen:
        load()
    findings = _providers(*chosen.values())
    for step, model in chosen.items():
        found = f"{soul.display_name}: {model} answers the step {step}; the model of its part stands by"
        known = price_is_known(parse_model_id(model))
        bound = "its price is not known: its calls count with the most that they can cost"
        findings.append(ok("models", found) if known else warn("models", f"{found}; {bound}", _PRICES))
    return findings


def _nobody(settings: Settings) -> Finding:
    """No model is set up: what is found on this machine, and what it would do."""
    silent = "no model is set up: a placeholder only repeats each message"
    if not settings.local_models:
        return warn("models", f"{silent}; SOUL_LOCAL_MODELS=false keeps it from looking on this machine", _ADD_KEY)
    found = asyncio.run(find_model(settings))
    if found is None:
        return warn("models", f"{silent}; no model server was found on this machine either", _ADD_KEY)
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        return ok("models", f"no model is set up: {found.name} speaks in a local workspace, from {found.where}")
    offer = f"put SOUL_PERSONA_MODEL={found.full} into .env, or a key, and start again"
    return warn("models", f"{silent}; {found.where} offers {found.name}", offer)


def _standby(role: ModelRole, second: ModelId, closed: tuple[str, ...]) -> Finding:
    """What a second model is for, and where it may not stand in."""
    does = "speaks" if role is ModelRole.PERSONA else "thinks"
    finding = f"{second.full} {does} when the first model is down"
    if not closed:
        return ok("models", finding)
    return warn("models", f"{finding}, but not for every audience", f"add {second.vendor} to {', '.join(closed)}")
