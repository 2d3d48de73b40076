"""A local Slack workspace: Web API, Socket Mode and a web page on one machine, to try the daemon without an account."""
