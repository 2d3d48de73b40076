"""Checks of the settings, the souls' files, the models and their keys."""

import asyncio
import os
import shutil
import stat
import sys
from functools import partial
from pathlib import Path
from typing import Final

from daemon.app.assembly import caps_of, tick_budget_of
from daemon.app.health import known_names
from daemon.app.minds import with_models_of
from daemon.cli.checks.finding import Finding, fail, ok, warn
from daemon.core.config import Settings, load_settings, unknown_settings
from daemon.core.errors import ConfigError, SoulError
from daemon.core.extensions import ExtensionGroup, origin_of
from daemon.core.http import is_loopback
from daemon.core.ports.services import ModelRole
from daemon.core.settings_place import settings_place
from daemon.core.spending import Caps, PaidBy, TickBudget
from daemon.core.tempo import REFLECTING
from daemon.llm.answers import ECHO, REHEARSAL, ModelId, Vendor, find_model, parse_model_id
from daemon.llm.prices import load, price_is_known
from daemon.llm.router import choose_models, choose_standby, choose_step_models
from daemon.memory.database.copies import folder_beside
from daemon.runtime.till import VARIABLES
from daemon.soul import Soul, find_souls_directory, least_talk_budget, load_souls

_LITTLE_TALK = 500  # tokens of recent turns; about five short exchanges
_PRICES = "upgrade the package genai-prices, or read the costs as a bound"
_ADD_KEY = "put ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, OPENROUTER_API_KEY, GROQ_API_KEY) into .env and start again"


def settings_in_force() -> tuple[Settings | None, list[Finding]]:
    """Return the settings, None when they are wrong, with a finding for every fault and every unknown variable."""
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
    listed = ", ".join(f"{one} ({origin_of(ExtensionGroup.ACTION, one)})" for one in soul.extensions.actions)
    return [ok("soul", f"{soul.display_name} is extended by {listed}")] if listed else []


def souls(settings: Settings) -> list[Finding]:
    """Check the souls' files and the channels of each further soul. A fault names file and line."""
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
    """Return the souls in the settings, the main one first. Raises SoulError."""
    find = partial(find_souls_directory, settings.souls_dir, settings.home)
    return tuple(load_souls(find, (settings.name, *settings.souls), known_names()))


def _crowded(soul: Soul) -> Finding:
    finding = f"{soul.display_name}'s texts leave about {least_talk_budget(soul)} tokens of a prompt for recent talk"
    return warn("soul", finding, "shorten soul.md or the modes' soul.md, or raise budgets.prompt in soul.toml")


def research(settings: Settings) -> list[Finding]:
    """Check that library folders are readable, and that the autonomous loop fits the deadline."""
    folders = [_library(folder) for folder in (*settings.library, *settings.library_public)]
    return [*folders, _loop(settings)]


def _loop(settings: Settings) -> Finding:
    """Report which part of the autonomous loop is on. A soul's own soul.toml may differ."""
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
    """Report the models that speak, think and take over, their keys and prices. Calls no model."""
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
    named = dict.fromkeys(
        one.name.partition("/")[0] for one in map(parse_model_id, models) if one.vendor is Vendor.EXTENSION
    )
    return [ok("models", f"the provider {one} is {origin_of(ExtensionGroup.PROVIDER, one)}") for one in named]


def step_models(settings: Settings) -> list[Finding]:
    """Report the steps of each soul with a model of their own, their keys and prices."""
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
    """Report that no model is set up, with what was found on this machine, and what it would do."""
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
    """Report the use of a second model, and the audiences before which it may not take over."""
    does = "speaks" if role is ModelRole.PERSONA else "thinks"
    finding = f"{second.full} {does} when the first model is down"
    if not closed:
        return ok("models", finding)
    return warn("models", f"{finding}, but not for every audience", f"add {second.vendor} to {', '.join(closed)}")


_SET_ASIDE: Final = 12_000  # tokens of one such thought, with its hidden thinking (docs/MIND.md)


def inner_life(settings: Settings) -> list[Finding]:
    """Report each soul that thinks whole thoughts, or that should think by itself and can't."""
    try:
        souls = souls_of(settings)
    except SoulError:
        return []  # the check of the souls says so
    return [finding for soul in souls for finding in _of(soul, settings)]


def _of(soul: Soul, settings: Settings) -> list[Finding]:
    name, budget = soul.display_name, tick_budget_of(settings, soul)
    if budget is not None:
        return [_budget(name, budget, settings.quiet_hours), *_unpriced(soul, settings, budget)]
    if not (settings.cycle_enabled if soul.cycle.enabled is None else soul.cycle.enabled):
        asleep = f"{name} thinks when people write, and not by itself: SOUL_CYCLE_ENABLED is not set"
        return [ok("mind", asleep)] if soul.mind == "cycle" else []
    if soul.mind != "cycle":
        found = f'{name} is set to think by itself, and does not: its mind is "{soul.mind}"'
        return [warn("mind", found, 'put mind = "cycle" into its soul.toml (docs/MIND.md), or switch it off')]
    found = f"{name} is set to think by itself, and does not: its processes leave {REFLECTING} out"
    return [warn("mind", found, f"add {REFLECTING} to processes in its soul.toml")]


def _budget(name: str, budget: TickBudget, quiet_hours: str) -> Finding:
    shown = f"{budget.tokens_hour:,} tokens an hour, {budget.tokens_day:,} and ${budget.usd_day:g} a day"
    if min(budget.tokens_hour, budget.tokens_day) < _SET_ASIDE:
        found = f"{name} hardly thinks by itself: {shown}, and one thought sets up to {_SET_ASIDE:,} tokens aside"
        return warn(
            "mind", found, "raise SOUL_CYCLE_TOKENS_HOUR and SOUL_CYCLE_TOKENS_DAY, or [cycle] in its soul.toml"
        )
    quiet = f"says nothing unasked {quiet_hours}" if quiet_hours else "may speak unasked at any hour"
    return ok("mind", f"{name} thinks by itself, for at most {shown}; it {quiet}")


def _unpriced(soul: Soul, settings: Settings, budget: TickBudget) -> list[Finding]:
    """Warn if the cost of such a thought is unknown: its budget in dollars may be too small for one."""
    try:
        models = dict(zip(("persona", "thinking"), choose_models(settings), strict=True))
    except ConfigError:
        return []  # the check of the models says so
    model = parse_model_id(models[soul.cycle.role])
    if price_is_known(model):
        return []
    found = f"{soul.display_name} may hardly think by itself: the price of {model.full} is not known, so that each "
    found += f"thought counts with the most that it can cost, of ${budget.usd_day:g} a day"
    return [warn("mind", found, "raise SOUL_CYCLE_USD_DAY, or upgrade the package genai-prices")]


_LEAST_PYTHON: Final = (3, 11)
_NEEDED: Final = 100 * 2**20  # bytes of free space; with less the daemon can't work
_COMFORTABLE: Final = 2**30
_MOUNTS: Final = Path("/proc/self/mounts")
_NOT_ONE_HOST: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "overlay", "smb3", "smbfs", "virtiofs"}
)


def python_version() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _LEAST_PYTHON:
        return fail("python", f"Python {version} is too old", "install Python 3.11 or later and reinstall the daemon")
    return ok("python", f"Python {version}")


def data_folder(settings: Settings) -> list[Finding]:
    """Check that the folder exists or can be created, belongs to us alone, and has free space."""
    home = settings.home.absolute()
    if not home.exists():
        above = next(folder for folder in home.parents if folder.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            return [fail("data folder", f"{home} is missing and can't be created", f"sudo install -d -m 700 {home}")]
        return [ok("data folder", f"{home} is missing; `soul run` creates it"), free_space(above)]
    if not home.is_dir():
        return [fail("data folder", f"{home} is not a folder", "set SOUL_HOME to a folder")]
    return [_ownership(home), *_privacy(settings), file_system(home), free_space(home)]


def _ownership(home: Path) -> Finding:
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return fail("data folder", f"{home} is not ours to read and write", f"sudo chown {os.getuid()} {home}")
    found = home.stat()
    if found.st_uid not in (os.getuid(), 0) and os.getuid() != 0:
        fix = f"sudo chown {os.getuid()} {home}"
        return warn("data folder", f"{home} belongs to another user (uid {found.st_uid})", fix)
    if found.st_mode & stat.S_IWOTH:
        return warn("data folder", f"every user of this machine may write into {home}", f"chmod o-w {home}")
    return ok("data folder", str(home))


def _privacy(settings: Settings) -> list[Finding]:
    """Report files with users' words or keys that other users of the machine may read."""
    path = settings.database_path.absolute()
    private = [(path, f"chmod 600 {path}*"), (folder_beside(path), f"chmod -R go= {folder_beside(path)}")]
    files = [
        settings_place().dotenv.absolute(),
        *([settings.mcp_servers.absolute()] if settings.mcp_servers is not None else []),
    ]
    private += [(file, f"chmod 600 {file}") for file in files]
    return [
        warn("privacy", f"other users of this machine may read {one}", fix)
        for one, fix in private
        if one.exists() and one.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]


def file_system(folder: Path, mounts: Path = _MOUNTS) -> Finding:
    """Check for a local disk: SQLite's locks are reliable only there."""
    kind = _kind_of(folder.resolve(), mounts)
    if not kind:
        return ok("file system", "its kind is unknown")
    if kind in _NOT_ONE_HOST or kind.startswith("fuse"):
        found = f"{folder} is on {kind}, where a database can lose committed data"
        return warn(
            "file system", found, "set SOUL_HOME to a folder on a local disk (in a container: a mounted volume)"
        )
    return ok("file system", kind)


def _kind_of(folder: Path, mounts: Path) -> str:
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found = [line.split(" ") for line in lines]
    points = [(fields[1].replace("\\040", " "), fields[2]) for fields in found if len(fields) > 2]  # noqa: PLR2004  # device, point, kind
    above = [(len(point), order, kind) for order, (point, kind) in enumerate(points) if folder.is_relative_to(point)]
    return max(above)[2] if above else ""


def free_space(folder: Path, needed: int = _NEEDED, comfortable: int = _COMFORTABLE) -> Finding:
    """Check the free space on the disk; limits in bytes."""
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free"
    fix = f"free space on the disk that holds {folder}"
    if free < needed:
        return fail("disk", found, fix)
    return warn("disk", found, fix) if free < comfortable else ok("disk", found)


def http_api(settings: Settings) -> list[Finding]:
    """Check that keys and tokens don't reach the HTTP API unencrypted."""
    if not settings.http or is_loopback(settings.http_host):
        return []
    fix = "set SOUL_HTTP_HOST=127.0.0.1, serve it over https by a proxy, and set SOUL_HTTP_NAMES to the proxy's name"
    return [warn("HTTP API", f"other machines reach it at {settings.http_host} in clear text, with their keys", fix)]


_WHOSE: Final = {PaidBy.SOUL: "itself", PaidBy.PERSON: "each person", PaidBy.ROOM: "each room"}


def money(settings: Settings) -> list[Finding]:
    """Report the caps of each soul. Under a cap of zero only free models answer."""
    try:
        caps = {soul.display_name: caps_of(settings, soul) for soul in souls_of(settings)}
    except SoulError:
        return []  # the check of the souls says so
    return [finding for name, own in caps.items() for finding in (_all(name, own), *_zeros(name, own))]


def _all(name: str, caps: Caps) -> Finding:
    shown = ", ".join(f"${usd:g} for {_WHOSE[paid_by]}" for paid_by, usd in caps.known.items())
    return ok("money", f"{name} may spend {shown} a day" if shown else f"{name} may spend without a cap")


def _zeros(name: str, caps: Caps) -> list[Finding]:
    return [
        warn(
            "money",
            f"{name} may spend nothing for {_WHOSE[paid_by]}: only models that cost nothing answer",
            f"raise {VARIABLES[paid_by]} (or max_usd_a_day in soul.toml), or leave it empty",
        )
        for paid_by, usd in caps.known.items()
        if usd == 0
    ]
