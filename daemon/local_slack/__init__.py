"""The embedded local workspace: a faithful Slack for one machine, to try the soul without an account."""
