"""How do I try the soul without Slack? A local workspace that imitates Slack on one machine."""
