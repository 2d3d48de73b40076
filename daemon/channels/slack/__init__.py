"""How does the daemon speak with Slack? `incoming`, `access`, `outgoing`, and the `api` that they use."""
