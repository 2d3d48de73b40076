"""Checks of the souls, the models, money, thinking unasked and looking up."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Final

from daemon.app.assembly import caps_of, tick_budget_of
from daemon.app.minds import with_models_of
from daemon.cli.checks import Finding, Premises, check, fail, ok, warn
from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.extensions import ExtensionGroup, origin_of
from daemon.core.ports.services import ModelRole
from daemon.core.spending import PaidBy
from daemon.core.tempo import REFLECTING
from daemon.llm.answers import ECHO, REHEARSAL, ModelId, Vendor, find_model, parse_model_id
from daemon.llm.prices import load, price_is_known
from daemon.llm.router import choose_models, choose_standby, choose_step_models
from daemon.runtime.till import VARIABLES
from daemon.soul import Soul, find_souls_directory, least_talk_budget

_LITTLE_TALK: Final = 500  # tokens of recent turns; about five short exchanges
_SET_ASIDE: Final = 12_000  # tokens of one such thought, with its hidden thinking (docs/MIND.md)
_PRICES: Final = "upgrade the package genai-prices, or read the costs as a bound"
_BOUND: Final = "its calls count with the most that they can cost"
_ADD_KEY: Final = (
    "put ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, OPENROUTER_API_KEY, GROQ_API_KEY) into .env and start again"
)


@check("soul", quick=True)
def souls(at: Premises) -> Iterator[Finding]:
    """Check the souls' files and the channels of each further soul. A fault names file and line."""
    find = partial(find_souls_directory, at.settings.souls_dir, at.settings.home)
    for soul in at.souls[:1]:
        yield ok(f"{soul.display_name}, from {find(soul.name) / soul.name}")
    for soul in at.souls:
        listed = ", ".join(f"{one} ({origin_of(ExtensionGroup.ACTION, one)})" for one in soul.extensions.actions)
        if listed:
            yield ok(f"{soul.display_name} is extended by {listed}")
        if (left := least_talk_budget(soul)) < _LITTLE_TALK:
            found = f"{soul.display_name}'s texts leave about {left} tokens of a prompt for recent talk"
            yield warn(found, "shorten soul.md or the modes' soul.md, or raise budgets.prompt in soul.toml")
    for soul in at.souls[1:]:
        if soul.channels:
            yield ok(f"{soul.display_name} answers in its channels: {', '.join(soul.channels)}")
        else:
            fix = f"list channels in {find(soul.name) / soul.name}/soul.toml"
            yield warn(f"{soul.display_name} has no channels and never answers", fix)
    if at.soul_fault:
        yield fail(at.soul_fault.message, at.soul_fault.hint)


@check("models", quick=True)
def models(at: Premises) -> list[Finding]:
    """Report the models that speak, think and take over, their keys and prices. Calls no model."""
    try:
        persona, thinking = choose_models(at.settings)
        standby = choose_standby(at.settings)
    except ConfigError as error:
        return [fail(error.message, error.hint)]
    if persona == ECHO:
        return [_without_model(at.settings)]
    if persona == REHEARSAL:
        found = f"{REHEARSAL} thinks what the lines of a message say, whoever wrote them, and understands nothing"
        return [warn(found, "for people, put a model into SOUL_PERSONA_MODEL")]
    findings = _providers(persona, thinking, *(one.full for one in standby.models.values()))
    findings += [ok(f"{persona} speaks, {thinking} thinks; their keys are set")]
    firsts = {ModelRole.PERSONA: parse_model_id(persona), ModelRole.THINKING: parse_model_id(thinking)}
    for role, second in standby.models.items():
        findings.append(_standby(role, second, standby.closed_to(role, firsts[role])))
    load()
    for model in dict.fromkeys((*firsts.values(), *standby.models.values())):
        if not price_is_known(model):
            findings.append(warn(f"the price of {model.full} is not known: {_BOUND}", _PRICES))
    return findings


def _providers(*models: str) -> list[Finding]:
    named = dict.fromkeys(
        one.name.partition("/")[0] for one in map(parse_model_id, models) if one.vendor is Vendor.EXTENSION
    )
    return [ok(f"the provider {one} is {origin_of(ExtensionGroup.PROVIDER, one)}") for one in named]


def _without_model(settings: Settings) -> Finding:
    """Report that no model is set up, with what was found on this machine, and what it would do."""
    silent = "no model is set up: a placeholder only repeats each message"
    if not settings.local_models:
        return warn(f"{silent}; SOUL_LOCAL_MODELS=false keeps it from looking on this machine", _ADD_KEY)
    found = asyncio.run(find_model(settings))
    if found is None:
        return warn(f"{silent}; no model server was found on this machine either", _ADD_KEY)
    if settings.slack_bot_token is None and settings.slack_app_token is None:
        return ok(f"no model is set up: {found.name} speaks in a local workspace, from {found.where}")
    offer = f"put SOUL_PERSONA_MODEL={found.full} into .env, or a key, and start again"
    return warn(f"{silent}; {found.where} offers {found.name}", offer)


def _standby(role: ModelRole, second: ModelId, closed: tuple[str, ...]) -> Finding:
    """Report the use of a second model, and the audiences before which it may not take over."""
    does = "speaks" if role is ModelRole.PERSONA else "thinks"
    finding = f"{second.full} {does} when the first model is down"
    if not closed:
        return ok(finding)
    return warn(f"{finding}, but not for every audience", f"add {second.vendor} to {', '.join(closed)}")


@check("models", quick=True)
def step_models(at: Premises) -> list[Finding]:
    """Report the steps of each soul with a model of their own, their keys and prices."""
    return [finding for soul in at.souls for finding in _step_models(at.settings, soul)]


def _step_models(settings: Settings, soul: Soul) -> list[Finding]:
    try:
        chosen = choose_step_models(with_models_of(settings, soul))
    except ConfigError as error:
        return [fail(f"{soul.display_name}: {error.message}", error.hint)]
    if chosen:
        load()
    findings = _providers(*chosen.values())
    for step, model in chosen.items():
        found = f"{soul.display_name}: {model} answers the step {step}; the model of its part stands by"
        known = price_is_known(parse_model_id(model))
        findings.append(ok(found) if known else warn(f"{found}; its price is not known: {_BOUND}", _PRICES))
    return findings


_WHOSE: Final = {PaidBy.SOUL: "itself", PaidBy.PERSON: "each person", PaidBy.ROOM: "each room"}


@check("money")
def money(at: Premises) -> Iterator[Finding]:
    """Report the caps of each soul. Under a cap of zero only free models answer."""
    for soul in at.souls:
        caps, may = caps_of(at.settings, soul).known, f"{soul.display_name} may spend"
        shown = ", ".join(f"${usd:g} for {_WHOSE[paid_by]}" for paid_by, usd in caps.items())
        yield ok(f"{may} {shown} a day" if shown else f"{may} without a cap")
        for paid_by, usd in caps.items():
            if usd == 0:
                fix = f"raise {VARIABLES[paid_by]} (or max_usd_a_day in soul.toml), or leave it empty"
                yield warn(f"{may} nothing for {_WHOSE[paid_by]}: only models that cost nothing answer", fix)


@check("mind")
def inner_life(at: Premises) -> list[Finding]:
    """Report each soul that thinks whole thoughts, or that should think by itself and can't."""
    return [finding for soul in at.souls for finding in _thinking(soul, at.settings)]


def _thinking(soul: Soul, settings: Settings) -> Iterator[Finding]:
    name = soul.display_name
    if tick_budget_of(settings, soul) is not None:
        yield from _budget(soul, settings)
    elif not (settings.cycle_enabled if soul.cycle.enabled is None else soul.cycle.enabled):
        if soul.mind == "cycle":
            yield ok(f"{name} thinks when people write, and not by itself: SOUL_CYCLE_ENABLED is not set")
    elif soul.mind != "cycle":
        fix = 'put mind = "cycle" into its soul.toml (docs/MIND.md), or switch it off'
        yield warn(f'{name} is set to think by itself, and does not: its mind is "{soul.mind}"', fix)
    else:
        fix = f"add {REFLECTING} to processes in its soul.toml"
        yield warn(f"{name} is set to think by itself, and does not: its processes leave {REFLECTING} out", fix)


def _budget(soul: Soul, settings: Settings) -> Iterator[Finding]:
    """Report what a soul may think by itself, and whether its dollars may be too few for one thought."""
    name, budget = soul.display_name, tick_budget_of(settings, soul)
    assert budget is not None
    shown = f"{budget.tokens_hour:,} tokens an hour, {budget.tokens_day:,} and ${budget.usd_day:g} a day"
    if min(budget.tokens_hour, budget.tokens_day) < _SET_ASIDE:
        fix = "raise SOUL_CYCLE_TOKENS_HOUR and SOUL_CYCLE_TOKENS_DAY, or [cycle] in its soul.toml"
        few = f"one thought sets up to {_SET_ASIDE:,} tokens aside"
        yield warn(f"{name} hardly thinks by itself: {shown}, and {few}", fix)
    else:
        quiet = settings.quiet_hours
        said = f"says nothing unasked {quiet}" if quiet else "may speak unasked at any hour"
        yield ok(f"{name} thinks by itself, for at most {shown}; it {said}")
    try:
        models = dict(zip(("persona", "thinking"), choose_models(settings), strict=True))
    except ConfigError:
        return  # the check of the models says so
    model = parse_model_id(models[soul.cycle.role])
    if not price_is_known(model):
        found = f"{name} may hardly think by itself: the price of {model.full} is not known, and each "
        found += f"thought counts with the most that it can cost, of ${budget.usd_day:g} a day"
        yield warn(found, "raise SOUL_CYCLE_USD_DAY, or upgrade the package genai-prices")


@check("library")
def library(at: Premises) -> Iterator[Finding]:
    """Check that the library's folders are there."""
    for folder in (*at.settings.library, *at.settings.library_public):
        fix = "correct SOUL_LIBRARY or SOUL_LIBRARY_PUBLIC"
        yield ok(str(folder)) if folder.is_dir() else warn(f"{folder} is not a folder", fix)


@check("ism")
def autonomous_loop(at: Premises) -> Finding:
    """Report which part of the autonomous loop is on, and whether it fits the deadline. A soul.toml may differ."""
    settings, enabled = at.settings, at.settings.ism_enabled
    if enabled is False or (enabled is None and not settings.has_sources):
        why = "ISM_ENABLED=false" if enabled is False else "neither SOUL_LIBRARY nor SOUL_MCP_SERVERS is set"
        return ok(f"it looks nothing up by itself: {why}")
    if settings.ism_max_seconds >= settings.deadline:
        found = f"a problem may take {settings.ism_max_seconds:g} s, but each message only {settings.deadline:g} s"
        return warn(found, "lower SOUL_ISM_MAX_SECONDS or raise SOUL_DEADLINE")
    if enabled:
        return ok("it solves problems by all actions: looks up, reads, asks, reminds, hands over")
    return ok("it looks up and reads by itself; with ISM_ENABLED=true it also reminds, hands over, asks for clicks")
