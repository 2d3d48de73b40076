"""The Slack channel: `incoming`, `access`, `outgoing`, and the `api` that they use."""
