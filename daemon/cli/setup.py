"""`soul setup`: create the Slack app, try its tokens, keep them, and install the service; and `soul upgrade`."""

import json
import os
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from daemon.channels.slack.installation import manifest
from daemon.cli.checks import Premises, Verdict
from daemon.cli.checks.slack import slack
from daemon.cli.installing import ServiceUnit, checkout, control, install, installed_units, is_active, service_here
from daemon.cli.listing import say
from daemon.cli.options import readable_souls, souls_that_nod
from daemon.core.config import Settings, load_settings
from daemon.core.errors import ConfigError, DaemonError, StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.database.copies import folder_beside, name_at
from daemon.memory.database.schema import SCHEMA, require_known, version_of
from daemon.soul import find_souls_directory, load_soul


@click.command("manifest")
@click.option("--plain", is_flag=True, help="Without agent features, for a workspace on a free plan.")
@click.option("--language", default="", metavar="TAG", help="Of the prompts that Slack suggests, such as de.")
def manifest_command(plain: bool, language: str) -> None:
    """Print the manifest that creates the Slack app, as JSON.

    Paste it at https://api.slack.com/apps under Create New App, From a manifest. Then copy the bot token from OAuth &
    Permissions, and generate an app-level token with the scope connections:write under Basic Information.

    Slack's agent features (status line, sessions, suggested prompts) need a paid plan or a developer sandbox.
    The suggested prompts are the same for everybody: in the soul's words for the language given, else in English.
    """
    click.echo(json.dumps(app_manifest(load_settings(), plain=plain, language=language), indent=2, ensure_ascii=False))


def app_manifest(settings: Settings, *, plain: bool, language: str = "") -> dict[str, object]:
    """Return the manifest for the configured soul. Raises SoulError."""
    soul = load_soul(find_souls_directory(settings.souls_dir, settings.home, settings.name), settings.name)
    description = soul.description or f"{soul.display_name}, a teammate with a soul."
    words = soul.words_in(language)
    marks = settings.slack_acknowledge or bool(souls_that_nod(settings))
    readable = readable_souls(settings)
    names = (settings.name, *settings.souls)
    called = {name: readable[name].display_name if name in readable else name for name in names}
    return manifest(soul.display_name, description, plain=plain, marks=marks, words=words, souls=called)


_PAGE: Final = "https://api.slack.com/apps?new_app=1&manifest_json="
_LONGEST_LINK: Final = 7_500  # servers refuse a request whose first line is longer than some 8,000 characters
_BOT: Final = re.compile(r"xoxb-[\w-]+")
_APP: Final = re.compile(r"xapp-[\w-]+")
_TRIES: Final = 3
_MOST_READ: Final = 100_000


@click.command("setup")
@click.option("--plain", is_flag=True, help="An app without agent features, for a workspace on a free plan.")
@click.option("--system", is_flag=True, help="A server's service with an account of its own, as root.")
@click.option("--data", metavar="DIR", default="", help="The data folder, of a service for you alone.")
@click.option("--open", "opens", is_flag=True, help="Open the link in a browser, too.")
@click.option("--start", is_flag=True, help="Start the service at the end, or restart it.")
def setup_command(plain: bool, system: bool, data: str, opens: bool, start: bool) -> None:
    """Create the Slack app, try its tokens, keep them and install the service; may be run again at any time.

    It prints a link that creates the app, with all that it needs filled in. It asks for both tokens without showing
    them, tries them, and names scopes that are missing; nothing is kept before Slack accepts them. scripts/install
    then keeps each in a file for the service alone, and writes the unit.

    Without a terminal the tokens are read from standard input, as lines like SLACK_BOT_TOKEN=xoxb-…
    """
    checkout()  # its fault comes before anything is asked
    if system and data:
        raise click.UsageError("--data is for a service for you alone; a server's is in /var/lib/soul")
    if system and os.geteuid() != 0:
        raise ConfigError("--system needs root", hint="sudo soul setup --system")
    asks = sys.stdin.isatty()
    link = create_link(
        json.dumps(app_manifest(load_settings(), plain=plain), ensure_ascii=False, separators=(",", ":"))
    )
    _explain(link, plain=plain)
    if opens and link:
        click.launch(link)
    bot, app = _asked() if asks else _given(sys.stdin.read(_MOST_READ))
    _try(bot, app)
    arguments = [*(["--system"] if system else []), *(["--data", data] if data else [])]
    say(install(arguments, f"SLACK_BOT_TOKEN={bot}\nSLACK_APP_TOKEN={app}\n").rstrip())
    if start:
        _start(of_the_system=system)


def create_link(manifest: str) -> str:
    """Return the link that creates the app with a manifest. Empty if it would be too long."""
    link = _PAGE + urllib.parse.quote(manifest, safe="")
    return link if len(link) <= _LONGEST_LINK else ""


def _explain(link: str, *, plain: bool) -> None:
    typed = "soul manifest --plain" if plain else "soul manifest"
    by_hand = f"https://api.slack.com/apps, Create New App, From a manifest; paste what `{typed}` prints"
    say(f"1. Create the app: {link or by_hand}")
    if not plain:
        say("   Status line, sessions and suggested prompts need a paid plan or a developer sandbox; else use --plain.")
    say("   Where your workspace approves apps, an admin has to approve this one.")
    say("2. Install App to the workspace; copy the Bot User OAuth Token (xoxb-…).")
    say("3. Basic Information, App-Level Tokens: generate one with the scope connections:write; copy it (xapp-…).")


def _asked() -> tuple[str, str]:
    return _ask("Bot token (xoxb-…), not shown", _BOT), _ask("App-level token (xapp-…), not shown", _APP)


def _ask(question: str, kind: re.Pattern[str]) -> str:
    for _ in range(_TRIES):
        if found := kind.search(str(click.prompt(question, hide_input=True, default="", show_default=False))):
            return found[0]
        say("That is another kind of token, or none.")
    raise ConfigError(f"{_TRIES} times no token of this kind; nothing was changed", hint="run `soul setup` again")


def _given(text: str) -> tuple[str, str]:
    """Return both tokens in a text. Raises ConfigError if one is missing."""
    bot, app = _BOT.search(text), _APP.search(text)
    if bot is None or app is None:
        missing = " and ".join(
            name for name, one in (("SLACK_BOT_TOKEN", bot), ("SLACK_APP_TOKEN", app)) if one is None
        )
        raise ConfigError(
            f"there is no terminal to ask at, and standard input holds no {missing}; nothing was changed",
            hint="soul setup <tokens.env, with the lines SLACK_BOT_TOKEN=xoxb-… and SLACK_APP_TOKEN=xapp-…",
        )
    return bot[0], app[0]


def _try(bot: str, app: str) -> None:
    """Print whether Slack accepts both tokens, and the missing scopes. Raises ConfigError if they can't be used."""
    findings = slack(Premises(load_settings(slack_bot_token=bot, slack_app_token=app)))
    for one in findings:
        say(f"{one.verdict}: {one.found}{f' → {one.fix}' if one.fix else ''}")
    if any(one.verdict is Verdict.FAIL for one in findings):
        raise ConfigError(
            "the tokens can't be used like this; nothing was kept", hint="mend it and run `soul setup` again"
        )


def _start(*, of_the_system: bool) -> None:
    unit = next((one for one in installed_units() if one.of_the_system is of_the_system), None)
    if unit is None:
        raise ConfigError("the unit isn't where it was written", hint="see what scripts/install said above")
    control(unit, "daemon-reload")
    control(unit, "enable", unit.path.name)
    control(unit, "restart", unit.path.name)
    say("The service runs.")


_COPY: Final = re.compile(r"before-schema-(\d+)-from-(\d+)-.*\.db")
_KEPT: Final = 3
_STEP_S: Final = 3_600.0  # a copy of a large file takes minutes


@click.command("upgrade")
@click.option("--back", is_flag=True, help="Put memory.db back as it was before the last upgrade.")
def upgrade_command(back: bool) -> None:
    """Bring memory.db and the installed service to this version; to be run after the new program is there.

    It stops the service, copies memory.db where its schema changes, checks the copy, migrates, writes the unit again
    and starts the service. A file of a newer program, or of a much older one, is left alone.

    With --back the newest copy of before an upgrade takes the place of memory.db, which stays beside it under another
    name. The service stays stopped until the older program is there again. Messages that came since are read from
    Slack's history.
    """
    unit = service_here()
    path = (unit.data if unit else load_settings().home.absolute()) / "memory.db"
    if back:
        _go_back(unit, path)
        return
    before = version_of(path)
    require_known(before)
    if unit:
        install(_as_it_is(unit), "")
        control(unit, "daemon-reload")
    with _stopped(unit):
        if 0 < before < SCHEMA:
            copy = folder_beside(path) / f"before-schema-{SCHEMA}-from-{before}-{name_at(SystemClock().now_ms())}"
            _soul("db", "backup", str(copy), "--new-folder")
            say(f"{copy} holds memory.db as it was, checked.")
            _forget_older(copy.parent)
        _soul("db", "migrate")
    say(f"{path} has schema {SCHEMA}" + (" as before." if before == SCHEMA else f"; it had {before}."))
    say(
        "To go back: soul upgrade --back, then the older program."
        if before < SCHEMA
        else "To go back: the older program."
    )


def _go_back(unit: ServiceUnit | None, path: Path) -> None:
    copies = _copies(folder_beside(path))
    if not copies:
        raise StoreError(
            f"no copy of before an upgrade is in {folder_beside(path)}", hint="`soul db restore` takes any other copy"
        )
    now, from_schema = version_of(path), _schemas(copies[-1])[1]
    if now == from_schema:
        raise StoreError(f"{path} has schema {now} already, as before the upgrade", hint="start the older program")
    if unit and is_active(unit):
        control(unit, "stop", unit.path.name)
    say(_soul("db", "restore", str(copies[-1]), "--as-it-was").rstrip())
    say(f"It has schema {from_schema} again. Now the older program: git checkout VERSION, ./scripts/install,")
    say("and start the service, or the daemon.")


@contextmanager
def _stopped(unit: ServiceUnit | None) -> Iterator[None]:
    """Stop the service inside the block. If it ran, it is started afterwards, unless something failed."""
    if unit is None or not is_active(unit):
        yield
        return
    control(unit, "stop", unit.path.name)
    try:
        yield
    except DaemonError as error:
        error.hint = f"{error.hint}; the service is stopped, memory.db is as it was".removeprefix("; ")
        raise
    control(unit, "start", unit.path.name)
    say("The service runs.")


def _as_it_is(unit: ServiceUnit) -> list[str]:
    """Return scripts/install's arguments for the same unit. Raises ConfigError for another program's unit."""
    if unit.program and Path(unit.program).parents[2] != checkout():
        raise ConfigError(
            f"the service in {unit.path} runs the program {unit.program}, not this one",
            hint=f"type {unit.program} upgrade; or ./scripts/install here first, which makes it run this one",
        )
    return ["--system"] if unit.of_the_system else ["--data", str(unit.data)]


def _soul(*arguments: str) -> str:
    """Run another command in a separate process, which acts as the service's account. Raises StoreError."""
    command = [sys.executable, "-m", "daemon", *arguments]
    try:
        done = subprocess.run(  # noqa: S603  # this program, without a shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_STEP_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"soul {' '.join(arguments[:2])} did not end well: {type(error).__name__}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("Of the service")]
        raise StoreError(" ".join(said[:1]) or f"soul {' '.join(arguments[:2])} failed", hint=" ".join(said[1:2]))
    return done.stdout


def _copies(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("before-schema-*.db") if _COPY.fullmatch(path.name)]
    return sorted(found, key=lambda path: (_schemas(path), path.name))


def _schemas(copy: Path) -> tuple[int, int]:
    found = _COPY.fullmatch(copy.name)
    assert found is not None  # it was found by this name
    return int(found[1]), int(found[2])


def _forget_older(folder: Path) -> None:
    for copy in _copies(folder)[:-_KEPT]:
        copy.unlink(missing_ok=True)
