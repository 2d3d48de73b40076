"""Slack's Web API: one module per family of methods, each made by `method`."""
