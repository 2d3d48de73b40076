"""How is Slack called? The Web API client, its pacing, and what it says of the app and its history."""
