"""Journeys over days, of sessions and of several daemons, which run with `./scripts/test --all` alone."""
