"""The embedded local workspace: a faithful Slack for one machine, so that people can try the soul without an account."""
