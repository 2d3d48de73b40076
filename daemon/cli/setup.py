"""`soul setup`: creates the Slack app, tries its tokens, keeps them, and installs the service."""

import json
import os
import re
import sys
import urllib.parse
from typing import Final

import click

from daemon.cli.checks.finding import Verdict
from daemon.cli.checks.slack import slack
from daemon.cli.installer import checkout, control, install
from daemon.cli.manifest import app_manifest
from daemon.cli.output import say
from daemon.cli.unit import installed_units
from daemon.core.config import load_settings
from daemon.core.errors import ConfigError

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
    """The link that creates the app with a manifest; empty where it would be too long for a link."""
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
    """Both tokens, typed without being shown; each is asked for again when it is of another kind."""
    return _ask("Bot token (xoxb-…), not shown", _BOT), _ask("App-level token (xapp-…), not shown", _APP)


def _ask(question: str, kind: re.Pattern[str]) -> str:
    for _ in range(_TRIES):
        if found := kind.search(str(click.prompt(question, hide_input=True, default="", show_default=False))):
            return found[0]
        say("That is another kind of token, or none.")
    raise ConfigError(f"{_TRIES} times no token of this kind; nothing was changed", hint="run `soul setup` again")


def _given(text: str) -> tuple[str, str]:
    """Both tokens in a text. Raises ConfigError where one is missing."""
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
    """Say whether Slack accepts both tokens, and which scopes are missing. Raises ConfigError if they can't be used."""
    findings = slack(load_settings(slack_bot_token=bot, slack_app_token=app), offline=False)
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
