"""`soul manifest`: the Slack app that this soul needs, ready to be pasted."""

import json

import click

from daemon.channels.slack.api.manifest import manifest
from daemon.core.config import load_settings
from daemon.soul import find_souls_directory, load_soul


@click.command("manifest")
def command() -> None:
    """Print the manifest to create the Slack app with, as JSON.

    Paste it at https://api.slack.com/apps under Create New App, From a manifest. Then take the bot token from OAuth &
    Permissions, and make an app-level token with the scope connections:write under Basic Information.
    """
    settings = load_settings()
    soul = load_soul(find_souls_directory(settings.souls_dir, settings.home, settings.name), settings.name)
    description = soul.description or f"{soul.display_name}, a teammate with a soul."
    click.echo(json.dumps(manifest(soul.display_name, description), indent=2))
