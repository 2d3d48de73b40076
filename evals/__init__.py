"""Plays scenarios with the daemon and the configured model, scores the replies and writes a report."""
