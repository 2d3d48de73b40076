"""How does a reply become visible in Slack? Markup, drafts, streaming, cards and delivery."""
