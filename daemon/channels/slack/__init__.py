"""The Slack channel: events in, access, delivery out, and the client of the Web API."""
