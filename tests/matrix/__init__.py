"""What teams expect of an agent in Slack, feature by feature: which are there, and which tests show it."""
