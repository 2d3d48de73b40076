"""Slack's Web API: one module per family of methods, each with a table `METHODS`."""
