"""How does the daemon call Slack? The Web API client, its rate limits, and reads of identity and history."""
