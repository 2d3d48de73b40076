"""How does a Slack event become a perception? The socket connections, the listener and catch-up."""
