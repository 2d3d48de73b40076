"""`soul manifest`: the manifest of the Slack app that this soul needs."""

import json

import click

from daemon.channels.slack.api.manifest import manifest
from daemon.core.config import load_settings
from daemon.soul import find_souls_directory, load_soul


@click.command("manifest")
def command() -> None:
    """Print the manifest that creates the Slack app, as JSON.

    Paste it at https://api.slack.com/apps under Create New App, From a manifest. Then copy the bot token from OAuth &
    Permissions, and generate an app-level token with the scope connections:write under Basic Information.
    """
    settings = load_settings()
    soul = load_soul(find_souls_directory(settings.souls_dir, settings.home, settings.name), settings.name)
    description = soul.description or f"{soul.display_name}, a teammate with a soul."
    click.echo(json.dumps(manifest(soul.display_name, description), indent=2))
