"""Statements over what souls, daemons and people share: typed contexts and their history."""
