"""How do people reach the soul? Slack, the HTTP API and the terminal."""
