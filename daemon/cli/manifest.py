"""`soul manifest`: the manifest of the Slack app that this soul needs."""

import json

import click

from daemon.channels.slack.manifest import manifest
from daemon.cli.nodding import called_in, souls_that_nod
from daemon.core.config import Settings, load_settings
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
    """The manifest for the soul that the settings name. Raises SoulError."""
    soul = load_soul(find_souls_directory(settings.souls_dir, settings.home, settings.name), settings.name)
    description = soul.description or f"{soul.display_name}, a teammate with a soul."
    words = soul.words_in(language)
    marks = settings.slack_acknowledge or bool(souls_that_nod(settings))
    called = called_in(settings)
    return manifest(soul.display_name, description, plain=plain, marks=marks, words=words, souls=called)
