"""How do I try the soul without Slack? Web API, Socket Mode and a web page on one machine, without an account."""
