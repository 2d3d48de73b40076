"""The Soul Daemon: a teammate with a soul for a Slack workspace."""

__version__ = "0.1.0"
